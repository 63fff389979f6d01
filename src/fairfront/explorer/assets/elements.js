// Elements are made here; every text goes through a text node, so a name is never read as markup.

const SVG = "http://www.w3.org/2000/svg";

const NOTHING = {};

// What an element was given is kept beside it, so that patching compares plain values and reads nothing back.
function fill(node, properties, children) {
  node.given = properties || NOTHING;
  for (const name in node.given) {
    if (name !== "on") give(node, name, node.given[name]);
    else {
      for (const [event, act] of Object.entries(node.given.on)) node.addEventListener(event, act);
      node.live = true;
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

function give(node, name, value) {
  if (name === "style") for (const key in value) node.style.setProperty(key, value[key]);
  else if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? "" : String(value));
}

function el(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

function svg(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function byId(id) {
  return document.getElementById(id);
}

// Put children into an element by changing what differs: the slider answers sooner and the focus stays where it is.
function put(id, ...children) {
  const fresh = children.flat(Infinity).filter((child) => child !== null && child !== undefined);
  patchChildren(byId(id), fresh.map((child) => (child instanceof Node ? child : document.createTextNode(child))));
}

function patchChildren(box, fresh) {
  let held = box.firstChild;
  for (const node of fresh) {
    const next = held && held.nextSibling;
    if (held) patch(held, node);
    else box.append(node);
    held = next;
  }
  while (held) {
    const next = held.nextSibling;
    held.remove();
    held = next;
  }
}

// Elements that listen are replaced whole: what they do belongs to the new one.
function patch(held, fresh) {
  if (held.nodeName !== fresh.nodeName || held.live || fresh.live) held.replaceWith(fresh);
  else if (held.nodeType === Node.TEXT_NODE) {
    if (held.data !== fresh.data) held.data = fresh.data;
  } else {
    patchAttributes(held, fresh);
    patchChildren(held, [...fresh.childNodes]);
  }
}

function patchAttributes(held, fresh) {
  const before = held.given || NOTHING;
  const after = fresh.given || NOTHING;
  for (const name in after) {
    if (name === "style") patchStyle(held, before.style || NOTHING, after.style);
    else if (before[name] !== after[name]) give(held, name, after[name]);
  }
  for (const name in before) if (!(name in after)) held.removeAttribute(name);
  held.given = after;
}

function patchStyle(held, before, after) {
  for (const key in after) if (before[key] !== after[key]) held.style.setProperty(key, after[key]);
  for (const key in before) if (!(key in after)) held.style.removeProperty(key);
}

// Long names are cut for the eye; the whole stays in the title.
function named(text, tag = "span") {
  const whole = String(text);
  return el(tag, { class: "name", dir: "auto", title: whole.length > 40 ? whole.slice(0, 2000) : null },
    whole.length > 400 ? `${whole.slice(0, 400)}…` : whole);
}

function options(select, choices, current) {
  const groups = new Map();
  for (const choice of choices) {
    const option = el("option", { value: choice.value, selected: choice.value === current }, choice.label.slice(0, 120));
    if (!choice.group) select.append(option);
    else {
      if (!groups.has(choice.group)) {
        groups.set(choice.group, el("optgroup", { label: choice.group.slice(0, 120) }));
        select.append(groups.get(choice.group));
      }
      groups.get(choice.group).append(option);
    }
  }
  return select;
}

function note(...text) {
  return el("p", { class: "note" }, text);
}

function needsRows(what) {
  return note(`${what} needs validation rows, which were not given to this page: front.to_html(path, X=X_validation, `
    + "y=y_validation, sensitive_features=groups_validation) writes aggregates of them.");
}

// What to say where details are missing for the chosen point, or null where they are there.
function detailsMissing(what, place, choose) {
  if (!details) return needsRows(what);
  if (detailLine(place) >= 0) return null;
  const near = nearestDetailed(place);
  return el("p", { class: "note" },
    `${what} was computed for ${details.ids.length} of ${N} points, not for this one. `,
    el("button", { type: "button", class: "small", on: { click: () => choose(near) } }, `Go to the nearest, ${nameOf(near)}`));
}
