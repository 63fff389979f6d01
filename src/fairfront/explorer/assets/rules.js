// The rules of Frontier.select, on all points: sorted once, then answered by binary search.

function finiteOr(value, otherwise) {
  return Number.isFinite(value) ? value : otherwise;
}

// Points sorted by a key; `first[i]` is the place with the smallest `best` among the i + 1 smallest keys.
function ranking(keys, best, places) {
  const order = places.filter((place) => Number.isFinite(keys[place]));
  order.sort((a, b) => keys[a] - keys[b] || a - b);
  const first = new Int32Array(order.length);
  let leader = -1;
  for (let i = 0; i < order.length; i += 1) {
    const place = order[i];
    const value = finiteOr(best[place], Infinity);
    const lead = leader < 0 ? Infinity : finiteOr(best[leader], Infinity);
    if (leader < 0 || value < lead || (value === lead && place < leader)) leader = place;
    first[i] = leader;
  }
  return { order, first, key: (i) => keys[order[i]] };
}

function countUpTo(ranked, limit) {
  let low = 0;
  let high = ranked.order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranked.key(middle) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

const rankings = new Map();

// Points that decide nearly everyone alike, or no better than without looking, are never suggested.
function usable(part) {
  return part ? solved.filter((place) => !part.marked.has(place)) : solved;
}

function rankedBy(part, keyName, bestName, sure, sureKey) {
  const label = [part ? part.name : "", keyName, bestName, sure].join("\u0000");
  if (!rankings.has(label)) {
    const keys = claimed(part, keyName, sure && sureKey);
    const best = claimed(part, bestName, sure && !sureKey);
    rankings.set(label, ranking(keys, best, usable(part)));
  }
  return rankings.get(label);
}

function plainColumn(part, name) {
  return training.get(name) || (part && part.columns.get(name)) || null;
}

// What a rule reads of a figure: the bound that holds for all points at once, else what is expected of it.
function claimed(part, name, sure) {
  return (part && (sure ? part.upper : part.expected).get(name)) || plainColumn(part, name);
}

// The points that are passed at a cap, by the smallest cap of each along the path (measures.sequence); null where
// points lie on no path or the figure has no bounds.
function promisedPlaces(part, gap, cap, sure) {
  const ends = sure && part ? part.promised.get(gap) : null;
  if (!ends) return null;
  const allowed = new Set(usable(part));
  const path = raw.points.walk.filter((place) => allowed.has(place));
  const least = (one, two) => (finiteOr(ends[two], Infinity) < finiteOr(ends[one], Infinity) ? two : one);
  return { places: path.filter((place) => finiteOr(ends[place], Infinity) <= cap), nearest: path.length ? path.reduce(least) : undefined };
}

function bestName(part) {
  if (part && part.columns.has("error")) return "error";
  return training.has("loss") ? "loss" : part && part.columns.has("mse") ? "mse" : "loss";
}

// What the tolerance is about, and what a card shows first: the error of decisions or of predictions, else the loss.
function shownBest(part) {
  return part && part.columns.has("mse") ? "mse" : bestName(part);
}

// select(at_most={gap: cap}): the smallest error among the points whose gap is allowed; null when none is.
function chooseAtMost(part, gap, cap, sure) {
  const promised = promisedPlaces(part, gap, cap, sure);
  if (promised) {
    const best = plainColumn(part, bestName(part));
    const order = [...promised.places].sort((a, b) => best[a] - best[b] || a - b);
    return { place: order.length ? order[0] : null, allowed: order.length, nearest: promised.nearest };
  }
  const ranked = rankedBy(part, gap, bestName(part), sure, true);
  const allowed = countUpTo(ranked, cap);
  return { place: allowed ? ranked.first[allowed - 1] : null, allowed, nearest: ranked.order[0] };
}

// select(least=gap, within={best: tolerance}): the least gap among the points almost as good as the best.
function chooseLeast(part, gap, tolerance, sure) {
  const ranked = rankedBy(part, shownBest(part), gap, sure, false);
  if (!ranked.order.length) return { place: null, allowed: 0 };
  const allowed = countUpTo(ranked, ranked.key(0) + tolerance);
  const place = ranked.first[allowed - 1];
  return { place: Number.isFinite(claimed(part, gap, sure)[place]) ? place : null, allowed };
}

// A field's text as a number, shares typed in points: "0.5" is read as 0.5e-2, the very float that Python reads.
function typed(text, share) {
  const trimmed = text.trim();
  if (trimmed === "" || !Number.isFinite(Number(trimmed))) return null;
  return share && !/e/i.test(trimmed) ? Number(`${trimmed}e-2`) : Number(trimmed) / (share ? 100 : 1);
}
