// The page of a chat: its elements, how it scrolls, and a turn before its answer came.

import { $, $$, el, path } from "./dom.js";

export const chat = $("[data-chat]");
export const turns = $("[data-turns]");
export const form = $("[data-composer]");
export const { words } = form.elements;

const send = $("[data-send]");
const stop = $("[data-stop]");
const state = $("[data-state]");
const newest = $("[data-newest]");

/** A path of this chat in the API. */
export const address = (...more) => path("api", "chat", chat.dataset.chat, ...more);

export const all = () => $$("[data-turn]", turns);

/** The last turn with an answer; "" if there is none. */
export const last = () => all().filter((turn) => turn.dataset.turn && !turn.dataset.vain).at(-1)?.dataset.turn ?? "";

export const say = (text) => (state.textContent = text);

/** Whether an answer is under way on this page. */
export const busy = () => !stop.disabled;

export function working(now) {
  stop.disabled = !now;
  send.disabled = now;
}

/** The page can be used now. */
export function ready() {
  words.disabled = send.disabled = false;
  words.focus();
}

export function entitle(title) {
  $("[data-title]").textContent = title;
  document.title = `${title} · clew`;
}

/** Enter sends, with Shift it makes a new line. */
export function sending(field, form) {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

// Turns

/** The turn on the page, before anything came. */
export function begun(shown, after) {
  $("[data-empty]")?.remove();
  const number = Number(turns.dataset.first) + all().length + 1;
  const turn = el("article", { class: "turn", "data-turn": "", "data-after": after, "data-row": true },
    el("h2", { class: "turn-head" }, el("span", { class: "muted" }, `Turn ${number}`), el("span", { class: "muted" }, new Date().toLocaleTimeString("en-GB"))),
    shown && el("section", { class: "said user" }, el("p", { class: "who" }, "user"), shown),
    el("section", { class: "said assistant" }));
  turns.append(turn);
  if (turns.childElementCount === 1 && !$("[data-thread-link]").href) entitle($(".plain", turn)?.textContent.slice(0, 80) || "Chat");
  end();
  return turn;
}

/** The store has the turn now, under this id. */
export function named(turn, { thread, turn: id }) {
  turn.dataset.turn = id;
  chat.dataset.chat = thread;
  const label = $(".turn-head > :first-child", turn);
  label.replaceWith(el("a", { href: path("exchanges", id), title: "What happened to this request" }, label.textContent));
  history.replaceState(null, "", path("chat", thread));
  $("[data-thread-link]").href = path("threads", thread);
  for (const each of $$("[data-with-chat]")) each.hidden = false;
}

// Scrolling: a reader who is at the end stays there.

let following = true;
const atEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 80;

export const end = () => scrollTo({ top: document.documentElement.scrollHeight });
export const keepUp = () => following && end();
/** The reader wants to see what comes. */
export const follow = () => (following = true);

addEventListener("scroll", () => { following = atEnd(); newest.hidden = following; }, { passive: true });
addEventListener("grown", () => busy() && keepUp());
newest.addEventListener("click", end);
