// The page comes to life: fields filled, events bound, the first choice made.

function stepped(by) {
  const last = raw.points.walk.length - 1;
  const here = stepOf.has(state.chosen) ? stepOf.get(state.chosen) : 0;
  return raw.points.walk[Math.max(0, Math.min(last, here + by))];
}

function choose(place, words) {
  state.chosen = place;
  const step = stepOf.get(place);
  if (step !== undefined) byId("walk").value = String(step);
  drawMoving();
  drawChosen();
  byId("walk").setAttribute("aria-valuetext", summary());
  put("at", named(nameOf(place)), el("small", null, step === undefined ? "" : ` point ${step + 1} of ${raw.points.walk.length}`));
  say(words === undefined ? `Chosen: ${summary()}.` : words);
}

function summary() {
  const part = partNow();
  const best = shownBest(part);
  return `${nameOf(state.chosen)}: ${columnWords(best)} ${figureWritten(plainColumn(part, best)[state.chosen], best)}, `
    + `${columnWords(state.gap)} ${figureWritten(plainColumn(part, state.gap)[state.chosen], state.gap)}`;
}

function drawChosen() {
  drawCards(choose);
  drawStanding();
  drawWords(choose);
  drawBars();
  drawMoves(choose);
  drawCalibration(choose);
  drawMoved(choose);
  drawPairs();
  drawLines();
}

function drawAll() {
  drawChart(choose);
  choose(state.chosen, "");
}

function fillPickers() {
  const part = partNow();
  const choices = axisChoices(part);
  const has = (key) => choices.some((c) => c.value === key);
  const gaps = gapChoices(part);
  if (!gaps.some((c) => c.value === state.gap)) state.gap = defaultGap(part);
  if (!has(state.across)) state.across = state.gap;
  if (!has(state.up)) state.up = shownBest(part);
  for (const [id, list, current] of [["gap", gaps, state.gap], ["across", choices, state.across], ["up", choices, state.up]]) {
    byId(id).replaceChildren();
    options(byId(id), list, current);
  }
  const best = axisShare(shownBest(part));
  if (state.tolerance === "") state.tolerance = best ? TOLERANCE : String(Number((0.05 * Math.abs(plainColumn(part, shownBest(part))[raw.points.plain])).toPrecision(2)));
  byId("tolerance").value = state.tolerance;
  byId("tolerance-label").textContent = `${columnWords(shownBest(part))} may exceed the smallest by`;
  for (const unit of document.querySelectorAll("[data-unit]")) unit.textContent = axisShare(unit.dataset.unit === "best" ? shownBest(part) : state.gap) ? "points" : "";
  const sure = part !== null && part.upper.has(state.gap);
  byId("sure").disabled = !sure;
  byId("sure-label").textContent = sure ? "Promise with 95 % confidence (else: expected gaps)" : "This gap has no interval here: its observed value is used";
  put("rule-note", ruleNote(part));
  byId("cost-missed-label").textContent = `Cost of declining someone labelled ${GOOD}`.slice(0, 90);
  byId("cost-false-label").textContent = `Cost of approving someone not labelled ${GOOD}`.slice(0, 90);
}

// The rates by group are those of the attribute whose gap is looked at.
function followGap() {
  const part = partNow();
  if (part && part.columns.has(state.gap)) state.attribute = part.attributes.indexOf(attributeOfColumn(part, state.gap));
}

// Groups that a worst gap is not about, because they do not have the rate, are named beside the rules.
function ruleNote(part) {
  if (!part || !part.columns.has(state.gap)) return null;
  const attribute = attributeOfColumn(part, state.gap);
  const out = notCompared(attribute, kindOf(state.gap).replace(/_gap$/, ""));
  if (!out.length) return null;
  return note([`The gap is over ${attribute.c - out.length} of ${attribute.c} groups of `, named(attribute.name), "; not compared, without such people: ",
    out.flatMap((g, i) => [i ? ", " : "", named(attribute.levels[g])]), "."]);
}

// The groups without a rate, because nobody there has the label that it is about.
function notCompared(attribute, rate) {
  const names = rate === "recall" ? attribute.recalls : [rate];
  const known = names.filter((name) => attribute.known(name));
  return known.length ? attribute.levels.map((_, g) => g).filter((g) => known.some((name) => attribute.undefined[name].includes(g))) : [];
}

function fillParts() {
  parts.forEach((part, i) => byId("parts").append(el("label", { class: "check" },
    el("input", { type: "radio", name: "part", value: i, checked: i === state.part, on: { change: () => { state.part = i; fillPickers(); fillAttributes(); headings(); drawAll(); } } }), el("span", null, `${part.name.slice(0, 40)} (${whole(part.n)} rows)`))));
  byId("parts").hidden = parts.length === 0;
}

function fillAttributes() {
  const part = partNow();
  byId("attribute").replaceChildren();
  byId("pair-rate").replaceChildren();
  byId("attribute-label").hidden = !part || part.attributes.length < 2;
  if (!part) return;
  options(byId("attribute"), part.attributes.map((a, i) => ({ value: String(i), label: a.name })), String(state.attribute));
  const attribute = attributeNow();
  options(byId("pair-rate"), rateOrder(attribute).map((r) => ({ value: r, label: rateWords(r)[0] })), state.pairRate);
}

