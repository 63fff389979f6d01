// Rates by group as bars with intervals and counts, the chosen model beside the unconstrained one.

function attributeNow() {
  const part = partNow();
  return part ? part.attributes[Math.min(state.attribute, part.attributes.length - 1)] : null;
}

function rateOrder(attribute) {
  const first = attribute.rateNames.filter(isCompared);
  return [...first, ...attribute.rateNames.filter((rate) => !first.includes(rate))];
}

// What was done with small counts.
function hiddenWords() {
  return raw.hide_below ? `Counts of 1 to ${raw.hide_below - 1} people are shown as <${raw.hide_below}, and rates of fewer than ${raw.hide_below} as -. Worst gaps are over all groups.` : "";
}

function countWords(attribute, rate, g) {
  return `n = ${whole((attribute.rows[rate] || attribute.n)[g])}`;
}

// A bar from zero, which stands on the left, or in the middle where a mean may be below zero.
function bar(role, value, ends, scale, label) {
  const share = (v) => Math.max(0, Math.min(1, scale(v)));
  const span = (a, b) => ({ left: `${(100 * Math.min(share(a), share(b))).toFixed(2)}%`, width: `${(100 * Math.abs(share(b) - share(a))).toFixed(2)}%` });
  const track = el("span", { class: `track ${role}`, "aria-hidden": "true" },
    Number.isFinite(value) ? el("span", { class: "fill", style: span(0, value) }) : null,
    Number.isFinite(value) && ends && Number.isFinite(ends[0]) ? el("span", { class: "ends", style: span(ends[0], ends[1]) }) : null);
  return el("div", { class: "bar" }, el("span", { class: "who" }, ROLES[role]), track, label);
}

function barLabel(attribute, rate, value, ends, role, g) {
  const range = ends && Number.isFinite(ends[0]) ? ` (${(100 * ends[0]).toFixed(1)} to ${(100 * ends[1]).toFixed(1)})` : "";
  return el("span", { class: "value", "data-bar": `${role}|${rate}|${g}`, "data-value": Number.isFinite(value) ? value : "" },
    attribute.shares ? written(value, rate) : missing(value) || number(value), range ? el("small", null, range) : null);
}

function rateBlock(attribute, rate) {
  const [title, words] = rateWords(rate);
  const places = [["plain", raw.points.plain], ["chosen", state.chosen]];
  let most = 0;
  let below = false;
  for (const [, place] of places) {
    for (let g = 0; g < attribute.c; g += 1) {
      most = Math.max(most, Math.abs(finiteOr(attribute.rate(rate, place, g), 0)));
      below ||= finiteOr(attribute.rate(rate, place, g), 0) < 0;
    }
  }
  const room = 1.1 * most || 1;
  const scale = attribute.shares ? (v) => v : below ? (v) => 0.5 + v / (2 * room) : (v) => v / room;
  const lines = attribute.levels.map((level, g) => el("div", { class: "group", role: "group", "aria-label": `${title}, ${level.slice(0, 100)}` },
    el("div", { class: "label" }, named(level), el("small", null, countWords(attribute, rate, g))),
    el("div", { class: "both" }, places.map(([role, place]) => {
      const value = attribute.rate(rate, place, g);
      const ends = attribute.shares && attribute.behind(rate, place, g) ? wilsonOf(attribute, rate, place, g) : null;
      return bar(role, value, ends, scale, barLabel(attribute, rate, value, ends, role, g));
    }))));
  const compared = isCompared(rate);
  return el("section", { class: compared ? "rate compared" : "rate" },
    el("h4", null, title, compared ? el("span", { class: "chip" }, "compared by the fairness criterion") : null), el("p", { class: "note" }, words), lines);
}

function drawBars() {
  const attribute = attributeNow();
  if (!attribute) {
    put("bars", note("Rates by group need an evaluation: front = front.evaluate(X, y, sensitive_features=...) before front.to_html(path)."));
    return;
  }
  const part = partNow();
  put("bars", el("div", { class: "rates" }, rateOrder(attribute).map((rate) => rateBlock(attribute, rate))), part.weighted || raw.hide_below ? note(`${part.weighted ? "Rates are weighted by sample weights; n counts rows. " : ""}${hiddenWords()}`) : null,
    attribute.shares ? note("Whiskers are 95 % intervals, each on its own (Wilson).") : null);
}
