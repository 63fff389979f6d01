// Elements are made here; every text goes through a text node, so a name is never read as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
      node.live = true;
    } else if (name === "style") for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) {
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }
  return node;
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
  const held = [...box.childNodes];
  fresh.forEach((node, i) => (held[i] ? patch(held[i], node) : box.append(node)));
  held.slice(fresh.length).forEach((node) => node.remove());
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
  for (const { name, value } of fresh.attributes) {
    if (name !== "style" && held.getAttribute(name) !== value) held.setAttribute(name, value);
  }
  for (const { name } of [...held.attributes]) if (name !== "style" && !fresh.hasAttribute(name)) held.removeAttribute(name);
  if (held.style.cssText !== fresh.style.cssText) held.style.cssText = fresh.style.cssText;
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

function note(text) {
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
