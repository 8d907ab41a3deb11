// The one way for HTML into a page: what this server made, by templates that escape, or cleaned. Nothing else is ever parsed.

import { Problem } from "./api.js";

const policy = window.trustedTypes?.createPolicy("clew", { createHTML: (html) => html }) ?? { createHTML: (html) => html };

/** The part of a page that is at this path, as nodes. Raises Problem. */
export async function fragment(path, request = {}) {
  if (!/^\/(?!\/)/.test(path)) throw new Error("a fragment comes from this page's host");
  let response;
  try {
    response = await fetch(path, { redirect: "error", ...request });
  } catch {
    throw new Problem(0, { what: "the gateway does not answer", why: "it may have ended", next: "start it: `clew serve`" });
  }
  if (!response.ok) throw new Problem(response.status, (await response.json().catch(() => ({}))).error ?? {});
  const holder = document.createElement("template");
  holder.innerHTML = policy.createHTML(await response.text());
  return holder.content;
}

/** Rows of a list by their `data-key`: those that stay are not touched (and keep their focus), others come and go. */
export function renew(list, fresh) {
  const wanted = [...fresh.children];
  const keys = new Set(wanted.map((row) => row.dataset.key));
  const present = new Map([...list.children].map((row) => [row.dataset.key, row]));
  for (const [key, row] of present) if (!keys.has(key)) row.remove();
  let here = list.firstElementChild;
  for (const row of wanted) {
    if (here?.dataset.key === row.dataset.key) here = here.nextElementSibling;
    else list.insertBefore(present.get(row.dataset.key) ?? row, here);
  }
}
