// The list of chats beside a chat, and what can be done with the one that is open: give it a name, delete it.

import { call } from "./api.js";
import { openers } from "./dialogs.js";
import { $, path } from "./dom.js";
import { fragment } from "./fragment.js";
import { allowed, systems } from "./kept.js";
import { notice, trying } from "./notices.js";

let newest = 0;

/** Read the list again; `open` is the chat on the page. An answer that comes after that of a later question is old. */
export async function listed(open) {
  const mine = ++newest;
  const fresh = await fragment(`/chats?open=${encodeURIComponent(open)}`).catch(() => null);
  if (fresh && mine === newest) $("[data-chats]").replaceChildren(fresh);
}

/** `entitle` puts a title on the page. */
export function manage(chat, entitle) {
  openers();
  const list = $("[data-chat-list]");
  list.open = matchMedia("(min-width: 64rem)").matches;
  const done = (id, work) => {
    const dialog = document.getElementById(id);
    dialog.addEventListener("close", () => dialog.returnValue === "yes" && trying(work));
  };
  // With the click: a dialog's toggle event comes later, and would overwrite what was typed until then.
  $("[data-open=rename]").addEventListener("click", () => ($("#title").value = $("[data-title]").textContent));
  done("rename", async () => {
    const told = await call("PATCH", path("api", "chat", chat.dataset.chat), { title: $("#title").value });
    entitle(told.title);
    $("[data-chats] [aria-current]")?.replaceChildren(told.title);
    notice("Renamed");
    await listed(chat.dataset.chat);
  });
  done("delete", async () => {
    await call("DELETE", path("api", "chat", chat.dataset.chat));
    for (const each of [allowed, systems]) each.drop(chat.dataset.chat);
    location.href = "/chat";
  });
}
