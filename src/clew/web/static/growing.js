// A text that grows. What is finished of it becomes Markdown, set and cleaned by the server; the open end stays plain text in
// the same place, so nothing jumps. However fast it comes, the page is painted once a frame.

import { changing } from "./api.js";
import { el } from "./dom.js";
import { fragment } from "./fragment.js";

const PAUSE = 200; // milliseconds between two questions to the server
const MOST = 20000; // characters of an open end; a longer one stays plain
const LINES = /\r\n?|\n/;

const unpainted = new Set();
let planned = false;

function paintAll() {
  planned = false;
  for (const each of unpainted) each.paint();
  unpainted.clear();
  dispatchEvent(new Event("grown"));
}

function soon(each) {
  unpainted.add(each);
  if (planned) return;
  planned = true;
  if (document.hidden) setTimeout(paintAll, PAUSE);
  else requestAnimationFrame(paintAll);
}

export class Growing {
  /** Grows at the end of this element. */
  constructor(place) {
    this.place = place;
    this.length = 0;
    this.rest = ""; // what is not set yet
    this.coming = ""; // what is not painted yet
    this.node = document.createTextNode("");
    this.open = el("p", { class: "plain open" }, this.node);
    this.asking = null;
    this.asked = 0;
    this.over = false;
    place.append(this.open);
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
    this.node.appendData(coming);
    if (coming.includes("\n")) this.wish();
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
    else if (!this.rest.trim()) this.open.remove();
  }

  async settle(open) {
    const asked = { text: this.rest, open };
    const set = await fragment("/api/markdown", { method: "POST", headers: changing(), body: JSON.stringify(asked) }).catch(() => null);
    const block = set?.firstElementChild;
    if (!block) return; // it stays plain text
    const lines = Number(block.dataset.lines);
    if (open && !lines) return;
    this.place.insertBefore(set, this.open);
    block.replaceWith(...block.childNodes);
    this.rest = open ? this.rest.split(LINES).slice(lines).join("\n") : "";
    this.node.data = this.rest;
    if (!open) this.open.remove();
  }
}
