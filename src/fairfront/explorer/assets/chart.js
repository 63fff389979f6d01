// The frontier as a picture: static layers per pair of axes, a light one for what moves with the choice.

const chart = { drawn: null };

function drawChart(choose) {
  const box = byId("chart");
  const width = Math.max(300, Math.round(box.clientWidth || 720));
  const height = Math.round(Math.max(290, Math.min(440, width * 0.58)));
  const part = partNow();
  const across = axisValues(part, state.across, true);
  const up = axisValues(part, state.up, true);
  const sides = baselines.map((b) => ({ b, across: axisValues(b, state.across), up: axisValues(b, state.up) }))
    .filter((side) => side.across && side.up);
  const shown = solved.filter((p) => Number.isFinite(across[p]) && Number.isFinite(up[p]));
  const efficient = efficientPlaces(shown, axisCosts(across, state.across), axisCosts(up, state.up));
  const along = state.bands ? intervalsAlong(efficient, part) : [];
  const pad = { left: 62, right: 18, top: 16, bottom: 48 };
  const y = scaleOf([...shown.map((p) => up[p]), ...sides.flatMap((s) => [...s.up])], height - pad.bottom, pad.top,
    { zero: /gap/.test(state.up), count: 6, wide: along.map((i) => i.tall) });
  pad.left = 34 + 7 * Math.max(...y.ticks.map((t) => tickWritten(t, y.step, axisShare(state.up)).length));
  const x = scaleOf([...shown.map((p) => across[p]), ...sides.flatMap((s) => [...s.across])], pad.left, width - pad.right,
    { zero: /gap/.test(state.across), count: width > 500 ? 7 : 4, wide: along.map((i) => i.wide) });
  const px = across.map(x.at);
  const py = up.map(y.at);
  chart.drawn = { x, y, px, py, across, up, shown, part, width, height, pad, along };
  const size = { viewBox: `0 0 ${width} ${height}` };
  const picture = svg("svg", { ...size, id: "picture", width: "100%", tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-label": chartLabel(shown.length, part) },
    axes(x, y, width, height, pad, part), band(along), layerDots(shown, efficient, px, py), capLine(), sideMarks(sides, x, y),
    shown.length ? null : svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "No point has both figures on these rows."));
  listen(picture, choose);
  box.replaceChildren(picture, svg("svg", { ...size, id: "overlay", "aria-hidden": "true" }, svg("g", { id: "moving" }), svg("g", { id: "hover" })),
    el("div", { id: "tip", class: "tip", hidden: true }));
  drawLegend(sides, shown.length - efficient.length);
  drawMoving();
  byId("chart-note").textContent = chartNote(shown.length);
}

// The intervals of both figures at some of the efficient points; null where a figure has none.
function intervalsAlong(efficient, part) {
  const every = Math.max(1, Math.ceil(efficient.length / 200));
  const ends = (key, place) => {
    const found = axisInterval(key, part, place);
    return found && Number.isFinite(found[0]) && Number.isFinite(found[1]) ? found : null;
  };
  return efficient.filter((_, i) => i % every === 0 || i === efficient.length - 1)
    .map((place) => ({ place, wide: ends(state.across, place), tall: ends(state.up, place) }));
}

function chartNote(count) {
  const { x, y, along } = chart.drawn;
  const said = [];
  if (along.some((i) => i.wide || i.tall)) {
    said.push("The band and the crossing lines are 95 % intervals of each figure on its own, a gap's upper end for all models at once; two models on the same rows can differ significantly although their bands overlap.");
    if (x.cut || y.cut) said.push("Some intervals extend beyond the chart.");
  }
  if (details && state.likes) said.push(`Shaded points: on the same ${details.on} rows neither the error nor a gap of the fairness criterion differs significantly (not corrected for multiple comparisons).`);
  if (count < solved.length) said.push(`${whole(solved.length - count)} of ${whole(solved.length)} points are not drawn: a figure is hidden or not defined there.`);
  if (count > 1000) said.push(`Overlapping points are drawn once; clicking, walking and choosing use all ${whole(count)}.`);
  return said.join(" ");
}

function chartLabel(count, part) {
  return `${count} points; horizontal axis: ${axisLabel(state.across, part)}; vertical axis: ${axisLabel(state.up, part)}. `
    + "Left and right arrow keys walk along the frontier.";
}

