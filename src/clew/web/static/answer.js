// An answer while it comes: each part of the stream becomes what the templates would have made of it.

import { $, el, ticked } from "./dom.js";
import { Growing } from "./growing.js";

const COMPACTIONS = {
  summarising: "This chat became too long for the model. A summary is being written …",
  done: "This chat became too long for the model, and goes on from a summary. What was said before is kept, as a branch.",
  failed: "This chat became too long for the model, and there is no summary of it.",
};

export class Answer {
  /** `section` is the place of the answer in its turn; whatever was in it goes. */
  constructor(section, calls = new Map(), asks = () => {}) {
    this.section = section;
    this.open = new Map(); // what still grows, by its id
    this.calls = calls; // by their ids, also those of the answer that this one goes on with
    this.asks = asks; // called with a call that wants an approval
    this.ends = [];
    this.metadata = {};
    this.texts = [];
    this.failed = false;
    this.stopped = false;
    this.who = el("p", { class: "who" }, el("strong", {}, "…"));
    section.replaceChildren(this.who);
  }

  feed(part) {
    const [kind] = part.type.split(/-(?=start$|delta$|end$)/);
    if (kind === "reasoning") return this.reasoning(part);
    if (kind === "text") return this.text(part);
    if (part.type.startsWith("tool-")) return this.tool(part);
    if (part.type === "abort") this.stopped = true;
    if (part.messageMetadata) this.told(part.messageMetadata);
    if (part.type === "error") this.fail(part.errorText);
    if (part.type === "data-compaction") this.compaction(part.data.state);
    if (part.type === "data-block") this.section.append(el("p", { class: "fold closed muted" }, `(${part.data?.type ?? "block"})`));
  }

  /** The chat did not fit any more: one line says how far its summary is. */
  compaction(state) {
    this.compacted ??= this.section.appendChild(el("p", { class: "muted" }));
    this.compacted.textContent = COMPACTIONS[state] ?? "";
  }

  /** What the model wrote, without its thinking. */
  get markdown() {
    return this.texts.join("\n\n");
  }

  /** Everything is there: wait until the last of it is set. */
  async end() {
    for (const growing of this.open.values()) this.ends.push(growing.end());
    this.open.clear();
    this.fold();
    await Promise.all(this.ends);
  }

  // Thinking: open while it comes, folded when the answer begins; a reader who unfolds it keeps it so.

  reasoning(part) {
    if (part.type === "reasoning-start") {
      const count = el("span", { class: "muted" });
      const badge = el("span", { class: "chip accent origin" }, this.origin);
      const prose = el("div", { class: "prose" });
      const fold = el("details", { class: "fold thought coming", open: true }, el("summary", {}, "Thinking ", count, " ", badge), prose);
      fold.addEventListener("click", () => (fold.dataset.touched = "1"));
      this.section.append(fold);
      const growing = new Growing(prose, true);
      Object.assign(growing, { fold, count, redacted: Boolean(part.providerMetadata?.anthropic?.redactedData) });
      this.open.set(part.id, growing);
    } else if (part.type === "reasoning-delta") {
      this.open.get(part.id)?.add(part.delta);
    } else {
      this.thought(part.id);
    }
  }

  thought(id) {
    const growing = this.open.get(id);
    if (!growing) return;
    this.open.delete(id);
    growing.fold.classList.remove("coming");
    growing.count.textContent = `${growing.length.toLocaleString("en")} characters`;
    this.ends.push(growing.end());
    if (growing.length && !growing.redacted) return;
    const [said, chip] = growing.redacted ? ["encrypted by its maker", "redacted"] : ["its maker does not show the text", "hidden"];
    growing.fold.replaceWith(el("p", { class: "fold thought closed" }, "Thinking ", el("span", { class: "muted" }, said), " ",
      el("span", { class: growing.redacted ? "chip warn" : "chip" }, chip), " ", el("span", { class: "chip accent origin" }, this.origin)));
  }

  fold() {
    for (const fold of this.section.querySelectorAll("details.thought[open]:not([data-touched])")) fold.open = false;
  }

  // Words and calls

  text(part) {
    if (part.type === "text-start") {
      this.fold();
      const prose = el("div", { class: "prose" });
      this.section.append(prose);
      this.open.set(part.id, new Growing(prose));
      this.texts.push("");
    } else if (part.type === "text-delta") {
      this.texts.push(this.texts.pop() + part.delta);
      this.open.get(part.id)?.add(part.delta);
    } else {
      const growing = this.open.get(part.id);
      this.open.delete(part.id);
      if (growing) this.ends.push(growing.end());
    }
  }

