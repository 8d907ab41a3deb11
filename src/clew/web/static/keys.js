// The keyboard: `g` and a letter goes to a page, `j` and `k` walk through a list, `/` searches, `?` shows all this.
// Single keys disturb some ways of typing and speaking, so they can be switched off.

import { $, $$, el } from "./dom.js";

const OFF = "clew-keys-off";
const off = () => localStorage.getItem(OFF) === "1";
const typing = (target) => target.closest?.("input, textarea, select, [contenteditable]");

let leading = false;

/** Rows to walk through: `[data-list]` holds them, each has a link or can take the focus. */
function step(by) {
  const rows = $$("[data-list] [data-row]").filter((row) => row.offsetParent !== null);
  const here = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[Math.min(rows.length - 1, Math.max(0, here + by))];
  const target = row && (row.matches("a, button, [tabindex]") ? row : $("a, button, [tabindex]", row));
  target?.focus();
  row?.scrollIntoView({ block: "nearest" });
}

function go(letter) {
  const link = $$("nav [data-key]").find((each) => each.dataset.key === letter);
  if (link) location.href = link.href;
}

function pressed(event) {
  if (off() || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (leading) {
    leading = false;
    go(event.key);
    return;
  }
  const doing = { g: () => (leading = true), j: () => step(1), k: () => step(-1), "/": () => $("[data-search]")?.focus(), "?": help }[event.key];
  if (!doing) return;
  event.preventDefault();
  doing();
}

function help() {
  const open = $("dialog.keys");
  if (open) return open.showModal();
  const rows = [
    ...$$("nav [data-key]").map((link) => [`g ${link.dataset.key}`, link.textContent]),
    ["j  k", "next, previous in a list"],
    ["Enter", "open it"],
    ["/", "search"],
    ["?", "this page"],
  ];
  const box = el("input", { type: "checkbox", id: "keys-on" });
  box.checked = !off();
  box.addEventListener("change", () => localStorage.setItem(OFF, box.checked ? "0" : "1"));
  const dialog = el("dialog", { class: "keys", "aria-label": "Keyboard shortcuts" },
    el("h2", {}, "Keyboard"),
    el("dl", {}, rows.flatMap(([keys, does]) => [el("dt", {}, el("kbd", {}, keys)), el("dd", {}, does)])),
    el("p", {}, box, el("label", { for: "keys-on" }, " single keys work")),
    el("form", { on: { submit: (event) => (event.preventDefault(), dialog.close()) } }, el("button", {}, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}

export function listen(button) {
  document.addEventListener("keydown", pressed);
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", help);
}