function axes(x, y, width, height, pad, part) {
  const bottom = height - pad.bottom;
  const layer = svg("g", { class: "axes", "aria-hidden": "true" });
  const fitted = (text, room) => ({ "font-size": `${Math.max(8.5, Math.min(12.5, room / (0.58 * text.length))).toFixed(1)}px` });
  const [below, beside] = [axisLabel(state.across, part), axisLabel(state.up, part)];
  for (const t of x.ticks) {
    layer.append(svg("line", { class: "rule", x1: x.at(t), x2: x.at(t), y1: pad.top, y2: bottom }),
      svg("text", { x: x.at(t), y: bottom + 18, "text-anchor": "middle" }, tickWritten(t, x.step, axisShare(state.across))));
  }
  for (const t of y.ticks) {
    layer.append(svg("line", { class: "rule", x1: pad.left, x2: width - pad.right, y1: y.at(t), y2: y.at(t) }),
      svg("text", { x: pad.left - 8, y: y.at(t) + 4, "text-anchor": "end" }, tickWritten(t, y.step, axisShare(state.up))));
  }
  layer.append(svg("text", { class: "axis", x: (pad.left + width - pad.right) / 2, y: height - 8, "text-anchor": "middle", style: fitted(below, width - pad.left - pad.right) }, below),
    svg("text", { class: "axis", transform: `translate(14 ${(pad.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle", style: fitted(beside, bottom - pad.top) }, beside));
  return layer;
}

// The band of the figure up the side, along the efficient points.
function band(along) {
  const known = along.filter((i) => i.tall);
  if (known.length < 2) return null;
  const { x, y, across, pad, height } = chart.drawn;
  const keep = (v) => Math.max(pad.top, Math.min(height - pad.bottom, v)).toFixed(1);
  const edge = (end) => known.map(({ place, tall }) => `${x.at(across[place]).toFixed(1)} ${keep(y.at(tall[end]))}`);
  return svg("path", { class: "band", d: `M${edge(1).join("L")}L${edge(0).reverse().join("L")}z` });
}

function layerDots(shown, efficient, px, py) {
  const best = new Set(efficient);
  const dominated = shown.filter((p) => !best.has(p));
  const visited = N > solved.length ? Array.from({ length: N }, (_, p) => p).filter((p) => !isSolved[p] && Number.isFinite(px[p]) && Number.isFinite(py[p])) : [];
  const line = thinned(efficient, px, py, 400);
  return [
    svg("path", { class: "dots visited", d: dots(thinned(visited, px, py, 400), px, py) }),
    svg("path", { class: "dots dominated", d: dots(thinned(dominated, px, py, 400), px, py) }),
    line.length > 1 && svg("path", { class: "curve", d: `M${line.map((p) => `${px[p].toFixed(1)} ${py[p].toFixed(1)}`).join("L")}` }),
    svg("path", { class: "dots efficient", d: dots(line, px, py) }),
  ].filter(Boolean);
}

function capLine() {
  const cap = typed(state.cap, axisShare(state.gap));
  if (cap === null || state.across !== state.gap) return null;
  const { x, pad, height, width } = chart.drawn;
  const at = x.at(cap);
  if (at < pad.left || at > width - pad.right) return null;
  return svg("g", { class: "cap" }, svg("line", { x1: at, x2: at, y1: pad.top, y2: height - pad.bottom }),
    svg("text", { x: at + 5, y: pad.top + 11 }, "largest gap allowed"));
}

// Own candidates with their names, where a name finds room beside its mark.
function sideMarks(sides, x, y) {
  const taken = [];
  const free = (at) => taken.every(([left, top, right]) => Math.abs(at[1] - top) > 12 || at[0] > right || at[2] < left);
  return sides.flatMap(({ b, across, up }) => b.points.slice(0, 100).flatMap((label, i) => {
    if (!Number.isFinite(across[i]) || !Number.isFinite(up[i])) return [];
    const [cx, cy] = [x.at(across[i]), y.at(up[i])];
    const short = label.length > 24 ? `${label.slice(0, 23)}…` : label;
    const left = cx > chart.drawn.width * 0.72;
    const mark = shape("baseline", cx, cy, 4.5);
    mark.append(svg("title", null, `${b.name}: ${label}`.slice(0, 200)));
    for (const lift of b.points.length <= 12 ? [4, -10, 18, -24, 32] : []) {
      const edge = cx + (left ? -9 : 9);
      const at = [left ? edge - 7 * short.length : edge, cy + lift, left ? edge : edge + 7 * short.length];
      if (!free(at)) continue;
      taken.push(at);
      return [mark, svg("text", { class: "tag", "text-anchor": left ? "end" : "start", x: edge, y: at[1] }, short)];
    }
    return [mark];
  }));
}

// What moves with the choice: the points not statistically different from it, three roles, and the chosen one's intervals.
function drawMoving() {
  const { px, py, x, y, part, pad, height, width } = chart.drawn;
  const layer = byId("moving");
  const line = detailLine(state.chosen);
  const parts = [];
  const alike = line < 0 || !state.likes ? [] : [...details.at].filter(([p, l]) => !toldApart(line, l) && Number.isFinite(px[p]) && Number.isFinite(py[p]));
  const cap = typed(state.cap, axisShare(state.gap));
  const promised = cap === null ? null : promisedPlaces(part, state.gap, cap, state.sure);
  const kept = promised ? promised.places.filter((p) => Number.isFinite(px[p]) && Number.isFinite(py[p])) : [];
  if (kept.length) parts.push(svg("path", { class: "promised", d: `${dots(kept, px, py)}M${kept.map((p) => `${px[p].toFixed(1)} ${py[p].toFixed(1)}`).join("L")}` }));
  if (alike.length) parts.push(svg("path", { class: "alike", d: dots(alike.map(([p]) => p), px, py) }));
  const place = state.chosen;
  if (state.bands && Number.isFinite(px[place]) && Number.isFinite(py[place])) {
    const wide = axisInterval(state.across, part, place);
    const tall = axisInterval(state.up, part, place);
    const inX = (v) => Math.max(pad.left, Math.min(width - pad.right, v));
    const inY = (v) => Math.max(pad.top, Math.min(height - pad.bottom, v));
    if (wide && Number.isFinite(wide[0])) parts.push(svg("line", { class: "whisker", x1: inX(x.at(wide[0])), x2: inX(x.at(wide[1])), y1: py[place], y2: py[place] }));
    if (tall && Number.isFinite(tall[0])) parts.push(svg("line", { class: "whisker", x1: px[place], x2: px[place], y1: inY(y.at(tall[0])), y2: inY(y.at(tall[1])) }));
  }
  for (const [role, at, size] of [["plain", raw.points.plain, 6], ["least", leastNow().place, 6], ["chosen", place, 7]]) {
    if (at !== null && Number.isFinite(px[at]) && Number.isFinite(py[at])) parts.push(shape(role, px[at], py[at], size));
  }
  layer.replaceChildren(...parts);
}

// Only what is in the picture has a place in the legend.
function drawLegend(sides, dominated) {
  const entries = [["plain", PLAIN], ["chosen", "chosen"], leastNow().place === null ? null : ["least", "smallest gap within the tolerance"], ["point efficient", "efficient on these axes"],
    dominated > 0 ? ["point dominated", "dominated on these axes"] : null, N > solved.length ? ["point visited", "visited, not solved to tolerance"] : null,
    state.sure && typed(state.cap, axisShare(state.gap)) !== null && partNow() && partNow().promised.has(state.gap) ? ["point promised", "promised: keeps to the largest gap allowed (95 %)"] : null,
    sides.length ? ["baseline", sides.map((s) => s.b.name).join(", ").slice(0, 60)] : null, details && state.likes ? ["point alike", "not statistically different from the chosen one"] : null];
  put("legend", entries.filter(Boolean).map(([role, words]) => el("li", null, legendMark(role), words)));
}

function legendMark(role) {
  const [kind, look] = role.split(" ");
  if (!look) return badge(kind);
  return svg("svg", { class: "badge", width: 18, height: 18, viewBox: "0 0 18 18", "aria-hidden": "true" }, svg("path", { class: `dots ${look}`, d: "M9 9h0" }));
}

function nearestPoint(event) {
  const box = byId("picture").getBoundingClientRect();
  const ratio = chart.drawn.width / box.width;
  const x = (event.clientX - box.left) * ratio;
  const y = (event.clientY - box.top) * ratio;
  let best = null;
  let distance = 28 * 28;
  for (const place of chart.drawn.shown) {
    const d = (chart.drawn.px[place] - x) ** 2 + (chart.drawn.py[place] - y) ** 2;
    if (d < distance) [best, distance] = [place, d];
  }
  return best;
}

function listen(picture, choose) {
  picture.addEventListener("click", (event) => {
    const place = nearestPoint(event);
    if (place !== null) choose(place);
  });
  picture.addEventListener("pointermove", (event) => hover(nearestPoint(event)));
  picture.addEventListener("pointerleave", () => hover(null));
  picture.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    if (!(event.key in moves)) return;
    event.preventDefault();
    choose(stepped(moves[event.key]));
  });
}

function hover(place) {
  const tip = byId("tip");
  const { px, py, across, up, width } = chart.drawn;
  tip.hidden = place === null;
  byId("hover").replaceChildren(...(place === null ? [] : [svg("circle", { class: "ring", cx: px[place], cy: py[place], r: 9 })]));
  if (place === null) return;
  const scale = byId("picture").getBoundingClientRect().width / width;
  const words = (key, value) => (axisShare(key) ? `${(100 * value).toFixed(1)}` : number(value));
  tip.replaceChildren(named(nameOf(place), "strong"), el("span", null, `${words(state.across, across[place])} across, ${words(state.up, up[place])} up`));
  tip.style.left = `${Math.min(px[place] * scale + 12, width * scale - 170)}px`;
  tip.style.top = `${Math.max(0, py[place] * scale - 48)}px`;
}
