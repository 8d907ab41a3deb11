// The list of threads: read again whenever an exchange ends somewhere; several can be selected, exported and deleted.
// A link that has the focus keeps it, wherever its row went.

import { call } from "./api.js";
import { asked } from "./dialogs.js";
import { $, $$, el, path } from "./dom.js";
import { fragment } from "./fragment.js";
import { live } from "./live.js";
import { notice, trying } from "./notices.js";

const PAUSE = 300;
const MOST = 100; // threads in one export
let waiting = 0;
const picked = new Set();

async function again() {
  waiting = 0;
  const page = await fragment(location.pathname + location.search).catch(() => null);
  const fresh = page?.querySelector("[data-threads]");
  const old = $("[data-threads]");
  if (!fresh) return;
  const focus = old.contains(document.activeElement) && focusOf(document.activeElement);
  old.replaceWith(fresh);
  boxes();
  if (focus) $$("a, input", fresh).find((each) => focusOf(each) === focus)?.focus({ preventScroll: true });
}

const focusOf = (element) => element.getAttribute("href") ?? element.dataset.pick;

// Selecting

function boxes() {
  for (const box of $$("[data-pick]")) {
    box.hidden = false;
    box.checked = picked.has(box.dataset.pick);
  }
}

function counted() {
  const tools = $("[data-picked]");
  if (!tools) return;
  tools.hidden = !picked.size;
  $("[data-picked-count]").textContent = `${picked.size} selected`;
}

document.addEventListener("change", (event) => {
  const id = event.target.dataset?.pick;
  if (id === undefined) return;
  if (event.target.checked) picked.add(id);
  else picked.delete(id);
  counted();
});

$("[data-pick-all]")?.addEventListener("click", () => {
  for (const box of $$("[data-pick]")) picked.add(box.dataset.pick);
  boxes();
  counted();
});

$("[data-export]")?.addEventListener("click", (event) => {
  if (picked.size > MOST) return notice(`At most ${MOST} threads go into one file.`, "bad");
  const address = new URL(event.currentTarget.dataset.export, location);
  address.searchParams.set("format", $("[data-export-format]").value);
  for (const id of picked) address.searchParams.append("id", id);
  location.assign(address.pathname + address.search); // an attachment: the page stays
});

async function remove() {
  const count = picked.size === 1 ? "this thread" : `these ${picked.size} threads`;
  const words = [el("p", {}, "Questions, answers and thinking are removed from the store. This cannot be undone."),
    el("ul", {}, $$("[data-pick]").filter((box) => picked.has(box.dataset.pick)).slice(0, 10).map((box) => el("li", {}, box.ariaLabel.replace("Select ", ""))))];
  if (!(await asked(`Delete ${count}?`, words, "Delete for good", { destroys: true }))) return;
  const owner = new URLSearchParams(location.search).get("principal");
  let gone = 0;
  for (const id of [...picked]) {
    const done = await trying(() => call("DELETE", path("api", "threads", id) + (owner ? `?principal=${encodeURIComponent(owner)}` : "")));
    if (!done) break;
    picked.delete(id);
    gone += 1;
  }
  if (gone) notice(gone === 1 ? "1 thread is deleted" : `${gone} threads are deleted`);
  counted();
  await again();
}
$("[data-delete-picked]")?.addEventListener("click", () => trying(remove));

// Filtering

const filters = $("[data-filters]");
if (filters) {
  $("[data-apply]").hidden = true;
  filters.addEventListener("change", (event) => event.target.name && filters.requestSubmit());
  filters.addEventListener("formdata", ({ formData }) => [...formData].forEach(([name, value]) => value || formData.delete(name)));
}

if ($("[data-threads]")) {
  boxes();
  live({ exchange: () => { waiting ||= setTimeout(again, PAUSE); } }, $("[data-live]"));
}
