// The same question on two backends at the same time. Each side is a chat of its own, which can go on by itself in Chat.

import { Answer } from "./answer.js";
import { Problem, call, changing } from "./api.js";
import { Attachments, asked } from "./attachments.js";
import { copier, watch } from "./code.js";
import { $, el, path } from "./dom.js";
import "./links.js";
import { trying } from "./notices.js";
import { parts } from "./stream.js";

const form = $("[data-composer]");
const { words } = form.elements;
const [send, stop, state] = ["send", "stop", "state"].map((name) => $(`[data-${name}]`));

class Side {
  constructor(name) {
    this.section = $(`[data-side="${name}"]`);
    this.select = form.elements[name];
    this.turns = $("[data-turns]", this.section);
    this.id = crypto.randomUUID();
    this.last = "";
    watch(this.turns);
    this.select.addEventListener("change", () => this.named());
    this.named();
  }

  get backend() {
    const { images, documents } = this.select.selectedOptions[0].dataset;
    return { images, documents, name: this.select.value || this.select.dataset.active };
  }

  named() {
    $("[data-name]", this.section).textContent = this.backend.name;
  }

  async ask(said, wishes) {
    const turn = el("article", { class: "turn" },
      el("section", { class: "said user" }, el("p", { class: "who" }, "user"), said.map(asked)), el("section", { class: "said assistant" }));
    $("[data-empty]", this.section)?.remove();
    this.turns.append(turn);
    const answer = new Answer($(".assistant", turn));
    const before = this.last ? [{ id: this.last, role: "assistant", metadata: { turn: this.last }, parts: [] }] : [];
    const body = { id: this.id, messages: [...before, { id: crypto.randomUUID(), role: "user", parts: said }], backend: this.select.value, ...wishes };
    try {
      const response = await fetch("/api/chat", { method: "POST", headers: changing(), body: JSON.stringify(body) });
      if (!response.ok) throw new Problem(response.status, (await response.json().catch(() => ({}))).error ?? {});
      this.begun();
      for await (const part of parts(response)) answer.feed(part);
      await answer.end();
      if (!answer.failed) this.last = answer.metadata.turn;
      turn.append(el("p", { class: "turn-buttons" }, copier(() => answer.markdown, "Copy answer")));
    } catch (error) {
      answer.fail(error.text ?? "The connection broke. The answer goes on: open the chat to see it.");
    }
  }

  begun() {
    const link = $("[data-go-on]", this.section);
    link.href = path("chat", this.id);
    link.hidden = false;
  }

  stop() {
    return call("DELETE", path("api", "chat", this.id, "stream"));
  }
}

const sides = [new Side("left"), new Side("right")];

/** A file that one of them cannot take is told. */
const strictest = () => sides.map((side) => side.backend).find(({ images, documents }) => images !== "take" || documents !== "file") ?? sides[0].backend;
const files = new Attachments(form, Number(form.dataset.megabytes), strictest);

async function both(said) {
  const { model, effort, thinking, system } = form.elements;
  const wishes = { model: model.value, effort: effort.value, thinking: thinking.checked, system: system.value.trim() };
  send.disabled = true;
  stop.disabled = false;
  state.textContent = "Answering …";
  await Promise.all(sides.map((side) => side.ask(said, wishes)));
  send.disabled = false;
  stop.disabled = true;
  state.textContent = "";
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = words.value.trim();
  if (send.disabled || (!text && !files.files.length)) return;
  words.value = "";
  both([...files.take(), ...(text ? [{ type: "text", text }] : [])]);
});
words.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
stop.addEventListener("click", () => trying(() => Promise.all(sides.map((side) => side.stop()))));
for (const side of sides) side.select.addEventListener("change", () => files.show());
files.listen(form.elements.files, words, $("[data-chat]"));
words.disabled = send.disabled = false;
words.focus();
