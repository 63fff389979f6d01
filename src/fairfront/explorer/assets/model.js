// The model itself: how it stands, what changed inside, what its notion compares, and how to get it.

function drawStanding() {
  const place = state.chosen;
  const status = raw.points.statuses[raw.points.status[place]];
  const certified = raw.points.certified[place] === "1";
  const kkt = raw.points.kkt && raw.points.kkt[place];
  byId("chosen-title").replaceChildren("The chosen model: ", named(nameOf(place)));
  const bits = [];
  if (raw.facts.trained) {
    bits.push(el("span", { class: certified ? "chip good" : "chip" }, certified ? "certified" : "not certified"),
      certified ? " Known to be the global optimum of the training loss at its training gap. " : " Not known to be the best model at its gap. ");
  }
  bits.push(`Status: ${status.text}.`);
  if (kkt !== null && kkt !== undefined) bits.push(` Residual of the optimality conditions: ${kkt.toExponential(0)}.`);
  if (raw.facts.trained) bits.push(" This is about training; it says nothing about new people.");
  put("standing", bits.map((b) => (b instanceof Node ? b : document.createTextNode(b))));
}

function drawMoved(choose) {
  const moved = raw.moved;
  if (!moved) {
    put("moved", note("These models show no coefficients or importances, or they were given as scores."));
    return;
  }
  const lines = moved.lines[String(raw.points.ids[state.chosen])];
  if (!lines) {
    put("moved", note("Not stored for this point: large frontiers keep it for some points of the frontier."), nearbyMoved(choose));
    return;
  }
  if (!lines.length) {
    put("moved", note(`Nothing: this is the ${PLAIN}.`));
    return;
  }
  const most = Math.max(...lines.flatMap(([, a, b]) => [Math.abs(a), Math.abs(b)])) || 1;
  const cell = (v) => (v < 0 ? "−" : "+") + Math.abs(v).toPrecision(3);
  put("moved", el("table", null, el("thead", null, el("tr", null, [moved.kind === "coefficient" ? "Column" : "Importance of", raw.facts.trained ? "Unconstrained" : "Best", "Chosen", ""].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", null, lines.map(([name, before, after]) => el("tr", null, el("th", { scope: "row" }, named(moved.names[name])), el("td", null, cell(before)), el("td", null, cell(after)),
      el("td", { class: "span" }, spanBar(before / most, after / most)))))),
  note(moved.kind === "coefficient" ? `Coefficients of the ${regression ? "prediction" : "favourable decision"}, the most changed first, in the units of the columns as the model read them.` : "Importances, the most changed first."));
}

function nearbyMoved(choose) {
  const here = stepOf.get(state.chosen);
  const places = Object.keys(raw.moved.lines).map((id) => placeOfId.get(Number(id))).filter((p) => stepOf.has(p));
  const near = places.reduce((best, p) => (Math.abs(stepOf.get(p) - here) < Math.abs(stepOf.get(best) - here) ? p : best));
  return el("button", { type: "button", class: "small", on: { click: () => choose(near) } }, `Go to the nearest, ${nameOf(near)}`);
}

// From the unconstrained coefficient (tick) to the chosen one (end of the bar), around zero in the middle.
function spanBar(before, after) {
  const at = (v) => 50 + 48 * v;
  const low = Math.min(at(before), at(after));
  return el("span", { class: "spanbar", "aria-hidden": "true" }, el("i", { class: "zero" }),
    el("i", { class: "move", style: { left: `${low}%`, width: `${Math.abs(at(after) - at(before))}%` } }),
    el("i", { class: "from", style: { left: `${at(before)}%` } }), el("i", { class: "to", style: { left: `${at(after)}%` } }));
}

function drawNotion() {
  const facts = raw.facts;
  const blocks = facts.notions.flatMap((notion) => [
    el("p", null, notion.sentence),
    el("p", null, notion.leaves_out)]);
  const groups = facts.sensitive.map(([name, levels]) => el("li", null, named(name), ": ", levels.flatMap((level, i) => [i ? ", " : "", named(level)]), ` (the last is the reference${facts.largest.includes(name) ? ": the largest group, because none was named" : ""})`));
  const out = facts.left_out.map(([name, levels]) => el("li", null, "Excluded from the gaps, too few rows: ", named(name), ": ", levels.flatMap((level, i) => [i ? ", " : "", named(level)])));
  put("notion", blocks, el("ul", null, groups, out, facts.missing.length ? el("li", null, "Rows without a group count in the loss and are excluded from the gaps.") : null),
    note(`The sensitive attribute is used for ${facts.used_for}. Solver: ${facts.solver}; loss: ${facts.loss}.`
      + (facts.favourable_was_given || facts.favourable === null ? "" : " The favourable label was not given; the second of the sorted labels was taken.")));
}

function lineWith(template) {
  return template.replaceAll("{id}", String(raw.points.ids[state.chosen]));
}

function drawLines() {
  const lines = [raw.command && ["Command", lineWith(raw.command), "command"], ["Python", lineWith(raw.python), "python"]].filter(Boolean);
  put("lines", lines.map(([label, text, id]) => el("div", { class: "line" }, el("span", { id: `${id}-label` }, label), el("code", { id, tabindex: 0, "aria-labelledby": `${id}-label` }, text),
    el("button", { type: "button", class: "small screen-only", "aria-label": `Copy the ${label} line`, on: { click: (event) => copy(label, text, event.target) } }, "Copy"))),
  note("Ids are stable: the same id names the same model in this page, in the table of the frontier and in every command. Try the chosen model on test rows, which are not in this page, before it is used."));
}
