// A chat: ask, follow the answer, stop it, come back to it; ask again or in other words, which makes a branch.

import { Answer } from "./answer.js";
import { Approvals } from "./approvals.js";
import { Problem, call, changing } from "./api.js";
import { Attachments, asked } from "./attachments.js";
import { listed, manage } from "./chats.js";
import { copier, watch } from "./code.js";
import { $, $$, el, path } from "./dom.js";
import { fragment } from "./fragment.js";
import { systems } from "./kept.js";
import "./links.js";
import { notice, trying } from "./notices.js";
import { Broken, parts } from "./stream.js";

const chat = $("[data-chat]");
const turns = $("[data-turns]");
const form = $("[data-composer]");
const words = form.elements.words;
const send = $("[data-send]");
const stop = $("[data-stop]");
const state = $("[data-state]");
const newest = $("[data-newest]");

const TRIES = 5;
const LOST = { what: "your question did not reach the gateway", why: "the connection broke", next: "press Retry" };
let busy = false;

const parts_ = new WeakMap(); // what was asked in a turn of this visit, with its files
const answers = new WeakMap(); // what was answered in it

const backend = () => {
  const { images, documents } = form.elements.backend.selectedOptions[0].dataset;
  return { images, documents, name: form.elements.backend.value || form.elements.backend.dataset.active };
};
const files = new Attachments(form, Number(form.dataset.megabytes), backend);
const address = (...more) => path("api", "chat", chat.dataset.chat, ...more);
const last = () => $$("[data-turn]", turns).filter((turn) => turn.dataset.turn && !turn.dataset.vain).at(-1)?.dataset.turn ?? "";

// Asking

function wishes() {
  const { backend, model, effort, thinking, system } = form.elements;
  return { backend: backend.value, model: model.value, effort: effort.value, thinking: thinking.checked, system: system.value.trim(), ownTools: ownTools() };
}

const ownTools = () => form.elements.tools?.checked ?? false;

// Tools: a call that wants an approval is asked about below it. The answer goes on in a turn of its own, with the decisions.

let calls = new Map(); // of the last answers, by their ids
const approvals = new Approvals(() => chat.dataset.chat, (decisions) => trying(() => goOn(decisions)));

async function goOn(decisions) {
  const decided = last();
  words.focus(); // the button that had the focus is gone
  await post(begun(null, decided), { turn: decided, decisions, messages: [] }, "");
}

function asks(id, call) {
  approvals.ask(id, call.tool, call.fold, (word, mood) => Object.assign(call.state, { textContent: word, className: `chip ${mood}` }));
}

/** Calls of the gateway's own tools without a result, as the server drew them. */
function waitingCalls() {
  const tools = form.elements.tools?.dataset.tools.split(" ") ?? [];
  for (const fold of $$("[data-waits]", turns)) {
    const { waits: id, tool } = fold.dataset;
    if (tools.includes(tool)) calls.set(id, { tool, fold, state: $("summary > .chip", fold) });
  }
}

/** Calls of the newest answer that waited when the page was loaded. */
function askAgain() {
  waitingCalls();
  const turn = $$("[data-turn]", turns).at(-1);
  for (const [id, call] of calls) if (turn?.contains(call.fold)) asks(id, call);
  if (approvals.settle()) say("A tool waits for your decision.");
}

/** `after` is the turn that it follows; `again` says that it was asked before, there. */
async function ask(said, after, again = "") {
  approvals.drop();
  calls = new Map();
  const before = after ? [{ id: after, role: "assistant", metadata: { turn: after }, parts: [] }] : [];
  const turn = begun(said.map(asked), after);
  parts_.set(turn, said);
  await post(turn, {
    messages: [...before, { id: crypto.randomUUID(), role: "user", parts: said }],
    trigger: again === "retry" ? "regenerate-message" : "submit-message",
    ...(again ? { messageId: after || "first" } : {}),
  }, again);
}

/** The question of a turn once more, as the store has it: the page does not hold its files. */
async function repeat(old, shown) {
  approvals.drop();
  calls = new Map();
  const turn = begun(shown, old.dataset.after);
  await post(turn, { trigger: "regenerate-message", messageId: old.dataset.turn }, "retry");
}

async function post(turn, question, again) {
  const isNew = !chat.dataset.chat;
  chat.dataset.chat ||= crypto.randomUUID();
  systems.keep(chat.dataset.chat, form.elements.system.value);
  const body = { id: chat.dataset.chat, ...question, ...wishes() };
  await answered(turn, () => fetch("/api/chat", { method: "POST", headers: changing(), body: JSON.stringify(body) }));
  if (again && turn.dataset.turn) await branches(turn.dataset.turn);
  if (isNew) await listed(chat.dataset.chat);
  keepUp();
}

