// What changes against the unconstrained model, in words and in people; every difference is on held-out rows.

function detailAttribute() {
  const attribute = attributeNow();
  return (attribute && details && details.attributes.find((a) => a.name === attribute.name)) || (details && details.attributes[0]) || null;
}

function perThousand(value) {
  return Math.round(Math.abs(1000 * value));
}

function moreOrFewer(change, lower, upper) {
  const end = (v) => (perThousand(v) === 0 ? "0" : `${perThousand(v)} ${v > 0 ? "more" : "fewer"}`);
  return [perThousand(change) ? `about ${end(change)} per 1 000` : "about as many per 1 000", ` (between ${end(lower)} and ${end(upper)}${zeroWords(lower, upper, ":")})`];
}

// One line per group: all people, then those that the notion is about.
function groupSentence(record, line, g, level) {
  const spoken = [["selection", `people predicted ${GOOD}`]];
  if (raw.facts.rates.includes("tpr") || raw.facts.rates.includes("recall")) spoken.push(["tpr", `people labelled ${GOOD} predicted so`]);
  if (raw.facts.rates.includes("fpr")) spoken.push(["fpr", `people with another label predicted ${GOOD}`]);
  if (spoken.every(([rate]) => record.rates[rate].lower[line][g] === null)) return el("li", null, named(level), ": too few people.");
  const clauses = spoken.flatMap(([rate, whom], i) => {
    const [change, lower, upper] = ["change", "lower", "upper"].map((k) => record.rates[rate][k][line][g]);
    if (change === null || lower === null) return [i ? "; " : "", `${whom}: too few people`];
    const [said, ends] = moreOrFewer(change, lower, upper);
    return [i ? "; " : "", el("b", null, said), ` ${whom}${ends}`];
  });
  return el("li", null, named(level), ": ", clauses, ".");
}

function drawWords(choose) {
  if (state.chosen === raw.points.plain) {
    put("words", note(`The ${PLAIN} is chosen: nothing changes. Move along the frontier, or set a tolerance or a cap.`));
    return;
  }
  const gone = detailsMissing(`The change against the ${PLAIN}`, state.chosen, choose);
  if (gone) {
    put("words", gone);
    return;
  }
  const line = detailLine(state.chosen);
  const record = detailAttribute();
  const overall = regression ? "mse" : "error";
  const { change, lower, upper } = details.overall[overall];
  put("words", el("ul", { class: "plainly" },
    regression ? meanSentences(record, line) : shareSentences(record, line),
    el("li", null, `${columnWords(overall)}: `, el("b", null, differenceWritten(change[line], overall)), ` ${ends(change[line], lower[line], upper[line], overall)}.`),
    gapSentences(record, line)),
  note(`Differences between the two models on the same ${whole(details.n)} ${details.on} rows, each with its own 95 % interval. They describe these people; new people may differ.`));
}

function ends(change, lower, upper, name) {
  const text = isShare(name) ? `(between ${signed(100 * lower)} and ${signed(100 * upper)})` : `(between ${signedNumber(lower)} and ${signedNumber(upper)})`;
  return text + zeroWords(lower, upper, ":");
}

function shareSentences(record, line) {
  return record.levels.map((level, g) => groupSentence(record, line, g, level));
}

function meanSentences(record, line) {
  return record.levels.map((level, g) => {
    const [change, lower, upper] = ["change", "lower", "upper"].map((k) => record.rates.prediction[k][line][g]);
    return el("li", null, named(level), ": mean prediction ", el("b", null, change === null ? "too few people" : signedNumber(change)),
      change === null || lower === null ? "." : ` ${ends(change, lower, upper, "prediction")}.`);
  });
}

