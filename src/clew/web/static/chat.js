// A chat: ask, follow the answer, stop it, come back to it.

import { Answer } from "./answer.js";
import { Approvals } from "./approvals.js";
import { AskingAgain, branches, drawn } from "./asking_again.js";
import { Problem, call, changing } from "./api.js";
import { Attachments, asked } from "./attachments.js";
import { address, all, begun, busy, chat, end, entitle, follow, form, keepUp, last, named, ready, say, sending, turns, words, working } from "./chat_page.js";
import { listed, manage } from "./chats.js";
import { watch } from "./code.js";
import { $, $$ } from "./dom.js";
import { systems } from "./kept.js";
import "./links.js";
import { notice, trying } from "./notices.js";
import { Broken, parts } from "./stream.js";

const TRIES = 5;
const CONFLICT = 409;
const LOST = { what: "your question did not reach the gateway", why: "the connection broke", next: "press Retry" };
const WENT_ON = "This chat went on in another window. What is new is shown here: read it, then send your question.";

const backend = () => {
  const { images, documents } = form.elements.backend.selectedOptions[0].dataset;
  return { images, documents, name: form.elements.backend.value || form.elements.backend.dataset.active };
};
const files = new Attachments(form, Number(form.dataset.megabytes), backend);
const askingAgain = new AskingAgain({ ask, repeat });

// Asking

function wishes() {
  const { backend, model, effort, thinking, system, tools } = form.elements;
  return { backend: backend.value, model: model.value, effort: effort.value, thinking: thinking.checked, system: system.value.trim(), ownTools: tools?.checked ?? false };
}

/** `after` is the turn that it follows; `again` says that it was asked before, there. */
async function ask(said, after, again = "") {
  newQuestion();
  const before = after ? [{ id: after, role: "assistant", metadata: { turn: after }, parts: [] }] : [];
  const turn = begun(said.map(asked), after);
  askingAgain.said.set(turn, said);
  await post(turn, {
    messages: [...before, { id: crypto.randomUUID(), role: "user", parts: said }],
    trigger: again === "retry" ? "regenerate-message" : "submit-message",
    branch: Boolean(again),
    ...(again ? { messageId: after || "first" } : {}),
  }, again);
}

/** The question of a turn once more, as the store has it: the page does not hold its files. */
async function repeat(old, shown) {
  newQuestion();
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

// Tools: a call that wants an approval is asked about below it. The answer goes on in a turn of its own, with the decisions.

let calls = new Map(); // of the last answers, by their ids
const approvals = new Approvals(() => chat.dataset.chat, (decisions) => trying(() => goOn(decisions)));

function newQuestion() {
  approvals.drop();
  calls = new Map();
}

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
  const turn = all().at(-1);
  for (const [id, call] of calls) if (turn?.contains(call.fold)) asks(id, call);
  if (approvals.settle()) say("A tool waits for your decision.");
}

// Answers

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
      if (error.status === CONFLICT && await wentOn(turn)) return;
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
  askingAgain.answers.set(turn, answer);
  if (answer.metadata.turn) named(turn, answer.metadata);
  if (answer.failed) turn.dataset.vain = "1";
  askingAgain.buttons(turn);
  say(answer.failed ? "The answer failed." : approvals.settle() ? "A tool waits for your decision." : "");
}

function failed(turn, answer, error) {
  answer.fail(error.text ?? "The gateway does not answer. Start it (`clew serve`), then load this page again: what you said may be kept.");
  turn.dataset.vain = "1";
  askingAgain.buttons(turn);
  say("The answer failed.");
}

/** The answer ended while nobody listened: it is read from the store. A turn that was never named never arrived. */
async function kept(turn) {
  const id = turn.dataset.turn;
  if (!id) throw new Problem(0, LOST);
  const found = $(`[data-turn="${CSS.escape(id)}"]`, await drawn(id));
  if (found) turn.replaceWith(found), askingAgain.buttons(found);
  say("");
}

/** Whether something was asked elsewhere meanwhile: then it is shown, and the question is given back. */
async function wentOn(turn) {
  const fresh = await drawn(turn.dataset.after).catch(() => null);
  const known = all().map((each) => each.dataset.turn);
  const found = fresh ? $$("[data-turn]", fresh) : [];
  if (found.every((each) => known.includes(each.dataset.turn))) return false;
  turns.replaceChildren(fresh);
  turns.dataset.first = Number(found[0].id.replace("turn-", "")) - 1;
  found.forEach((each) => askingAgain.buttons(each));
  working(false);
  giveBack(askingAgain.said.get(turn) ?? []);
  notice(WENT_ON, "bad");
  end();
  await resume();
  return true;
}

function giveBack(said) {
  const texts = said.filter((part) => part.type === "text").map((part) => part.text);
  words.value = [...texts, words.value].filter(Boolean).join("\n\n");
  files.putBack(said.filter((part) => part.type === "file"));
  words.focus();
}

// Coming back

/** An answer that was under way when the page was loaded goes on, if it belongs to the branch that is shown. */
async function resume() {
  const turn = all().at(-1);
  const response = await fetch(address("stream")).catch(() => null);
  if (response?.status === 204 && turn?.dataset.unfinished) await kept(turn); // it ended after the page was drawn
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
  const present = all();
  const at = present.findIndex((each) => each.dataset.turn === (after ?? turn));
  if (at < 0) return newest;
  for (const each of present.slice(at + 1)) each.remove();
  return after ? begun(null, after) : present[at];
}

// The page

$("[data-stop]").addEventListener("click", () => trying(() => call("DELETE", address("stream"))));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = words.value.trim();
  if ((!text && !files.files.length) || busy()) return;
  words.value = "";
  follow();
  trying(() => ask([...files.take(), ...(text ? [{ type: "text", text }] : [])], last()));
});
sending(words, form);
files.listen(form.elements.files, words, chat);
form.elements.backend.addEventListener("change", () => files.show());
form.elements.system.value = systems.of(chat.dataset.chat) ?? form.elements.system.value;
watch(turns);
manage(chat, entitle);
all().forEach((turn) => askingAgain.buttons(turn));
ready();
if (chat.dataset.chat) {
  end();
  trying(resume);
}
