// The frontier in a notebook: a picture, a slider from the largest gap to the smallest, and the figures of the point chosen.
const SVG = "http://www.w3.org/2000/svg";
const SIZE = { width: 460, height: 260, left: 58, bottom: 40, top: 14, right: 14 };
const COLOURS = { line: "#8a94a3", point: "#0072b2", chosen: "#d55e00", plain: "#3c4654" };

function made(name, attributes = {}, text = "") {
  const node = ["svg", "circle", "rect", "path", "text"].includes(name)
    ? document.createElementNS(SVG, name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.append(document.createTextNode(text));
  return node;
}

const number = (value) => (value === null ? "not defined" : value.toFixed(4));

function scale(values, start, end) {
  const known = values.filter((value) => value !== null);
  const low = Math.min(...known);
  const high = Math.max(...known);
  return {
    low,
    high,
    at: (value) => start + (0.04 + (0.92 * (value - low)) / (high > low ? high - low : 1)) * (end - start),
  };
}

function picture(points, place) {
  const { width, height, left, bottom, top, right } = SIZE;
  const label = `${points.up} against ${points.across}`;
  const svg = made("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const across = points.columns[points.across];
  const up = points.columns[points.up];
  const [x, y] = [scale(across, left, width - right), scale(up, height - bottom, top)];
  svg.append(made("path", { d: `M${left} ${top}V${height - bottom}H${width - right}`, fill: "none", stroke: COLOURS.line }));
  points.ids.forEach((id, i) => {
    if (across[i] === null || up[i] === null) return;
    const kind = i === place ? "chosen" : points.marks[i] === "unconstrained" ? "plain" : "point";
    const dot = made("circle", { cx: x.at(across[i]), cy: y.at(up[i]), r: i === place ? 7 : 4, fill: COLOURS[kind] });
    dot.append(made("title", {}, `id ${id}`));
    svg.append(dot);
  });
  const text = { "font-size": 11, fill: "currentColor" };
  svg.append(
    made("text", { ...text, x: width / 2, y: height - 6, "text-anchor": "middle" }, points.across),
    made("text", { ...text, transform: `translate(12 ${height / 2}) rotate(-90)`, "text-anchor": "middle" }, points.up),
    made("text", { ...text, x: left, y: height - bottom + 14 }, x.low.toPrecision(3)),
    made("text", { ...text, x: width - right, y: height - bottom + 14, "text-anchor": "end" }, x.high.toPrecision(3)),
    made("text", { ...text, x: left - 4, y: height - bottom, "text-anchor": "end" }, y.low.toPrecision(3)),
    made("text", { ...text, x: left - 4, y: top + 8, "text-anchor": "end" }, y.high.toPrecision(3)),
  );
  return svg;
}

function figures(points, place) {
  const table = made("table");
  const [heads, cells] = [made("tr"), made("tr")];
  heads.append(made("th", {}, "id"), made("th"));
  cells.append(made("td", {}, String(points.ids[place])), made("td", {}, points.marks[place]));
  for (const [name, values] of Object.entries(points.columns)) {
    heads.append(made("th", {}, name));
    cells.append(made("td", {}, number(values[place])));
  }
  table.append(heads, cells);
  return table;
}

function render({ model, el }) {
  const drawn = made("div");
  const slider = made("input", { type: "range", min: 0, step: 1, style: "width:440px;max-width:100%" });
  const label = made("label", { style: "display:block" }, "From the largest gap to the smallest ");
  const shown = made("div");
  const solve = made("button", { type: "button" }, "Solve between this point and the next");
  const said = made("p", { role: "status" });
  label.append(slider);
  const whole = made("div", { style: "font:13px/1.4 system-ui,sans-serif" });
  whole.append(made("b", {}, "Frontier"), drawn, label, shown, solve, said);
  el.append(whole);

  function draw() {
    const points = model.get("points");
    const place = Math.max(0, points.ids.indexOf(model.get("chosen")));
    slider.max = points.ids.length - 1;
    slider.value = place;
    slider.setAttribute("aria-valuetext", `id ${points.ids[place]}`);
    drawn.replaceChildren(made("small", {}, `${points.head}. ${points.sentence}`), made("br"), picture(points, place));
    shown.replaceChildren(figures(points, place));
    solve.hidden = !model.get("solves") || place === points.ids.length - 1;
    said.textContent = model.get("said");
  }

  slider.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation(); // JupyterLab takes arrow keys for its cells
  });
  slider.addEventListener("input", () => {
    model.set("chosen", model.get("points").ids[Number(slider.value)]);
    model.save_changes();
  });
  solve.addEventListener("click", () => {
    const { ids } = model.get("points");
    const place = ids.indexOf(model.get("chosen"));
    model.send({ between: [ids[place], ids[place + 1]] });
  });
  for (const name of ["points", "chosen", "said"]) model.on(`change:${name}`, draw);
  draw();
}

export default { render };