// One line per rate that the notion compares and group; for several classes, the favourable one speaks.
function gapSentences(record, line) {
  const about = raw.facts.rates.map((rate) => (rate === "recall" ? "tpr" : rate)).filter((rate) => record.rates[rate]);
  const reference = record.levels[record.levels.length - 1];
  return about.flatMap((rate) => record.levels.slice(0, -1).map((level, g) => {
    const { gap } = record.rates[rate];
    const [change, lower, upper] = ["change", "lower", "upper"].map((k) => gap[k][line][g]);
    if (change === null || lower === null) return null;
    return el("li", null, `${SHORT[`${rate}_gap`]}, `, named(level), " minus ", named(reference), ": ", fromTo(rate, g),
      el("b", null, differenceWritten(change, `${rate}_gap`)), ` ${ends(change, lower, upper, `${rate}_gap`)}.`);
  }));
}

// Where the signed gap came from and where it is, when the rates in sight are those of the details.
function fromTo(rate, g) {
  const part = partNow();
  const attribute = attributeNow();
  if (!part || part.name !== details.on || !attribute.known(rate)) return "a change of ";
  const gap = (place) => attribute.rate(rate, place, g) - attribute.rate(rate, place, attribute.c - 1);
  const [before, after] = [gap(raw.points.plain), gap(state.chosen)];
  if (!Number.isFinite(before) || !Number.isFinite(after)) return "a change of ";
  const figure = (v) => (isShare(`${rate}_gap`) ? signed(100 * v) : signedNumber(v));
  return `from ${figure(before)} to ${figure(after)}, a change of `;
}

function drawMoves(choose) {
  const gone = detailsMissing("Who gains and who loses", state.chosen, choose);
  if (gone) {
    put("moves", gone);
    return;
  }
  const line = detailLine(state.chosen);
  const record = detailAttribute();
  if (regression) {
    put("moves", valueMoves(record, line));
    return;
  }
  const { change } = record.rates.selection;
  const count = (side, g) => record.rates.selection[side][line][g];
  const groups = [...record.levels, "Everyone"];
  const size = (side, g) => (typeof count(side, g) === "number" ? count(side, g) : 0); // none of small counts
  const most = Math.max(1, ...groups.flatMap((_, g) => [size("gained", g), size("lost", g)]));
  const rows = groups.map((level, g) => el("tr", null, el("th", { scope: "row" }, named(level)),
    ["gained", "lost"].map((side) => el("td", { "data-move": `${side}|${g}` }, whole(count(side, g)), meter(side, size(side, g) / most))),
    el("td", null, change[line][g] === null ? "-" : signed(1000 * change[line][g], 0))));
  put("moves", el("table", null, el("thead", null, el("tr", null, ["Group", "Newly approved", "Newly declined", "Net per 1 000"].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", null, rows)), note(`Rows of the ${whole(details.n)} ${details.on} rows whose decision differs from the ${PLAIN}'s${details.weighted ? "; the net per 1 000 is weighted by sample weights" : ""}. A smaller gap can come from favourable decisions taken away: read both columns.`));
}

// Predictions are values: nobody is approved or declined, but a group's predictions rise or fall and fit better or worse.
function valueMoves(record, line) {
  const cell = (rate, g) => {
    const [change, lower, upper] = ["change", "lower", "upper"].map((k) => record.rates[rate][k][line][g]);
    if (change === null || lower === null) return el("td", null, "-");
    return el("td", null, signedNumber(change), el("small", { class: "words" }, `${signedNumber(lower)} to ${signedNumber(upper)}${zeroWords(lower, upper, ";")}`));
  };
  const rows = record.levels.map((level, g) => el("tr", null, el("th", { scope: "row" }, named(level)), cell("prediction", g), cell("mse", g)));
  return [el("table", null, el("thead", null, el("tr", null, ["Group", "Mean prediction", "Mean squared error"].map((h) => el("th", { scope: "col" }, h)))), el("tbody", null, rows)),
    note(`Change against the ${PLAIN} on the ${whole(details.n)} ${details.on} rows, each with its own 95 % interval. A positive change of the squared error means that the group is predicted less well.`)];
}

function meter(kind, share) {
  return el("span", { class: `meter ${kind}`, "aria-hidden": "true" }, el("span", { style: { width: `${(100 * share).toFixed(1)}%` } }));
}
