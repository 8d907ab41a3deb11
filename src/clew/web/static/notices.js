// Short messages at the edge of the page, read out by screen readers. A bad one stays until it is closed.

import { $, el, ticked } from "./dom.js";

const SECONDS = 5;

export function notice(text, kind = "") {
  const close = el("button", { type: "button", class: "quiet", "aria-label": "Close", on: { click: () => shown.remove() } }, "×");
  const shown = el("div", { class: `notice ${kind}` }, el("span", {}, ticked(text)), close);
  $("#notices").append(shown);
  if (kind !== "bad") setTimeout(() => shown.remove(), SECONDS * 1000);
}

/** Do it, and tell of what goes wrong. What it gives, or true, if nothing did. */
export async function trying(work) {
  try {
    return (await work()) ?? true;
  } catch (error) {
    notice(error.text ?? String(error), "bad");
    return false;
  }
}
