// Files that go with a question: chosen, pasted or dropped. What the chosen backend cannot take is said before anything is sent.

import { $, el, fill } from "./dom.js";

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const PDF = "application/pdf";
const MEGABYTE = 1024 * 1024;
const BASE64 = 4 / 3; // a file is sent as base64, which takes a third more
const KINDS = "PNG, JPEG, GIF or WebP pictures, PDF, or text";

const size = (bytes) => (bytes < MEGABYTE ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / MEGABYTE).toFixed(1)} MB`);

function dataUrl(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(blob);
  });
}

/** The file as it is sent; null if models cannot take its kind. A file that is valid UTF-8 is a text, whatever it is called. */
async function read(file) {
  const name = file.name || "pasted picture";
  if (PICTURES.includes(file.type) || file.type === PDF) return { name, bytes: file.size, type: file.type, url: await dataUrl(file) };
  const text = await file.text();
  if (text.includes("\0") || text.includes("\ufffd")) return null;
  return { name, bytes: file.size, type: "text/plain", url: await dataUrl(new Blob([text], { type: "text/plain" })) };
}

export class Attachments {
  /** `place` is the list in the composer; `most` is how many megabytes a question may have; `backend` gives the chosen option. */
  constructor(place, most, backend) {
    Object.assign(this, { place, most, backend, files: [], refused: [] });
    this.list = $("[data-files]", place);
    this.note = $("[data-files-note]", place);
  }

  /** Take files from a file input, the clipboard and a drag onto `target`. */
  listen(input, field, target) {
    input.addEventListener("change", () => { this.add(input.files); input.value = ""; });
    field.addEventListener("paste", (event) => {
      if (!event.clipboardData.files.length) return;
      event.preventDefault();
      this.add(event.clipboardData.files);
    });
    const over = (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      target.classList.add("dropping");
    };
    target.addEventListener("dragenter", over);
    target.addEventListener("dragover", over);
    target.addEventListener("dragleave", (event) => target.contains(event.relatedTarget) || target.classList.remove("dropping"));
    target.addEventListener("drop", (event) => {
      target.classList.remove("dropping");
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      this.add(event.dataTransfer.files);
    });
  }

  async add(files) {
    this.refused = [];
    for (const file of [...files]) {
      const total = this.files.reduce((sum, each) => sum + each.bytes, file.size);
      if (total * BASE64 > this.most * MEGABYTE) {
        this.refused.push(`${file.name} (${size(file.size)}) does not fit: a question may have ${this.most} MB.`);
        continue;
      }
      const made = await read(file).catch(() => undefined);
      if (made) this.files.push(made);
      else if (made === null) this.refused.push(`${file.name} cannot be sent. Models take ${KINDS}.`);
      else this.refused.push(`${file.name} cannot be read.`);
    }
    this.show();
  }

  remove(file) {
    this.files = this.files.filter((each) => each !== file);
    this.refused = [];
    this.show();
    $("textarea", this.place.closest("form")).focus();
  }

  /** What the chosen backend does with these files, in words; "" if it takes them all. */
  get warning() {
    const { images, documents, name } = this.backend();
    const says = (what, how) => (how === "refuse" ? `${name} does not take ${what}: it will refuse the question.` : `${name} does not take ${what}: the model is told that one was left out.`);
    const found = [];
    if (images !== "take" && this.files.some((file) => PICTURES.includes(file.type))) found.push(says("pictures", images));
    if (documents !== "file" && this.files.some((file) => file.type === PDF)) found.push(says("PDF files", documents));
    return found.join(" ");
  }

  show() {
    fill(this.list, this.files.map((file) => el("li", { class: "file" }, preview(file), el("span", {}, `${file.name} `), el("span", { class: "muted" }, size(file.bytes)),
      el("button", { type: "button", class: "quiet", "aria-label": `Remove ${file.name}`, on: { click: () => this.remove(file) } }, "×"))));
    this.list.hidden = !this.files.length;
    const words = [...this.refused, this.warning].filter(Boolean);
    fill(this.note, words.map((each) => el("span", {}, each, " ")));
    this.note.hidden = !words.length;
  }

  /** The files as parts of a message; the list is empty then. */
  take() {
    const parts = this.files.map(({ name, type, url }) => ({ type: "file", mediaType: type, filename: name, url }));
    this.files = [];
    this.refused = [];
    this.show();
    return parts;
  }

  /** Parts that were taken, and could not be sent. */
  putBack(parts) {
    this.files.push(...parts.map(({ filename, mediaType, url }) => ({ name: filename, type: mediaType, url, bytes: Math.round((url.length - url.indexOf(",")) / BASE64) })));
    this.show();
  }
}

const preview = ({ type, url, name }) => PICTURES.includes(type) && el("img", { src: url, alt: name, class: "thumb" });

/** A part of a question on the page: words, or a file. */
export function asked(part) {
  if (part.type === "text") return el("p", { class: "plain" }, part.text);
  if (PICTURES.includes(part.mediaType)) return el("p", {}, el("img", { src: part.url, alt: part.filename ?? "picture", class: "picture-sent" }));
  return el("p", { class: "fold closed muted" }, `(${part.filename ?? "file"})`);
}
