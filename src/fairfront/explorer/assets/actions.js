// What leaves the page, by the reader's own hand: the clipboard, a CSV, a JSON file, a print.

async function copy(label, text, button) {
  const done = () => {
    button.textContent = "Copied";
    say(`Copied the ${label} line to the clipboard.`);
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  };
  try {
    await navigator.clipboard.writeText(text);
    done();
  } catch {
    const field = el("textarea", { class: "offscreen", readonly: true });
    field.value = text;
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    if (copied) done();
    else say("The browser did not allow copying; select the line and copy it by hand.");
  }
}

function save(name, kind, text) {
  const url = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// One line per point: ids, status, training figures, and every shown evaluation's figures and rates.
function tableOf() {
  const plain = (v) => (Number.isFinite(v) ? v : null);
  const columns = [["id", raw.points.ids], ["status", raw.points.status.map((s) => raw.points.statuses[s].name)], ["certified", [...raw.points.certified].map((c) => c === "1")]];
  if (raw.points.names) columns.push(["name", raw.points.names]);
  for (const [name, values] of training) columns.push([name, Array.from(values, plain)]);
  for (const part of parts) {
    for (const [name, values] of part.columns) {
      if (name !== "missed" && name !== "false") columns.push([`${part.name}.${name}`, Array.from(values, plain)]);
    }
    for (const [name, values] of part.upper) columns.push([`${part.name}.${name}.upper`, Array.from(values, plain)]);
    for (const attribute of part.attributes) {
      for (const rate of attribute.rateNames) {
        attribute.levels.forEach((level, g) => columns.push([`${part.name}.${attribute.name}.${rate}[${level}]`,
          Array.from({ length: N }, (_, p) => { const v = plain(attribute.rate(rate, p, g)); return typeof v === "number" ? Number(v.toPrecision(7)) : v; })]));
      }
    }
  }
  return columns;
}

const FORMULA = new RegExp(raw.formula);

// A cell that a spreadsheet would read as a formula gets a quote in front.
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvText() {
  const columns = tableOf();
  const lines = [columns.map(([name]) => csvCell(name)).join(",")];
  for (let p = 0; p < N; p += 1) lines.push(columns.map(([, values]) => csvCell(values[p])).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function jsonText() {
  const columns = tableOf();
  const points = raw.points.ids.map((_, p) => Object.fromEntries(columns.map(([name, values]) => [name, values[p]])));
  return JSON.stringify({ title: raw.title, written: raw.written, fairfront: raw.version, facts: raw.facts, chosen: raw.points.ids[state.chosen],
    plain: raw.points.ids[raw.points.plain], points, details: raw.details }, null, 1);
}
