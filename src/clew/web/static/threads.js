// The list of threads, kept up to date: whenever an exchange ends somewhere, the list is read again.
// A link that has the focus keeps it, wherever its row went.

import { $, $$ } from "./dom.js";
import { fragment } from "./fragment.js";
import { live } from "./live.js";

const PAUSE = 300;
let waiting = 0;

async function again() {
  waiting = 0;
  const page = await fragment(location.pathname + location.search).catch(() => null);
  const fresh = page?.querySelector("[data-threads]");
  const old = $("[data-threads]");
  if (!fresh) return;
  const focus = old.contains(document.activeElement) && document.activeElement.getAttribute("href");
  old.replaceWith(fresh);
  if (focus) $$("a", fresh).find((each) => each.getAttribute("href") === focus)?.focus({ preventScroll: true });
}

if ($("[data-threads]")) {
  live({ exchange: () => { waiting ||= setTimeout(again, PAUSE); } }, $("[data-live]"));
}
