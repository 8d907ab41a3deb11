// Elements are built, never parsed: whatever a model, a client or a backend wrote goes in as text.

const own = new Set(["class", "id", "href", "title", "type", "value", "role", "hidden", "disabled", "tabindex", "for", "name",
  "datetime", "colspan", "open", "lang", "rows", "placeholder", "alt", "src", "checked", "selected", "maxlength", "required"]);
const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$/;

/** An element. `props`: attributes, `data-*` and `aria-*`, and `on` with listeners by event. Children: nodes or text. */
export function el(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) put(made, name, value);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

function put(made, name, value) {
  if (name === "on") {
    for (const [event, heard] of Object.entries(value)) made.addEventListener(event, heard);
  } else if (value === null || value === undefined || value === false) {
    return;
  } else if (!own.has(name) && !/^(data|aria)-[a-z-]+$/.test(name)) {
    throw new Error(`no attribute for a page: ${name}`);
  } else if (name === "href" && !/^[/#](?!\/)/.test(value)) {
    throw new Error("a link that a script makes stays on this page's host");
  } else if (name === "src" && !PICTURE.test(value)) {
    throw new Error("a picture that a script makes is data");
  } else {
    made.setAttribute(name, value === true ? "" : String(value));
  }
}

export const $ = (selector, inside = document) => inside.querySelector(selector);
export const $$ = (selector, inside = document) => [...inside.querySelectorAll(selector)];

/** Put these in the place of whatever is inside. */
export function fill(place, ...children) {
  place.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** A text, what stands in backticks as code. */
export const ticked = (text) => text.split("`").map((part, at, all) => (at % 2 && at < all.length - 1 ? el("code", {}, part) : at % 2 ? `\`${part}` : part));

/** The place within a path: what a page's address may hold. */
export const path = (...parts) => "/" + parts.map(encodeURIComponent).join("/");
