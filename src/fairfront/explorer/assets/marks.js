// What can be put on an axis, and the shapes and lines that a chart is made of.

const state = {
  part: parts.length ? 0 : -1, across: null, up: null, gap: null, tolerance: "", cap: "", sure: true,
  chosen: raw.points.plain, attribute: 0, pairRate: null, bands: true, likes: true, missed: 1, false: 1,
};

function partNow() {
  return state.part >= 0 ? parts[state.part] : null;
}

// Columns that may be put on an axis, in the groups of a picker.
function axisChoices(part) {
  const choices = [...training.keys()].map((name) => ({ value: name, label: columnWords(name), group: "Training" }));
  if (!part) return choices;
  const known = (name) => solved.some((place) => Number.isFinite(part.columns.get(name)[place]));
  for (const name of part.columns.keys()) {
    if (name === "missed" || name === "false" || !known(name)) continue;
    const gap = /_gap$|_ratio$/.test(name);
    choices.push({ value: name, label: gap && !name.endsWith("_ratio") ? `${columnWords(name)}, ${/recall_gap$/.test(name) ? "worst class and pair" : "worst pair"}` : columnWords(name),
      group: gap ? "Between groups" : "Overall" });
  }
  if (part.columns.has("missed") && known("missed")) choices.push({ value: "cost", label: "Cost per 1 000 people", group: "Overall" });
  part.attributes.forEach((attribute, a) => {
    if (attribute.c > 12) return;
    for (const rate of attribute.rateNames) {
      for (let g = 0; g < attribute.c - 1; g += 1) {
        choices.push({ value: `signed|${a}|${rate}|${g}`, group: `Signed, ${attribute.name}`,
          label: `${SHORT[`${rate}_gap`] || rateWords(rate)[0]}: ${attribute.levels[g]} − ${attribute.levels[attribute.c - 1]}` });
      }
    }
  });
  return choices;
}

function signedGap(source, key) {
  const [, a, rate, g] = key.split("|");
  const attribute = source.attributes[Number(a)];
  const found = new Float64Array(attribute.count);
  for (let place = 0; place < found.length; place += 1) {
    const one = attribute.rate(rate, place, Number(g));
    const other = attribute.rate(rate, place, attribute.c - 1);
    found[place] = one - other;
  }
  return found;
}

// An axis's values of all points of a source: the frontier's part, or a baseline.
function axisValues(source, key, own) {
  if (own && training.has(key)) return training.get(key);
  if (key.startsWith("signed|")) return signedGap(source, key);
  if (key !== "cost") return source.columns.get(key) || null;
  const missed = source.columns.get("missed");
  const wrong = source.columns.get("false");
  return missed ? missed.map((m, i) => 1000 * (state.missed * m + state.false * wrong[i])) : null;
}

function axisShare(key) {
  return !regression && (key.startsWith("signed|") || isShare(key));
}

// Smaller is better on a cost: larger-is-better figures change their sign, signed gaps lose theirs.
function axisCosts(values, key) {
  if (LARGER.has(key)) return values.map((v) => -v);
  return key.startsWith("signed|") ? values.map(Math.abs) : values;
}

function axisLabel(key, part) {
  if (training.has(key)) return columnWords(key);
  const choice = axisChoices(part).find((c) => c.value === key);
  const unit = axisShare(key) ? (/gap$/.test(kindOf(key)) || key.startsWith("signed|") ? ", points" : ", %") : "";
  return `${choice ? choice.label : key}${unit} (${part.name})`.slice(0, 90);
}

// The interval of a figure at a point, or null where none is drawn.
function axisInterval(key, part, place) {
  if (!part || training.has(key)) return null;
  if (key === "error") return wilson(part.columns.get(key)[place], part.effective);
  if (key.startsWith("signed|")) {
    const [, a, rate, g] = key.split("|");
    const attribute = part.attributes[Number(a)];
    if (!attribute.behind(rate, place, Number(g))) return null;
    const last = attribute.c - 1;
    return newcombeOf(attribute, rate, place, Number(g), last);
  }
  return part.lower.has(key) ? [part.lower.get(key)[place], part.upper.get(key)[place]] : null;
}

function attributeOfColumn(part, key) {
  const dot = key.lastIndexOf(".");
  return (dot > 0 && part.attributes.find((a) => a.name === key.slice(0, dot))) || part.attributes[0];
}

function dots(places, x, y) {
  let path = "";
  for (const place of places) path += `M${x[place].toFixed(1)} ${y[place].toFixed(1)}h0`;
  return path;
}

// Roles differ by shape as well as by colour.
function shape(role, x, y, size = 7) {
  const s = size;
  const paths = {
    plain: `M${x - s} ${y - s}h${2 * s}v${2 * s}h${-2 * s}z`,
    chosen: `M${x} ${y - 1.35 * s}l${1.35 * s} ${1.35 * s}l${-1.35 * s} ${1.35 * s}l${-1.35 * s} ${-1.35 * s}z`,
    least: `M${x} ${y - 1.2 * s}l${1.15 * s} ${2 * s}h${-2.3 * s}z`,
    baseline: `M${x - s} ${y - s}l${2 * s} ${2 * s}M${x + s} ${y - s}l${-2 * s} ${2 * s}`,
    point: `M${x} ${y}h0`,
  };
  return svg("path", { class: `mark ${role}`, d: paths[role] });
}

function badge(role) {
  return svg("svg", { class: "badge", width: 18, height: 18, viewBox: "0 0 18 18", "aria-hidden": "true" }, shape(role, 9, 9, 5));
}
