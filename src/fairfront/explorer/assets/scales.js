// Scales and ticks of a chart, and which points are worth a mark.

function niceStep(span, count) {
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = rough / power;
  return (unit <= 1 ? 1 : unit <= 2 ? 2 : unit <= 5 ? 5 : 10) * power;
}

// A scale over values and as much of their intervals (`wide`) as leaves the values a fifth of its length.
function scaleOf(values, from, to, { zero = false, count = 5, wide = [] } = {}) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!(low <= high)) [low, high] = [0, 1];
  let cut = false;
  const room = 2 * (high - low);
  const [bottomOf, topOf] = [low - room, high + room];
  for (const ends of wide) {
    if (!ends) continue;
    cut ||= ends[0] < bottomOf || ends[1] > topOf;
    low = Math.min(low, Math.max(ends[0], bottomOf));
    high = Math.max(high, Math.min(ends[1], topOf));
  }
  if (zero && low > 0 && low < 0.6 * high) low = 0;
  if (low === high) [low, high] = [low - Math.abs(low) / 10 - 1e-9, high + Math.abs(high) / 10 + 1e-9];
  const pad = 0.05 * (high - low);
  const bottom = zero && low === 0 ? 0 : low - pad;
  const top = high + pad;
  const step = niceStep(top - bottom, count);
  const ticks = [];
  for (let t = Math.ceil(bottom / step) * step; t <= top + 1e-12; t += step) ticks.push(Math.abs(t) < step / 1e6 ? 0 : t);
  const at = (value) => from + ((value - bottom) / (top - bottom)) * (to - from);
  return { at, ticks, step, cut };
}

function tickWritten(value, step, share) {
  const scaled = share ? 100 * value : value;
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(share ? 100 * step : step) + 1e-9)));
  return scaled.toFixed(digits).replace("-", "−");
}

// Keep at most one point per small square of the screen, so that thousands draw as quickly as hundreds.
function thinned(places, x, y, most) {
  let cell = 2;
  let kept = places;
  while (kept.length > most && cell < 64) {
    const seen = new Set();
    kept = [];
    for (const place of places) {
      const key = Math.floor(x[place] / cell) * 65536 + Math.floor(y[place] / cell);
      if (!seen.has(key)) {
        seen.add(key);
        kept.push(place);
      }
    }
    cell *= 1.5;
  }
  return kept.slice(0, most);
}

// Places that no other is at least as good as on both axes and better on one; costs are smaller-is-better.
function efficientPlaces(places, across, up) {
  const order = places.filter((p) => Number.isFinite(across[p]) && Number.isFinite(up[p]));
  order.sort((a, b) => across[a] - across[b] || up[a] - up[b]);
  const kept = [];
  let lowest = Infinity;
  let last = NaN;
  for (const place of order) {
    if (up[place] < lowest || (up[place] === lowest && across[place] === last)) {
      kept.push(place);
      lowest = up[place];
      last = across[place];
    }
  }
  return kept;
}
