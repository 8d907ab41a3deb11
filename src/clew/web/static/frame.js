// What every page has: the theme's switch, the keyboard, buttons that copy.

import { call } from "./api.js";
import { $, $$ } from "./dom.js";
import { listen } from "./keys.js";
import { notice, trying } from "./notices.js";
import { switchable } from "./theme.js";

switchable($("[data-theme-switch]"));
listen($("[data-keys-help]"));

// Reasons stand beside what they explain, inside the window, above whatever would cut them off. Escape hides them.
function place(event) {
  const tip = event.target.closest?.(".tip");
  const text = tip && $(".tip-text", tip);
  if (!text || tip.contains(event.relatedTarget)) return;
  tip.classList.remove("dismissed");
  const at = tip.getBoundingClientRect();
  const { width, height } = text.getBoundingClientRect();
  text.style.left = text.style.top = 0; // which is not the window's corner where something around it is drawn by itself
  const corner = text.getBoundingClientRect();
  text.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 16)) - corner.left}px`;
  text.style.top = `${(at.bottom + height + 8 > innerHeight && at.top > height + 8 ? at.top - height - 2 : at.bottom + 2) - corner.top}px`;
}
document.addEventListener("mouseover", place);
document.addEventListener("focusin", place);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") for (const tip of $$(".tip:is(:hover, :focus-within)")) tip.classList.add("dismissed");
});

for (const button of $$("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    notice("Copied");
  });
}

const leave = $("[data-leave]");
if (leave) {
  leave.hidden = false;
  leave.addEventListener("click", () => trying(async () => {
    await call("DELETE", "/api/session");
    location.reload();
  }));
}