/** The turn on the page, before anything came. */
function begun(shown, after) {
  $("[data-empty]")?.remove();
  const number = Number(turns.dataset.first) + $$("[data-turn]", turns).length + 1;
  const turn = el("article", { class: "turn", "data-turn": "", "data-after": after, "data-row": true },
    el("h2", { class: "turn-head" }, el("span", { class: "muted" }, `Turn ${number}`), el("span", { class: "muted" }, new Date().toLocaleTimeString("en-GB"))),
    shown && el("section", { class: "said user" }, el("p", { class: "who" }, "user"), shown),
    el("section", { class: "said assistant" }));
  turns.append(turn);
  if (turns.childElementCount === 1 && !$("[data-thread-link]").href) entitle($(".plain", turn)?.textContent.slice(0, 80) || "Chat");
  end();
  return turn;
}

function entitle(title) {
  $("[data-title]").textContent = title;
  document.title = `${title} · clew`;
}

/** Follow the answer to its end. A connection that breaks is made again: the answer itself went on. */
async function answered(turn, asking) {
  working(true);
  const made = () => new Answer($(".assistant", turn), calls, asks);
  let answer = made();
  for (let tries = 0; ; tries++) {
    try {
      const response = await asking().catch(() => { throw new Broken("no connection"); });
      if (response.status === 204) { await kept(turn); break; }
      if (!response.ok) throw new Problem(response.status, (await response.json().catch(() => ({}))).error ?? {});
      if (tries) answer = made();
      await followed(turn, answer, response);
      break;
    } catch (error) {
      if (!(error instanceof Broken) || tries === TRIES) { failed(turn, answer, error); break; }
      say("The connection broke. Trying again …");
      await new Promise((resolve) => setTimeout(resolve, 250 * 2 ** tries));
      asking = () => fetch(address("stream"));
    }
  }
  keepUp();
  working(false);
}

async function followed(turn, answer, response) {
  say("Asking …");
  for await (const part of parts(response)) {
    answer.feed(part);
    if (answer.metadata.backend) say("Answering …");
    if (part.messageMetadata?.turn) named(turn, { ...answer.metadata, ...part.messageMetadata });
  }
  await answer.end();
  answers.set(turn, answer);
  if (answer.metadata.turn) named(turn, answer.metadata);
  if (answer.failed) turn.dataset.vain = "1";
  buttons(turn);
  say(answer.failed ? "The answer failed." : approvals.settle() ? "A tool waits for your decision." : "");
}

function named(turn, { thread, turn: id }) {
  turn.dataset.turn = id;
  chat.dataset.chat = thread;
  const label = $(".turn-head > :first-child", turn);
  label.replaceWith(el("a", { href: path("exchanges", id), title: "What happened to this request" }, label.textContent));
  history.replaceState(null, "", path("chat", thread));
  const link = $("[data-thread-link]");
  link.href = path("threads", thread);
  for (const each of $$("[data-with-chat]")) each.hidden = false;
}

function failed(turn, answer, error) {
  answer.fail(error.text ?? "The gateway does not answer. What you said may be kept: load the page again.");
  turn.dataset.vain = "1";
  buttons(turn);
  say("The answer failed.");
}

/** The answer ended while nobody listened: it is read from the store. A turn that was never named never arrived. */
async function kept(turn) {
  const id = turn.dataset.turn;
  if (!id) throw new Problem(0, LOST);
  const fresh = await fragment(`${path("chat", chat.dataset.chat)}?at=${encodeURIComponent(id)}&part=1`);
  const found = $(`[data-turn="${CSS.escape(id)}"]`, fresh);
  if (found) turn.replaceWith(found), buttons(found);
  say("");
}

// Other words, or once more

function buttons(turn) {
  $(".turn-buttons", turn)?.remove();
  const can = turn.dataset.after || begins(turn);
  const button = (label, click) => el("button", { type: "button", class: "quiet", on: { click } }, label);
  turn.append(el("p", { class: "turn-buttons" },
    $(".assistant > .prose", turn) && copier(() => answerText(turn), "Copy answer"),
    can && wordsOf(turn) && button("Edit", () => edit(turn)),
    can && $(".user", turn) && turn.dataset.turn + wordsOf(turn) && button("Retry", () => retry(turn))));
}

/** The question, if it is only words and files that this page holds: as parts in JSON, "" otherwise. */
const wordsOf = (turn) => turn.dataset.words || (parts_.has(turn) ? JSON.stringify(parts_.get(turn)) : "");

/** The answer as Markdown, as the model wrote it. */
async function answerText(turn) {
  if (answers.has(turn)) return answers.get(turn).markdown;
  const found = await call("GET", `${address()}?turn=${encodeURIComponent(turn.dataset.turn)}`);
  const said = found.messages.findLast((message) => message.role === "assistant")?.parts ?? [];
  return said.filter((part) => part.type === "text").map((part) => part.text).join("\n\n");
}

