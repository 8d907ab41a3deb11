// Code in answers: colours, and a button that copies. The words of the code stay as they are; only spans are put around some.
//
// One list of patterns does for most languages. Each is tried at the place where the last match ended, and none can go
// back over what another one took, so the work grows with the length of the code.

import { $$, el, fill } from "./dom.js";
import { notice } from "./notices.js";

const MOST = 40000; // characters; longer code stays plain

const HASH = ["python", "py", "sh", "bash", "shell", "zsh", "console", "fish", "ruby", "rb", "yaml", "yml", "toml", "ini", "dockerfile", "docker", "make", "makefile", "r", "perl", "elixir", "nix", "hcl", "terraform", "conf", "powershell", "ps1"];
const DASHES = ["sql", "lua", "haskell", "hs", "ada", "elm"];
const MARKUP = ["html", "xml", "svg", "vue"];
const PLAIN = ["", "text", "txt", "plain", "output", "log", "markdown", "md", "csv"];
const WORDS = new Set(("abstract and as assert async await begin bool boolean break case catch char class const constexpr continue def default defer del delete do double done echo elif else elsif end enum " +
  "except explicit export extends extern false fi final finally float fn for foreach from func function global go goto if impl implements import in include init instanceof int interface internal is lambda let long loop " +
  "match mod module move mut namespace native new nil none nonlocal not null nullptr of operator or out override package pass private protected pub public raise readonly ref require return self short signed sizeof static " +
  "string struct super switch then this throw throws trait true try type typedef typename typeof undefined union unless unsafe unsigned until use using var virtual void volatile when where while with yield").split(" "));
const SQL = new Set("add all alter and as asc between by case column constraint create cross default delete desc distinct drop else end except exists false foreign from full group having in index inner insert into is join key left like limit not null offset on or order outer primary references right row select set table then true union unique update using values view when where with".split(" "));

const STRINGS = String.raw`(?<string>"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'|` + "`(?:[^`\\\\]|\\\\[^])*`?)";
const REST = String.raw`(?<number>\b(?:0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\w{0,4}\b)|(?<word>[A-Za-z_$][\w$]*)`;
const COMMENTS = { hash: String.raw`(?<comment>#[^\n]*)`, dashes: String.raw`(?<comment>--[^\n]*|/\*[^]*?(?:\*/|$))`, slashes: String.raw`(?<comment>//[^\n]*|/\*[^]*?(?:\*/|$))` };
const TAGS = /(?<comment><!--[^]*?(?:-->|$))|(?<word><\/?[\w:-]+|\/?>)|(?<string>"[^"\n]*"|'[^'\n]*')/g;
const DIFF = /^(?:(?<added>\+[^\n]*)|(?<removed>-[^\n]*)|(?<number>@@[^\n]*))$/gm;

function patterns(language) {
  if (language === "diff" || language === "patch") return DIFF;
  if (MARKUP.includes(language)) return TAGS;
  const comment = HASH.includes(language) ? COMMENTS.hash : DASHES.includes(language) ? COMMENTS.dashes : COMMENTS.slashes;
  return new RegExp(`${comment}|${STRINGS}|${REST}`, "g");
}

/** What a match is called in the stylesheet; "" for a word that is none of the language's own. */
function kind(groups, language, after) {
  const [name, text] = Object.entries(groups).find(([, found]) => found !== undefined);
  if (name !== "word" || MARKUP.includes(language)) return name;
  if (language === "sql") return SQL.has(text.toLowerCase()) ? "word" : "";
  if (language === "json") return ["true", "false", "null"].includes(text) ? "word" : "";
  return WORDS.has(text) ? "word" : after === "(" ? "called" : "";
}

/** Text and spans, in order. */
export function coloured(text, language) {
  const made = [];
  let at = 0;
  for (const found of text.matchAll(patterns(language))) {
    const end = found.index + found[0].length;
    const named = kind(found.groups, language, text[end]);
    if (!named) continue;
    made.push(text.slice(at, found.index), el("span", { class: `code-${named}` }, found[0]));
    at = end;
  }
  return [...made, text.slice(at)];
}

async function copy(text) {
  await navigator.clipboard.writeText(text);
  notice("Copied");
}

/** A button that copies what `text` gives. */
export const copier = (text, label = "Copy") => el("button", { type: "button", class: "quiet copier", on: { click: async () => copy(await text()) } }, label);

function dress(pre) {
  const code = pre.firstElementChild ?? pre;
  const language = (code.dataset.lang ?? "").toLowerCase();
  const text = code.textContent;
  if (!PLAIN.includes(language) && text.length <= MOST) fill(code, coloured(text, language));
  const holder = el("div", { class: "code" });
  pre.replaceWith(holder);
  holder.append(pre, copier(() => text));
}

const bare = (place) => $$(".prose pre:not(.open)", place).filter((pre) => !pre.closest(".code"));

/** All code in this place, now and whenever some is added. */
export function watch(place) {
  bare(place).forEach(dress);
  new MutationObserver(() => bare(place).forEach(dress)).observe(place, { childList: true, subtree: true });
}
