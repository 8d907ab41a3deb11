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
    throw new Problem(0, { what: "the gateway does not answer", why: "it may have ended", next: "start it: clew serve" });
  }
  if (!response.ok) throw new Problem(response.status, (await response.json().catch(() => ({}))).error ?? {});
  const holder = document.createElement("template");
  holder.innerHTML = policy.createHTML(await response.text());
  return holder.content;
}

/** Rows of a list by their `data-key`: those that stay are left alone (and keep their focus), others come and go. */
export function renew(list, fresh) {
  const present = new Map([...list.children].map((row) => [row.dataset.key, row]));
  list.replaceChildren(...[...fresh.children].map((row) => present.get(row.dataset.key) ?? row));
}
