// One thread: more turns as they are scrolled to, its title, its end.

import { call } from "./api.js";
import { watch as watchCode } from "./code.js";
import { openers } from "./dialogs.js";
import { $, $$, el } from "./dom.js";
import { fragment } from "./fragment.js";
import "./links.js";
import { notice, trying } from "./notices.js";

openers();
watchCode($("[data-turns]"));

// More turns

const near = new IntersectionObserver((seen) => {
  for (const each of seen) if (each.isIntersecting) more(each.target);
}, { rootMargin: "1500px" });

async function more(link) {
  near.unobserve(link);
  const place = link.closest(".more");
  const stretch = el("div", { class: "stretch" });
  if (!(await trying(async () => stretch.append(await fragment(`${link.getAttribute("href")}&part=1`))))) return;
  place.replaceWith(stretch);
  watch(stretch);
}

/** The way on stands behind its stretch: in it, it would be seen too late. */
function watch(stretch) {
  const more = stretch.lastElementChild;
  if (!more?.matches(".more")) return;
  stretch.after(more);
  near.observe($("[data-more]", more));
}

$$(".stretch").forEach(watch);
$("[data-wanted]")?.scrollIntoView({ block: "start" });

// Title and end

const done = (dialog, work) => dialog?.addEventListener("close", () => dialog.returnValue === "yes" && trying(work));

done($("#rename"), async () => {
  const form = $("[data-rename]");
  const told = await call("POST", form.dataset.rename, { title: form.elements.title.value });
  $("[data-title]").textContent = told.title;
  document.title = `${told.title} · clew`;
  notice("Renamed");
});

done($("#delete"), async () => {
  await call("DELETE", $("[data-delete]").dataset.delete);
  location.href = "/threads";
});

// The menu closes when the attention goes elsewhere

for (const menu of $$("details.menu")) {
  document.addEventListener("click", (event) => menu.contains(event.target) || (menu.open = false));
  menu.addEventListener("keydown", (event) => event.key === "Escape" && (menu.open = false, $("summary", menu).focus()));
}
