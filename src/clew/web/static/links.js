// A link that a model wrote leads away from here. Before it is followed, the page says where to: the text may claim anything.

import { el } from "./dom.js";
import { asked } from "./dialogs.js";

async function leaving(event) {
  const link = event.target.closest?.("a.outside");
  if (!link || event.defaultPrevented) return;
  event.preventDefault();
  const address = new URL(link.href);
  const words = [
    el("p", {}, "A model wrote this link. It leads to"),
    el("p", {}, el("strong", { class: "host" }, address.host || address.pathname)),
    el("p", { class: "mono address" }, address.href),
    el("p", { class: "muted" }, "Whatever stands in the address is sent there."),
  ];
  if (await asked("Leave these pages?", words, "Open it")) open(address.href, "_blank", "noopener,noreferrer");
}

document.addEventListener("click", leaving);
document.addEventListener("auxclick", leaving);
