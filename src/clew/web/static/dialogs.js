// Questions before something is done: <dialog> elements of the page, or made on the spot.

import { $$, el } from "./dom.js";

/** Buttons that open a dialog by its id: `data-open="delete"`. They are hidden where no script runs. */
export function openers() {
  for (const button of $$("[data-open]")) {
    button.hidden = false;
    button.addEventListener("click", () => document.getElementById(button.dataset.open).showModal());
  }
}

/** Ask. True if the answer is `yes`. What destroys something is not done by a quick Enter. */
export function asked(title, words, yes, { destroys = false } = {}) {
  return new Promise((resolve) => {
    const close = (value) => () => dialog.close(value);
    const dialog = el("dialog", { "aria-label": title },
      el("h2", {}, title), words,
      el("p", { class: "field" },
        el("button", { type: "button", class: destroys ? "danger" : "primary", on: { click: close("yes") } }, yes),
        el("button", { type: "button", "data-no": "", on: { click: close("no") } }, "Cancel")));
    dialog.addEventListener("close", () => { resolve(dialog.returnValue === "yes"); dialog.remove(); });
    document.body.append(dialog);
    dialog.showModal();
    if (destroys) dialog.querySelector("[data-no]").focus();
  });
}
