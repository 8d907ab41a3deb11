// What every page has: the theme's switch, the keyboard, buttons that copy.

import { $, $$ } from "./dom.js";
import { listen } from "./keys.js";
import { notice } from "./notices.js";
import { switchable } from "./theme.js";

switchable($("[data-theme-switch]"));
listen($("[data-keys-help]"));

for (const button of $$("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    notice("Copied");
  });
}
