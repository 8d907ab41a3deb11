// A text that grows. What is finished of it becomes Markdown, set and cleaned by the server; the open end stays plain text in
// the same place and of the same measure, so nothing jumps. However fast it comes, the page is painted once a frame.

import { changing } from "./api.js";
import { el } from "./dom.js";
import { fragment } from "./fragment.js";

const PAUSE = 200; // milliseconds between two questions to the server
const MOST = 20000; // characters of an open end; a longer one stays plain
const LINES = /\r\n?|\n/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

const unpainted = new Set();
let planned = false;

const grown = () => dispatchEvent(new Event("grown"));

function paintAll() {
  planned = false;
  for (const each of unpainted) each.paint();
  unpainted.clear();
  grown();
}

function soon(each) {
  unpainted.add(each);
  if (planned) return;
  planned = true;
  if (document.hidden) setTimeout(paintAll, PAUSE);
  else requestAnimationFrame(paintAll);
}

/** Plain text cut where paragraphs and fenced code end: not set, but as tall as it will be. */
function pieces(text) {
  const found = [];
  let piece = null;
  let fence = "";
  for (const line of text.split(LINES)) {
    const mark = FENCE.exec(line)?.[1] ?? "";
    if (fence ? mark.startsWith(fence) : mark) {
      fence = fence ? "" : mark;
      piece = null;
      if (fence) found.push((piece = { tag: "pre", lines: [] }));
    } else if (!fence && !line.trim()) {
      piece = null;
    } else {
      if (!piece) found.push((piece = { tag: "p", lines: [] }));
      piece.lines.push(line);
    }
  }
  return found;
}

export class Growing {
  /** Grows at the end of this element, which may be small and scrolled to its end. */
  constructor(place, scrolls = false) {
    this.place = place;
    this.scrolls = scrolls;
    this.length = 0;
    this.rest = ""; // what is not set yet
    this.coming = ""; // what is not painted yet
    this.open = []; // the elements that hold the rest
    this.asking = null;
    this.asked = 0;
    this.over = false;
  }

  add(text) {
    this.coming += text;
    this.length += text.length;
    soon(this);
  }

  paint() {
    const coming = this.coming;
    this.coming = "";
    this.rest += coming;
    this.show();
    if (this.scrolls) this.place.scrollTop = this.place.scrollHeight;
    if (coming.includes("\n")) this.wish();
  }

  /** The rest as it stands. Elements that fit are kept, and only what changed in them is written. */
  show() {
    const wanted = this.rest.length > MOST ? [{ tag: "p", lines: [this.rest] }] : pieces(this.rest);
    for (const extra of this.open.splice(wanted.length)) extra.remove();
    wanted.forEach(({ tag, lines }, index) => {
      const text = lines.join("\n");
      let element = this.open[index];
      if (element?.localName !== tag) {
        const made = el(tag, { class: "open" });
        if (element) element.replaceWith(made);
        else this.place.append(made);
        element = this.open[index] = made;
      }
      if (element.textContent !== text) element.textContent = text;
    });
  }

  /** Ask which blocks are finished, now or in a moment; never twice at a time. */
  wish() {
    if (this.asking || this.over || this.rest.length > MOST) return;
    const wait = Math.max(0, this.asked + PAUSE - performance.now());
    this.asking = new Promise((resolve) => setTimeout(resolve, wait)).then(() => this.settle(true)).finally(() => {
      this.asking = null;
      this.asked = performance.now();
    });
  }

  /** No more comes: set the rest. */
  async end() {
    this.over = true;
    this.paint();
    await this.asking;
    if (this.rest.trim() && this.rest.length <= MOST) await this.settle(false);
  }

  async settle(open) {
    const asked = { text: this.rest, open };
    const set = await fragment("/api/markdown", { method: "POST", headers: changing(), body: JSON.stringify(asked) }).catch(() => null);
    const block = set?.firstElementChild;
    if (!block) return; // it stays plain text
    const lines = Number(block.dataset.lines);
    if (open && !lines) return;
    this.place.insertBefore(set, this.open[0] ?? null);
    block.replaceWith(...block.childNodes);
    this.rest = open ? this.rest.split(LINES).slice(lines).join("\n") : "";
    const gone = Math.max(0, this.open.length - pieces(this.rest).length); // the first ones; the others stay where they are
    for (const done of this.open.splice(0, gone)) done.remove();
    this.show();
    grown();
  }
}