  tool(part) {
    if (part.type === "tool-input-start") {
      this.fold();
      const call = { tool: part.toolName, input: el("pre", { tabindex: 0 }), state: el("span", { class: "chip" }, "called"), brief: el("span", { class: "muted brief" }) };
      call.fold = el("details", { class: "fold tool" },
        el("summary", {}, el("span", { class: "mono" }, part.toolName), " ", call.state, " ", call.brief), el("h3", {}, "Input"), call.input);
      this.calls.set(part.toolCallId, call);
      this.section.append(call.fold);
      return;
    }
    const call = this.calls.get(part.toolCallId);
    if (!call) return;
    if (part.type === "tool-input-delta") call.input.append(part.inputTextDelta);
    if (part.type === "tool-input-available") {
      call.input.textContent = JSON.stringify(part.input, null, 2);
      call.brief.textContent = JSON.stringify(part.input).slice(0, 120);
    }
    if (part.type === "tool-input-error") this.came(call, "Error", part.errorText, "failed", "bad");
    if (part.type === "tool-output-error") this.came(call, "Error", part.errorText, "failed", "bad");
    if (part.type === "tool-approval-request") this.asks(part.toolCallId, call);
    if (part.type === "tool-output-denied") this.came(call, "Denied", "You did not allow this call. The model was told.", "denied", "warn");
    if (part.type === "tool-output-available") this.came(call, "Result", written(part.output), "done", "good");
  }

  came(call, head, text, word, mood) {
    call.state.textContent = word;
    call.state.className = `chip ${mood}`;
    call.fold.append(el("h3", {}, head), el("pre", { tabindex: 0 }, text));
  }

  // Who it was, and what became of the thinking before

  get origin() {
    const { backend = "", model = "" } = this.metadata;
    return [backend, model].filter(Boolean).join(", ");
  }

  told(metadata) {
    Object.assign(this.metadata, metadata);
    const { backend, model, usage, cost, thinking } = this.metadata;
    this.who.replaceChildren(el("strong", {}, backend || "…"), " ", el("span", { class: "muted mono" }, model ?? ""), " ",
      el("span", { class: "chips" }, thinking ? chips(thinking) : [], this.stopped && el("span", { class: "chip warn" }, "stopped")), " ",
      el("span", { class: "muted small" }, usage ? tokens(usage) + price(cost) : ""));
    for (const badge of this.section.querySelectorAll(".origin")) badge.textContent = this.origin;
  }

  fail(text) {
    this.failed = true;
    if (!this.metadata.backend) this.who.replaceChildren(el("strong", {}, "No answer"));
    this.section.append(el("p", { class: "bad", role: "alert" }, ticked(text)));
  }
}

const written = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
const tokens = ({ output, estimated }) => `${estimated ? "≈ " : ""}${output.toLocaleString("en")} ${output === 1 ? "token" : "tokens"}`;
const price = (cost) => (cost ? `, ${cost.estimated ? "≈ " : ""}${dollars(cost.usd)}` : "");

/** As the server shows them (`shown.usd`). */
function dollars(amount) {
  if (amount > 0 && amount < 0.00005) return "<$0.0001";
  if (amount && amount < 0.99995) return `$${amount.toFixed(4)}`;
  return `$${amount.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

const THINKING = ["thinking", "heal"]; // steps that decide about blocks
const NAMED = ["restored", "handed over", "left out", "healed"];
const MOST_REASONS = 8;
let chipsMade = 0;

/** As the server makes them (`web/rows`): what became of the thinking; then whatever else was changed, as one. */
function chips({ kept, changes }) {
  const about = ({ step, what }) => THINKING.includes(step) && NAMED.includes(what);
  const made = kept ? [chip("kept", `${kept} kept`, ["went on as the client sent them"])] : [];
  for (const what of NAMED) {
    const some = changes.filter((change) => about(change) && change.what === what);
    if (some.length) made.push(chip(what.replaceAll(" ", "-"), `${countOf(some)} ${what}`, some.map(({ why }) => why)));
  }
  const others = changes.filter((change) => !about(change));
  const edits = others.map(({ what, path, why }) => `${what} ${path}: ${why}`);
  const count = countOf(others);
  return count ? [...made, chip("", `${count} ${count === 1 ? "edit" : "edits"}`, edits)] : made;
}

/** Where there are very many, those at the end are told together, with how many they are. */
const countOf = (changes) => changes.reduce((sum, { count = 1 }) => sum + count, 0);

/** Its reasons, each once, for pointer, keyboard and screen reader. */
function chip(kind, label, reasons) {
  const each = [...new Set(reasons)].slice(0, MOST_REASONS);
  const id = `why-${++chipsMade}`;
  const means = kind && $("[data-chat]").getAttribute(`data-means-${kind}`);
  return el("span", { class: "tip" }, el("span", { class: `chip ${kind}`, tabindex: 0, "aria-describedby": id }, label),
    el("span", { class: "tip-text", role: "tooltip", id }, each.map((reason) => el("span", {}, reason)), means && el("span", { class: "muted" }, means)));
}
