// The page's data: JSON with arrays in base64. Figures without a value are NaN.

const raw = JSON.parse(document.getElementById("data").textContent);

function bytes(base64) {
  const text = atob(base64);
  const found = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) found[i] = text.charCodeAt(i);
  return found;
}

function unpack(packed) {
  return packed.f8 !== undefined
    ? new Float64Array(bytes(packed.f8).buffer)
    : new Float32Array(bytes(packed.f4).buffer);
}

function unpackAll(named) {
  return new Map(Object.entries(named).map(([name, packed]) => [name, unpack(packed)]));
}

function attributeOf(given, count) {
  const c = given.levels.length;
  const several = given.recalls || { rates: {}, behind: {}, rows: {} };
  const rates = unpackAll({ ...several.rates, ...given.rates });
  const behind = { ...given.behind, ...several.behind };
  return {
    ...given,
    c,
    // The effective rows that a rate rests on: of some figures they differ from model to model.
    behind: (name, place, group) => behind[name] && behind[name][behind[name].length > c ? place * c + group : group],
    rows: { ...several.rows, tpr: given.labels.positives, fpr: given.labels.negatives },
    recalls: given.recalls ? Object.keys(several.rates) : [],
    rateNames: [...rates.keys()].filter((name) => !given.recalls || name !== "tpr"), // the recall of one class
    known: (name) => rates.has(name),
    rate: (name, place, group) => rates.get(name)[place * c + group],
    count,
  };
}

function partOf(given, count) {
  return {
    ...given,
    columns: unpackAll(given.columns),
    upper: unpackAll(given.upper || {}),
    lower: unpackAll(given.lower || {}),
    promised: unpackAll(given.promised || {}),
    expected: unpackAll(given.expected || {}),
    marked: new Set([...(given.alike || []), ...(given.no_better || [])]),
    attributes: given.attributes.map((a) => attributeOf(a, count)),
  };
}

const N = raw.points.ids.length;
const training = unpackAll(raw.points.training);
const parts = raw.parts.map((part) => partOf(part, N));
const baselines = raw.baselines.map((b) => partOf({ ...b, n: 0 }, b.points.length));
const solved = raw.points.solved || Array.from({ length: N }, (_, i) => i);
const isSolved = new Uint8Array(N);
for (const place of solved) isSolved[place] = 1;
const stepOf = new Map(raw.points.walk.map((place, step) => [place, step]));
const placeOfId = new Map(raw.points.ids.map((id, place) => [id, place]));
const regression = raw.facts.task === "regression";

function nameOf(place) {
  return raw.points.names ? raw.points.names[place] : `id ${raw.points.ids[place]}`;
}

// Details exist for some points only; `at` is the line of a place in them, -1 for none.
const details = raw.details && {
  ...raw.details,
  at: new Map(raw.details.ids.map((id, line) => [placeOfId.get(id), line])),
  bits: bytes(raw.details.told_apart),
};

function detailLine(place) {
  return details && details.at.has(place) ? details.at.get(place) : -1;
}

function toldApart(one, other) {
  const bit = one * details.ids.length + other;
  return ((details.bits[bit >> 3] >> (bit & 7)) & 1) === 1;
}

function nearestDetailed(place) {
  const here = stepOf.get(place);
  let best = raw.points.plain;
  for (const other of details.at.keys()) {
    if (Math.abs(stepOf.get(other) - here) < Math.abs(stepOf.get(best) - here)) best = other;
  }
  return best;
}
