// The decision: unconstrained, chosen and smallest gap side by side.

const TOLERANCE = "0.5"; // points of error above the smallest: half a person in a hundred

function leastNow() {
  const part = partNow();
  const tolerance = typed(state.tolerance, axisShare(shownBest(part)));
  return chooseLeast(part, state.gap, tolerance === null ? Infinity : tolerance, state.sure);
}

function gapChoices(part) {
  const names = part ? [...part.columns.keys()].filter((name) => /_gap$/.test(name)) : [];
  const usable = names.filter((name) => solved.some((p) => Number.isFinite(part.columns.get(name)[p])));
  const found = usable.length ? usable : training.has(raw.facts.gap_column) ? [raw.facts.gap_column] : names;
  return found.map((name) => ({ value: name, label: columnWords(name) }));
}

// The gap of the first rate that the notion is about, where the part has it.
function defaultGap(part) {
  const choices = gapChoices(part).map((c) => c.value);
  for (const rate of raw.facts.rates) {
    const found = choices.find((name) => kindOf(name) === `${rate}_gap`);
    if (found) return found;
  }
  return choices[0];
}

function figureLine(label, value, name, ...extra) {
  const said = extra.filter(Boolean);
  return el("div", { class: "figure" }, el("dt", null, label),
    el("dd", { "data-figure": name, "data-value": Number.isFinite(value) ? value : "" }, figureWritten(value, name),
      said.length ? el("small", null, said.join("; ")) : null));
}

function card(role, title, place, choose, hint) {
  if (place === null || place === undefined) {
    return el("article", { class: `card ${role}` }, el("h3", null, badge(role), title), note(hint));
  }
  const part = partNow();
  const best = shownBest(part);
  const gap = state.gap;
  const upper = part && part.upper.get(gap);
  const lines = [
    figureLine(columnWords(best), plainColumn(part, best)[place], best),
    figureLine(`${part && attributeOfColumn(part, gap).c > 2 && part.columns.has(gap) ? "Worst " : ""}${columnWords(gap)}`, plainColumn(part, gap)[place], gap,
      upper && Number.isFinite(upper[place]) ? `expected ${gapWritten(part.expected.get(gap)[place], gap)}; 95 % upper bound, of all models at once: ${gapWritten(upper[place], gap)}` : null),
  ];
  const ratio = part && [...part.columns.keys()].find((n) => kindOf(n) === "selection_ratio" && attributeOfColumn(part, n) === attributeOfColumn(part, gap));
  if (ratio) lines.push(figureLine("Selection ratio", part.columns.get(ratio)[place], ratio));
  for (const name of ["approval_rate", "auc"]) if (part && part.columns.has(name)) lines.push(figureLine(columnWords(name), part.columns.get(name)[place], name));
  return el("article", { class: `card ${role}`, "data-role": role, "data-id": raw.points.ids[place] },
    el("h3", null, badge(role), title, el("span", { class: "id" }, named(nameOf(place)))),
    el("dl", null, lines), markLines(part, place), pairLine(part, place), groupLines(part, place),
    role !== "plain" && place !== raw.points.plain ? el("p", { class: "against" }, againstPlain(place)) : el("p", { class: "against" }, role === "plain" ? raw.facts.trained ? "Trained without a fairness constraint." : "The candidate with the smallest error, which the others are compared with." : `The ${PLAIN} itself.`),
    role !== "chosen" && place !== state.chosen ? el("button", { type: "button", class: "small screen-only", on: { click: () => choose(place) } }, "Choose this one") : null);
}

// The two groups that make the gap, and how many people it rests on.
function pairLine(part, place) {
  const pairs = part && part.pairs[state.gap];
  if (!pairs || pairs.low[place] < 0) return null;
  const attribute = attributeOfColumn(part, state.gap);
  const rate = pairs.of ? `recall:${pairs.of[place]}` : kindOf(state.gap).replace(/_gap$/, "");
  const people = (g) => whole((attribute.rows[rate] || attribute.n)[g]);
  const [low, high] = [pairs.low[place], pairs.high[place]];
  return el("p", { class: "against pair" }, "The gap is between ", named(attribute.levels[low]), ` (${people(low)} people) and `,
    named(attribute.levels[high]), ` (${people(high)}).`);
}

