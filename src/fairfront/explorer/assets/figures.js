// Figures: what each column is called, how it is written, and how sure it is.

const GOOD = raw.facts.favourable === null ? "" : `“${raw.facts.favourable}”`;
// What the others are compared with: candidates were not trained here, so none of them is the unconstrained model.
const PLAIN = raw.facts.trained ? "unconstrained model" : "most accurate candidate";
const ROLES = { plain: raw.facts.trained ? "unconstrained" : "best", chosen: "chosen" };
const RATE_WORDS = {
  selection: ["Selection rate", `share of all people predicted ${GOOD}`],
  tpr: ["True positive rate", `share predicted ${GOOD} among people labelled ${GOOD}`],
  fpr: ["False positive rate", `share predicted ${GOOD} among people with another label`],
  error: ["Error rate", "share of all people whose prediction differs from their label"],
  precision: ["Precision", `share labelled ${GOOD} among people predicted ${GOOD}`],
  npv: ["Negative predictive value", `share with another label among people not predicted ${GOOD}`],
  favourable_errors: ["Errors in favour", `share predicted ${GOOD} among people predicted wrongly`],
  f_score: ["F1 score", "harmonic mean of precision and true positive rate"],
  balanced_accuracy: ["Balanced accuracy", "mean of the shares predicted rightly of either label"],
  prediction: ["Mean prediction", "mean of the predictions"],
  actual_over_expected: ["Actual over expected", "sum of values divided by the sum of predictions: above 1 where the model predicts too little"],
  residual: ["Mean residual", "mean of value minus prediction: above 0 where the model predicts too little"],
  mse: ["Mean squared error", "mean of (value - prediction) squared"],
};

// A rate's heading and what it is a share of; recalls are one rate per class, "recall:k".
function rateWords(rate) {
  if (!rate.startsWith("recall:")) return RATE_WORDS[rate];
  const label = `“${raw.facts.classes[Number(rate.slice(7))]}”`;
  return [`Recall of ${label}`, `share predicted ${label} among people labelled ${label}`];
}

function isCompared(rate) {
  return raw.facts.rates.includes(rate) || (rate.startsWith("recall:") && raw.facts.rates.includes("recall"));
}

const SHORT = {
  tpr_gap: "TPR gap", fpr_gap: "FPR gap", selection_gap: "Selection gap", error_gap: "Error gap",
  recall_gap: "Recall gap", selection_ratio: "Selection ratio", error: "Error", approval_rate: "Approval rate", auc: "AUC", mse: "Mean squared error",
  precision_gap: "Precision gap", npv_gap: "NPV gap", favourable_errors_gap: "Gap of errors in favour", f_score_gap: "F1 gap",
  auc_gap: "AUC gap", xauc_gap: "AUC gap across groups", mean_score_gap: "Mean score gap", positive_score_gap: "Score gap, favourable label",
  negative_score_gap: "Score gap, other label", smd_gap: "SMD", in_the_large_gap: "Calibration gap",
  score_gap: "Training score gap", actual_over_expected_gap: "A/E gap",
  balanced_accuracy_gap: "Balanced accuracy gap", tpr_ratio: "TPR ratio",
  loss: "Training loss", loss_gap: "Training loss gap", smooth_rate_gap: "Training smooth rate gap",
  prediction_gap: "Prediction gap", residual_gap: "Residual gap", mse_gap: "Squared error gap", cost: "Cost",
};
const LARGER = new Set(raw.facts.larger); // columns whose larger values are better
const NUMBERS = new Set(["auc", "selection_ratio", "tpr_ratio", "auc_gap", "xauc_gap", "mean_score_gap",
  "positive_score_gap", "negative_score_gap", "smd_gap", "in_the_large_gap", "score_gap", "actual_over_expected_gap", "actual_over_expected", "loss", "loss_gap", "smooth_rate_gap", "mse", "cost",
  "prediction_gap", "residual_gap", "mse_gap", "prediction", "residual"]);

function kindOf(name) {
  return name.slice(name.lastIndexOf(".") + 1);
}

function columnWords(name) {
  const kind = kindOf(name);
  const short = SHORT[kind] || kind.replaceAll("_", " ");
  return name.includes(".") ? `${short}, ${name.slice(0, name.lastIndexOf("."))}` : short;
}

function isShare(name) {
  return !NUMBERS.has(kindOf(name)) && !regression;
}

function number(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size > 0 && size < 1e-6) return "below 0.000001"; // zero up to the solver's tolerance
  if (size !== 0 && (size < 0.001 || size >= 100000)) return value.toExponential(2).replace("-", "−");
  const text = size >= 1 || size === 0 ? value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3) : value.toPrecision(3);
  return text.replace("-", "−");
}

// Rates of few people are not in the page, and some rates are not defined.
function missing(value) {
  return value === null || Number.isNaN(value) ? "-" : "";
}

// Shares are written as per cent, their differences as points of a per cent.
function written(value, name) {
  const word = missing(value);
  if (word) return word;
  return isShare(name) ? `${(100 * value).toFixed(1)} %` : number(value);
}

function gapWritten(value, name) {
  const word = missing(value);
  if (word) return word;
  return isShare(name) ? `${(100 * value).toFixed(1).replace("-", "−")} points` : number(value);
}

function figureWritten(value, name) {
  return /_gap$/.test(kindOf(name)) ? gapWritten(value, name) : written(value, name);
}

function signed(value, digits = 1) {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : (value < 0 ? "−" : "+") + text;
}

// A difference of values, to two digits.
function signedNumber(value) {
  const size = Math.abs(value);
  if (!(size > 0)) return "0";
  return size < 1e-5 ? value.toExponential(1).replaceAll("-", "−") : signed(value, Math.max(0, Math.min(8, 1 - Math.floor(Math.log10(size)))));
}

function differenceWritten(value, name) {
  return isShare(name) ? `${signed(100 * value)} points` : signedNumber(value);
}

// What is said of a difference whose interval contains zero, after a mark of punctuation; nothing of others.
function zeroWords(lower, upper, mark) {
  return lower <= 0 && upper >= 0 ? `${mark} not statistically different from zero` : "";
}

// A count, or a text in the place of a small one.
function whole(value) {
  if (typeof value === "string") return value;
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, " ");
}

const Z = 1.959963984540054; // 95 %, the confidence of every interval that the page draws itself

function wilson(share, n) {
  const z = Z;
  if (!(n > 0) || !Number.isFinite(share)) return [NaN, NaN];
  const s = share * n;
  const centre = (s + (z * z) / 2) / (n + z * z);
  const half = (z * Math.sqrt((s * (n - s)) / n + (z * z) / 4)) / (n + z * z);
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}

function newcombe(p1, n1, p2, n2) {
  const [l1, u1] = wilson(p1, n1);
  const [l2, u2] = wilson(p2, n2);
  return [p1 - p2 - Math.hypot(p1 - l1, u2 - p2), p1 - p2 + Math.hypot(u1 - p1, p2 - l2)];
}

function wilsonOf(attribute, rate, place, g) {
  return wilson(attribute.rate(rate, place, g), attribute.behind(rate, place, g));
}

function newcombeOf(attribute, rate, place, a, b) {
  const [one, other] = [a, b].map((g) => [attribute.rate(rate, place, g), attribute.behind(rate, place, g)]);
  return newcombe(...one, ...other);
}