/** A turn whose question the page does not hold is asked again by its id; one that never arrived is sent as it was. */
function retry(turn) {
  const said = wordsOf(turn);
  if (said) return again(turn, () => ask(JSON.parse(said), turn.dataset.after, "retry"));
  const shown = $$(".user > :not(.who)", turn).map((each) => each.cloneNode(true));
  return again(turn, () => repeat(turn, shown));
}

/** Whether nothing was answered before it. */
const begins = (turn) => $$("[data-turn]", turns).find((each) => each === turn || !each.dataset.vain) === turn;

/** From this turn on, the conversation goes another way; the old one stays in the thread. */
async function again(turn, work) {
  if (busy) return notice("An answer is under way: stop it first.", "bad");
  const following = $$("[data-turn]", turns);
  for (const each of following.slice(following.indexOf(turn))) each.remove();
  words.focus(); // what had the focus is gone
  await trying(work);
}

function edit(turn) {
  if ($(".edit", turn)) return $(".edit textarea", turn).focus();
  const section = $(".user", turn);
  const old = [...section.childNodes];
  const said = JSON.parse(wordsOf(turn));
  const kept = said.filter((part) => part.type !== "text");
  const text = said.filter((part) => part.type === "text").map((part) => part.text).join("\n\n");
  const field = el("textarea", { "aria-label": "Ask in other words", rows: 3 });
  field.value = text;
  const done = (event) => { event.preventDefault(); if (field.value.trim()) again(turn, () => ask([...kept, { type: "text", text: field.value }], turn.dataset.after, "edit")); };
  const leave = () => { section.replaceChildren(...old); words.focus(); };
  const form = el("form", { class: "edit", on: { submit: done } }, field,
    el("p", { class: "field" }, el("button", { class: "primary" }, "Ask this instead"),
      el("button", { type: "button", on: { click: leave } }, "Cancel")));
  sending(field, form);
  field.addEventListener("keydown", (event) => event.key === "Escape" && leave());
  section.replaceChildren(form);
  field.focus();
}

/** The server knows which branches there are now. */
async function branches(id) {
  const fresh = await fragment(`${path("chat", chat.dataset.chat)}?at=${encodeURIComponent(id)}&part=1`).catch(() => null);
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

// The page

/** Enter sends, with Shift it makes a new line. */
function sending(field, form) {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

function working(now) {
  busy = now;
  stop.disabled = !now;
  send.disabled = now;
}

const say = (text) => (state.textContent = text);
const atEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
const end = () => scrollTo({ top: document.documentElement.scrollHeight });
let following = true;

addEventListener("scroll", () => { following = atEnd(); newest.hidden = following; }, { passive: true });
/** A reader who is at the end stays there. */
const keepUp = () => following && end();
addEventListener("grown", () => busy && keepUp());
newest.addEventListener("click", end);

stop.addEventListener("click", () => trying(() => call("DELETE", address("stream"))));

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = words.value.trim();
  if ((!text && !files.files.length) || busy) return;
  words.value = "";
  following = true;
  trying(() => ask([...files.take(), ...(text ? [{ type: "text", text }] : [])], last()));
});

sending(words, form);

/** An answer that was under way when the page was loaded goes on, if it belongs to the branch that is shown. */
async function resume() {
  const turn = $$("[data-turn]", turns).at(-1);
  const response = await fetch(address("stream")).catch(() => null);
  if (response?.status !== 200 || !turn) return askAgain();
  const place = await placeOf(response);
  // A page that names no turn shows the newest branch, where answers come. In any other the stream has to name the turn.
  if (new URLSearchParams(location.search).has("at") && !Object.values(place).includes(turn.dataset.turn)) {
    response.body.cancel();
    return say("Another answer of this chat is under way.");
  }
  waitingCalls();
  return answered(begunAt(place, turn), async () => response);
}

/** The turn that a stream begins with, or the one after which it goes on with the results of tools. */
async function placeOf(response) {
  for await (const { messageMetadata } of parts(response.clone())) {
    if (messageMetadata?.after) return { after: messageMetadata.after };
    if (messageMetadata?.turn) return { turn: messageMetadata.turn };
  }
  return {};
}

/** Where an answer is shown from its beginning again: the steps of it that were drawn already go. */
function begunAt({ turn, after }, newest) {
  const all = $$("[data-turn]", turns);
  const at = all.findIndex((each) => each.dataset.turn === (after ?? turn));
  if (at < 0) return newest;
  for (const each of all.slice(at + 1)) each.remove();
  return after ? begun(null, after) : all[at];
}

files.listen(form.elements.files, words, chat);
form.elements.backend.addEventListener("change", () => files.show());
form.elements.system.value = systems.of(chat.dataset.chat) ?? form.elements.system.value;
watch(turns);
manage(chat, entitle);
$$("[data-turn]", turns).forEach(buttons);
words.disabled = send.disabled = false;
words.focus();
if (chat.dataset.chat) {
  end();
  trying(resume);
}