// Why a point is never suggested, where it is not.
function markLines(part, place) {
  if (!part || !part.marked.has(place)) return null;
  const said = [part.alike.includes(place) ? "gives more than 99 % of these rows the same decision" : "", part.no_better.includes(place) ? part.rival : ""];
  return el("p", { class: "notice", "data-mark": "trivial" }, `Never suggested: ${said.filter((words) => words).join("; ")}.`);
}

// The notion's rate in each group as thin bars.
function groupLines(part, place) {
  if (!part) return null;
  const attribute = attributeOfColumn(part, state.gap);
  const gap = kindOf(state.gap).replace(/_gap$/, "");
  const rate = gap === "recall" || (gap === "tpr" && attribute.recalls.length) ? `recall:${raw.facts.classes.indexOf(raw.facts.favourable)}` : gap;
  if (!attribute.rateNames.includes(rate)) return null;
  const most = 6;
  const largest = attribute.shares ? 1 : 1.1 * Math.max(...[raw.points.plain, place].flatMap((p) => attribute.levels.map((_, g) => Math.abs(finiteOr(attribute.rate(rate, p, g), 0)))));
  const lines = attribute.levels.slice(0, most).map((level, g) => {
    const value = attribute.rate(rate, place, g);
    return el("li", null, named(level), el("span", { class: "thin" }, el("span", { style: { width: `${Math.max(0, Math.min(100, (100 * Math.abs(finiteOr(value, 0))) / (largest || 1)))}%` } })),
      el("b", null, attribute.shares ? written(value, rate) : missing(value) || number(value)));
  });
  return el("div", { class: "mini" }, el("p", null, rateWords(rate)[1]), el("ul", null, lines),
    attribute.c > most ? el("p", null, `and ${attribute.c - most} more groups below`) : null);
}

function againstPlain(place) {
  const part = partNow();
  const best = shownBest(part);
  const line = detailLine(place);
  if (line >= 0 && part && details.on === part.name && details.overall[best]) {
    const { change, lower, upper } = details.overall[best];
    return `${columnWords(best)} against the ${PLAIN}: ${withInterval(change[line], lower[line], upper[line], best)}.`;
  }
  const values = plainColumn(part, best);
  return `${columnWords(best)} against the ${PLAIN}: ${differenceWritten(values[place] - values[raw.points.plain], best)}.`;
}

function withInterval(change, lower, upper, name) {
  const share = isShare(name);
  const ends = share ? `${signed(100 * lower)} to ${signed(100 * upper)}` : `${signedNumber(lower)} to ${signedNumber(upper)}`;
  return `${differenceWritten(change, name)} (${ends}${zeroWords(lower, upper, ";")})`;
}

function drawCards(choose) {
  const least = leastNow();
  put("cards", card("plain", raw.facts.trained ? "Unconstrained model" : "Most accurate candidate", raw.points.plain, choose), card("chosen", raw.facts.trained ? "Chosen model" : "Chosen candidate", state.chosen, choose),
    card("least", "Smallest gap within the tolerance", least.place, choose, usable(partNow()).length ? `${columnWords(state.gap)} has no value at any point within the tolerance: too few people. Look at another gap.` : "No point does better than a decision that ignores the features."));
}

// A wish typed by the reader: the smallest error under the cap, said in a sentence.
function applyCap(choose) {
  const part = partNow();
  const cap = typed(state.cap, axisShare(state.gap));
  if (cap === null) return;
  const found = chooseAtMost(part, state.gap, cap, state.sure);
  const bounded = part && part.upper.has(state.gap);
  const end = bounded ? (state.sure ? " (promised with 95 % confidence)" : " (expected)") : "";
  const asked = `${columnWords(state.gap)} of at most ${gapWritten(cap, state.gap)}${end}`;
  if (found.place !== null) {
    choose(found.place, `${nameOf(found.place)} has the smallest ${columnWords(bestName(part)).toLowerCase()} of ${whole(found.allowed)} points with a ${asked}.`);
  } else if (found.nearest !== undefined) {
    const ends = state.sure && part ? part.promised.get(state.gap) : null;
    const value = (ends || claimed(part, state.gap, state.sure))[found.nearest];
    say(`No point has a ${asked}; the nearest is ${nameOf(found.nearest)} with ${gapWritten(value, state.gap)}. The choice is unchanged.`);
  } else say("No point has this figure on these rows.");
}

function say(text) {
  byId("said").textContent = text;
}
