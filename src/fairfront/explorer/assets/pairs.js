// Every pair of groups as a heat map of signed differences, and calibration by group.

function drawPairs() {
  const attribute = attributeNow();
  const box = byId("pairs-box");
  box.hidden = !attribute || attribute.c < 3;
  if (box.hidden) return;
  const rate = attribute.rateNames.includes(state.pairRate) ? state.pairRate : rateOrder(attribute)[0];
  const value = (g) => attribute.rate(rate, state.chosen, g);
  const last = Math.min(attribute.c, 20);
  let most = attribute.shares ? 0.1 : 0; // ten points are full colour, so that a small difference looks small
  for (let a = 0; a < last; a += 1) for (let b = 0; b < last; b += 1) most = Math.max(most, Math.abs(finiteOr(value(a) - value(b), 0)));
  const levels = attribute.levels.slice(0, last);
  const rows = levels.map((level, a) => el("tr", null, el("th", { scope: "row" }, named(level)), levels.map((_, b) => pairCell(value(a), value(b), a === b, most, attribute.shares))));
  put("pairs", el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Differences between every two groups" }, el("table", { class: "heat" },
    el("thead", null, el("tr", null, el("td"), levels.map((level) => el("th", { scope: "col" }, named(level))))), el("tbody", null, rows))),
  note(`Group of the row minus group of the column, chosen model, ${attribute.shares ? "in points" : "in its own unit"}: ${rateWords(rate)[1]}.`));
}

function pairCell(one, other, same, most, share) {
  if (same) return el("td", { class: "same" }, "·");
  const difference = one - other;
  if (!Number.isFinite(one) || !Number.isFinite(other)) return el("td", { class: "gone", title: missing(Number.isFinite(one) ? other : one) }, "–");
  const strength = most > 0 ? Math.abs(difference) / most : 0;
  return el("td", { class: difference < 0 ? "less" : "more", style: { "--strength": `${(80 * strength).toFixed(0)}%` } }, share ? signed(100 * difference) : signed(difference, 3));
}

const HUES = 6; // distinct series; further groups are left to the table

function drawCalibration(choose) {
  const gone = detailsMissing("Calibration", state.chosen, choose);
  const record = gone ? null : detailAttribute();
  if (gone || !record.calibration) {
    put("calibration", gone || note(regression ? "Predictions are values here, not probabilities." : "These models give decisions or scores, not probabilities of a binary label, so there is nothing to calibrate."));
    return;
  }
  const series = record.calibration[detailLine(state.chosen)].slice(0, HUES);
  const size = 250;
  const at = (v) => 34 + v * (size - 44);
  const up = (v) => size - 34 - v * (size - 44);
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const picture = svg("svg", { class: "calibration", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": "Horizontal: predicted probability; vertical: share with the favourable label; one line per group, and the diagonal is perfect calibration." },
    svg("g", { class: "axes" }, ticks.flatMap((t) => [svg("line", { class: "rule", x1: at(0), x2: at(1), y1: up(t), y2: up(t) }),
      svg("text", { x: at(0) - 5, y: up(t) + 4, "text-anchor": "end" }, 100 * t), svg("text", { x: at(t), y: up(0) + 15, "text-anchor": "middle" }, 100 * t)]),
    svg("line", { class: "diagonal", x1: at(0), y1: up(0), x2: at(1), y2: up(1) }),
    svg("text", { class: "axis", x: at(0.5), y: size - 4, "text-anchor": "middle" }, "predicted, %")),
    series.flatMap((bins, g) => (bins ? calibrationLine(bins, g, at, up) : [])));
  put("calibration", el("div", { class: "side" }, picture, el("ul", { class: "legend column" }, record.levels.slice(0, HUES).map((level, g) => el("li", null, hueBadge(g), named(level),
    el("span", { class: "words" }, series[g] ? calibrationWords(series[g]) : "too few people of either label"))))),
  note("Share of people with the favourable label against the probability predicted, in bins that hold enough of both labels. Above the diagonal, the model underestimates the group."
    + (raw.facts.rule ? " Probabilities are those of the label, which all rules share: none decides by them alone." : "")));
}

function calibrationLine(bins, g, at, up) {
  const points = bins.predicted.map((p, i) => [at(p), up(bins.observed[i])]);
  return [svg("path", { class: `hue h${g}`, d: `M${points.map((p) => p.join(" ")).join("L")}` }), ...points.map(([x, y]) => hueMark(g, x, y))];
}

function hueMark(g, x, y) {
  const s = 3.6;
  const shapes = [`M${x - s} ${y}a${s} ${s} 0 1 0 ${2 * s} 0a${s} ${s} 0 1 0 ${-2 * s} 0`, `M${x - s} ${y - s}h${2 * s}v${2 * s}h${-2 * s}z`, `M${x} ${y - 1.3 * s}l${1.2 * s} ${2.2 * s}h${-2.4 * s}z`];
  return svg("path", { class: `huemark h${g}`, d: shapes[g % shapes.length] });
}

function hueBadge(g) {
  return svg("svg", { class: "badge", width: 18, height: 18, viewBox: "0 0 18 18", "aria-hidden": "true" }, hueMark(g, 9, 9));
}

function calibrationWords(bins) {
  const total = bins.n.reduce((a, b) => a + b, 0);
  const mean = (values) => values.reduce((sum, v, i) => sum + v * bins.n[i], 0) / total;
  return `predicted ${(100 * mean(bins.predicted)).toFixed(1)} %, observed ${(100 * mean(bins.observed)).toFixed(1)} %`;
}
