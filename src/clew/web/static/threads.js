// The list of threads, kept up to date: whenever an exchange ends somewhere, the list is read again.

import { $ } from "./dom.js";
import { fragment } from "./fragment.js";
import { live } from "./live.js";

const PAUSE = 300;
let waiting = 0;

async function again() {
  waiting = 0;
  const page = await fragment(location.pathname + location.search).catch(() => null);
  const fresh = page?.querySelector("[data-threads]");
  const old = $("[data-threads]");
  if (fresh && !old.contains(document.activeElement)) old.replaceWith(fresh);
}

if ($("[data-threads]")) {
  live({ exchange: () => { waiting ||= setTimeout(again, PAUSE); } }, $("[data-live]"));
}