function bind() {
  const on = (id, event, act) => byId(id).addEventListener(event, act);
  byId("wishes").addEventListener("submit", (event) => event.preventDefault());
  on("gap", "change", (e) => { const follow = state.across === state.gap; state.gap = e.target.value; if (follow) state.across = state.gap; followGap(); fillPickers(); fillAttributes(); drawAll(); applyCap(choose); });
  on("tolerance", "input", (e) => { state.tolerance = e.target.value; drawMoving(); drawCards(choose); });
  on("cap", "input", (e) => { state.cap = e.target.value; drawChart(choose); applyCap(choose); });
  on("sure", "change", (e) => { state.sure = e.target.checked; drawChart(choose); drawCards(choose); applyCap(choose); });
  for (const axis of ["across", "up"]) on(axis, "change", (e) => { state[axis] = e.target.value; byId("costs").hidden = state.across !== "cost" && state.up !== "cost"; drawChart(choose); });
  for (const what of ["missed", "false"]) on(`cost-${what}`, "input", (e) => { state[what] = Number(e.target.value) || 0; drawChart(choose); });
  for (const what of ["bands", "likes"]) on(what, "change", (e) => { state[what] = e.target.checked; drawChart(choose); });
  on("walk", "input", (e) => choose(raw.points.walk[Number(e.target.value)], ""));
  on("back", "click", () => choose(stepped(-1)));
  on("forth", "click", () => choose(stepped(1)));
  on("attribute", "change", (e) => { state.attribute = Number(e.target.value); fillAttributes(); drawChosen(); });
  on("pair-rate", "change", (e) => { state.pairRate = e.target.value; drawPairs(); });
  on("print", "click", () => window.print());
  on("download-csv", "click", () => save("frontier.csv", "text/csv;charset=utf-8", csvText()));
  on("download-json", "click", () => save("frontier.json", "application/json", jsonText()));
  let width = 0;
  new ResizeObserver(() => {
    const now = byId("chart").clientWidth;
    if (now && Math.abs(now - width) > 8) { width = now; drawChart(choose); }
  }).observe(byId("chart"));
}

function headings() {
  const facts = raw.facts;
  const title = raw.title || "A frontier between accuracy and fairness";
  document.title = title.slice(0, 120);
  put("title", named(title));
  const part = partNow();
  const notions = facts.notions.map((n) => n.name.replaceAll("_", " ")).join(" and ");
  put("subtitle", `${whole(N)} ${facts.trained ? "models, each a trade-off between accuracy and" : "candidates, judged on accuracy and"} ${notions}, for `,
    facts.sensitive.flatMap(([name], i) => [i ? ", " : "", named(name)]), part ? `. Rates on ${part.name.slice(0, 40)}, ${whole(part.n)} rows. ${part.operating ? `${part.operating} To use another, run ${raw.command ? "fairfront trace" : "front.evaluate"} with ${raw.command ? "--approval-rate, --cutoff or --costs" : "approval_rate=, cutoff= or costs="}.` : ""}` : ". Training figures only: no evaluation was made.");
  put("footer", `Written by fairfront ${raw.version} on ${raw.written}. The page holds aggregates only, holds no test rows and loads nothing. `
    + "A frontier is a trade-off for one fairness criterion, one data set and one kind of model; which point is right is a decision about people. No legal conclusion is drawn.");
  put("notices", notices(part));
}

// What has to be known to read the figures is said first, then which groups are not in the gaps.
function notices(part) {
  return [raw.facts.notes.map((said) => el("p", { class: "notice" }, said)), notHere(part)];
}

function notHere(part) {
  if (!part) {
    return el("p", { class: "notice" }, "No evaluation is in this page, so figures are those of training: losses, not rates of decisions. Call front.evaluate(X, y, sensitive_features=...) on validation rows first.");
  }
  const out = (attribute) => [...new Set(raw.facts.rates.flatMap((rate) => notCompared(attribute, rate)))];
  return part.attributes.map((a) => [a, out(a)]).filter(([, groups]) => groups.length).map(([a, groups]) => el("p", { class: "notice" },
    `Gaps are over ${a.c - groups.length} of ${a.c} groups of `, named(a.name), "; not compared, without such people: ",
    groups.flatMap((g, i) => [i ? ", " : "", el("b", null, named(a.levels[g]))]), ". Ask for figures on more rows before you decide."));
}

function firstChoice() {
  if (raw.chosen !== null) return raw.chosen;
  const least = leastNow().place;
  return least === null ? raw.points.plain : least;
}

fillParts();
fillPickers();
fillAttributes();
headings();
state.chosen = firstChoice();
byId("words-title").textContent = `What changes from the ${PLAIN} to the chosen one`;
if (!raw.facts.trained) byId("walk-label").textContent = "Step through the candidates, from the largest gap to the smallest";
byId("walk").max = String(raw.points.walk.length - 1);
drawNotion();
drawAll();
bind();
if (parts.some((part) => part.attributes.some((a) => a.c * a.rateNames.length > 12))) document.documentElement.dataset.many = "yes";
document.documentElement.dataset.ready = "yes";
