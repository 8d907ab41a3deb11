// Now: asks for what changed when something happened, and switches.

import { call } from "./api.js";
import { $, $$ } from "./dom.js";
import { fragment, renew } from "./fragment.js";
import { live } from "./live.js";
import { notice, trying } from "./notices.js";

const top_ = $("#top");
const rows = $("#rows");
const whose = `?principal=${encodeURIComponent(top_.dataset.owner)}`;
const ROWS_MS = 150;
const TOP_MS = 1000;

/** At most once in so many milliseconds, and once more for what came meanwhile. */
function calmly(work, ms) {
  let waits = false;
  let again = false;
  return async function asked() {
    if (waits) return void (again = true);
    waits = true;
    again = false;
    await work().catch(() => {});
    setTimeout(() => ((waits = false), again && asked()), ms);
  };
}

const renewRows = calmly(async () => {
  renew(rows, await fragment(`/now/rows${whose}`));
  $("#none").hidden = rows.childElementCount > 0;
  $("#some").hidden = !$("#none").hidden;
}, ROWS_MS);

/** The buttons and the health of backends; what had the focus keeps it, what is open stays so. */
async function renewTop() {
  const focus = document.activeElement?.dataset?.focus;
  if (document.activeElement?.matches?.("select")) return tick();
  const open = new Map($$("[data-part]", top_).map((each) => [each.dataset.part, each.open]));
  const fresh = await fragment(`/now/top${whose}`);
  top_.replaceChildren(fresh);
  for (const each of $$("[data-part]", top_)) each.open = open.get(each.dataset.part) ?? each.open;
  if (focus) $$("[data-focus]", top_).find((each) => each.dataset.focus === focus)?.focus();
  const active = $('[data-use][aria-pressed="true"]', top_);
  if (active) $(".active-backend").textContent = active.textContent;
  tick();
}
const renewTopCalmly = calmly(renewTop, TOP_MS);

/** While a backend is left alone, its seconds are counted; a process that is behind may catch up without a word. */
let ticking = 0;
function tick() {
  clearTimeout(ticking);
  if ($("[data-cools], [data-other]", top_) && !document.hidden) ticking = setTimeout(renewTopCalmly, TOP_MS);
}
tick();

async function use(wish, said) {
  const done = await trying(() => call("POST", `/api/use${whose}`, wish));
  for (const { gateway, pid, why, fix } of done?.followed?.behind ?? [])
    notice(`Gateway ${gateway} (pid ${pid}) has not applied it: ${why}. To fix it: ${fix}.`, "bad");
  if (done && !done.followed?.behind?.length) notice(said);
  document.activeElement?.matches?.("select") && document.activeElement.blur();
  await renewTop().catch(() => {});
}

top_.addEventListener("click", (event) => {
  const released = event.target.closest("[data-release]")?.dataset.release;
  if (released) return use({ thread: released, reset: true }, "The thread follows the others again");
  const name = event.target.closest("[data-use]")?.dataset.use;
  if (name === undefined) return;
  use(name ? { backend: name } : { reset: true }, name ? `All requests go to ${name} now` : "The settings decide again");
});

top_.addEventListener("change", (event) => {
  const select = event.target.closest("select");
  if (!select) return;
  const { thread, family, agents } = select.dataset;
  const part = { ...(thread && { thread }), ...(family && { family }), ...(agents !== undefined && { agents: true }) };
  const what = select.labels[0].textContent;
  use({ ...part, ...(select.value ? { backend: select.value } : { reset: true }) },
    select.value ? `${what}: ${select.value} from now on` : `${what}: with everything else again`);
});

$("[data-submit]")?.addEventListener("change", (event) => event.target.form.submit());

live({
  exchange: () => (renewRows(), renewTopCalmly()),
  switch: () => renewTopCalmly(),
}, $("#live"));
