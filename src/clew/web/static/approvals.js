// Calls of tools that wait for a decision: allow, deny, or allow this tool always in this chat. None runs before all are decided.

import { $, el } from "./dom.js";
import { allowed } from "./kept.js";

export class Approvals {
  /** `chat` gives the id of the chat; `decided` is called with all decisions, by the ids of the calls. */
  constructor(chat, decided) {
    Object.assign(this, { chat, decided, waiting: new Map(), complete: false });
  }

  /** `fold` shows the call: its input is opened, and the question stands below it. */
  ask(id, tool, fold, mark) {
    if (this.waiting.has(id)) return;
    this.waiting.set(id, undefined);
    if ((allowed.of(this.chat()) ?? []).includes(tool)) return this.decide(id, true, mark);
    fold.open = true;
    mark("asks you", "warn");
    const done = (approved) => { question.remove(); $(".approval button")?.focus(); this.decide(id, approved, mark); };
    const always = () => {
      allowed.keep(this.chat(), [...(allowed.of(this.chat()) ?? []), tool]);
      done(true);
    };
    const button = (label, kind, click) => el("button", { type: "button", class: kind, on: { click } }, label);
    const question = el("div", { class: "approval", role: "group", "aria-label": `Allow ${tool}?` },
      el("p", {}, el("strong", {}, "Allow this call of ", el("span", { class: "mono" }, tool), "?"), " ", el("span", { class: "muted small" }, "It runs on the machine of the gateway, with the rights of the gateway.")),
      el("p", { class: "field" }, button("Allow", "primary", () => done(true)), button("Always in this chat", "", always), button("Deny", "danger", () => done(false))));
    fold.append(question);
  }

  decide(id, approved, mark) {
    this.waiting.set(id, approved);
    mark(approved ? "allowed" : "denied", approved ? "" : "warn");
    this.finish();
  }

  /** All calls of the answer are known now. How many of them wait for the user. */
  settle() {
    this.complete = true;
    const left = [...this.waiting.values()].filter((each) => each === undefined).length;
    this.finish();
    return left;
  }

  finish() {
    if (!this.complete || !this.waiting.size || [...this.waiting.values()].includes(undefined)) return;
    const decisions = Object.fromEntries(this.waiting);
    this.drop();
    this.decided(decisions);
  }

  /** Another question was asked instead. */
  drop() {
    this.waiting.clear();
    this.complete = false;
    for (const each of document.querySelectorAll(".approval")) each.remove();
  }
}
