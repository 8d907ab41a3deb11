// A question once more, or in other words: the chat goes another way from there, and the old way stays as a branch.

import { call } from "./api.js";
import { address, all, busy, chat, sending, turns, words } from "./chat_page.js";
import { copier } from "./code.js";
import { $, $$, el, path } from "./dom.js";
import { fragment } from "./fragment.js";
import { notice, trying } from "./notices.js";

/** A turn of this chat as the server draws it, with those around it. */
export const drawn = (id) => fragment(`${path("chat", chat.dataset.chat)}?${id ? `at=${encodeURIComponent(id)}&` : ""}part=1`);

export class AskingAgain {
  /** `ask` asks these parts after a turn; `repeat` asks the question of a turn again, as the store has it. */
  constructor({ ask, repeat }) {
    Object.assign(this, { ask, repeat });
    this.said = new WeakMap(); // what was asked in a turn of this visit, with its files
    this.answers = new WeakMap(); // what was answered in it
  }

  /** The buttons below a turn. */
  buttons(turn) {
    $(".turn-buttons", turn)?.remove();
    const can = turn.dataset.after || begins(turn);
    const button = (label, click) => el("button", { type: "button", class: "quiet", on: { click } }, label);
    turn.append(el("p", { class: "turn-buttons" },
      $(".assistant > .prose", turn) && copier(() => this.answerText(turn), "Copy answer"),
      can && this.wordsOf(turn) && button("Edit", () => this.edit(turn)),
      can && $(".user", turn) && turn.dataset.turn + this.wordsOf(turn) && button("Retry", () => this.retry(turn))));
  }

  /** The question, if it is only words and files that this page holds: as parts in JSON, "" otherwise. */
  wordsOf(turn) {
    return turn.dataset.words || (this.said.has(turn) ? JSON.stringify(this.said.get(turn)) : "");
  }

  /** The answer as Markdown, as the model wrote it. */
  async answerText(turn) {
    if (this.answers.has(turn)) return this.answers.get(turn).markdown;
    const found = await call("GET", `${address()}?turn=${encodeURIComponent(turn.dataset.turn)}`);
    const said = found.messages.findLast((message) => message.role === "assistant")?.parts ?? [];
    return said.filter((part) => part.type === "text").map((part) => part.text).join("\n\n");
  }

  /** A turn whose question the page does not hold is asked again by its id; one that never arrived is sent as it was. */
  retry(turn) {
    const said = this.wordsOf(turn);
    if (said) return this.again(turn, () => this.ask(JSON.parse(said), turn.dataset.after, "retry"));
    const shown = $$(".user > :not(.who)", turn).map((each) => each.cloneNode(true));
    return this.again(turn, () => this.repeat(turn, shown));
  }

  /** From this turn on, the conversation goes another way; the old one stays in the thread. */
  async again(turn, work) {
    if (busy()) return notice("An answer is under way: stop it first.", "bad");
    const following = all();
    for (const each of following.slice(following.indexOf(turn))) each.remove();
    words.focus(); // what had the focus is gone
    await trying(work);
  }

  edit(turn) {
    if ($(".edit", turn)) return $(".edit textarea", turn).focus();
    const section = $(".user", turn);
    const old = [...section.childNodes];
    const said = JSON.parse(this.wordsOf(turn));
    const kept = said.filter((part) => part.type !== "text");
    const field = el("textarea", { "aria-label": "Ask in other words", rows: 3 });
    field.value = said.filter((part) => part.type === "text").map((part) => part.text).join("\n\n");
    const done = (event) => {
      event.preventDefault();
      if (field.value.trim()) this.again(turn, () => this.ask([...kept, { type: "text", text: field.value }], turn.dataset.after, "edit"));
    };
    const leave = () => { section.replaceChildren(...old); words.focus(); };
    const form = el("form", { class: "edit", on: { submit: done } }, field,
      el("p", { class: "field" }, el("button", { class: "primary" }, "Ask this instead"),
        el("button", { type: "button", on: { click: leave } }, "Cancel")));
    sending(field, form);
    field.addEventListener("keydown", (event) => event.key === "Escape" && leave());
    section.replaceChildren(form);
    field.focus();
  }
}

/** Whether nothing was answered before it. */
const begins = (turn) => all().find((each) => each === turn || !each.dataset.vain) === turn;

/** The links to the branches, which the server knows. */
export async function branches(id) {
  const fresh = await drawn(id).catch(() => null);
  if (!fresh) return;
  for (const ways of $$("[data-turn] > .ways", fresh)) {
    const turn = $(`[data-turn="${CSS.escape(ways.closest("[data-turn]").dataset.turn)}"]`, turns);
    $(".ways", turn ?? ways)?.remove();
    turn?.append(ways);
  }
  const beginnings = $("[data-beginnings]", fresh);
  $("[data-beginnings]", turns)?.remove();
  if (beginnings) turns.prepend(beginnings);
}
