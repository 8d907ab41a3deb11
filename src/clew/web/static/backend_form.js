// Backends: one dialog that adds, edits and removes. The change to the settings file is shown before it is written.

import { call } from "./api.js";
import { $, $$, el, fill, path } from "./dom.js";
import { notice } from "./notices.js";

const dialog = $("#backend");
const form = $("[data-backend-form]");
const fields = form.elements;
const [plain, preview, problem, next, back] = ["fields", "preview", "problem", "next", "back"].map((name) => $(`[data-${name}]`, form));
const NAMES = ["preset", "url", "dialect", "model", "auth"];
const HEADS = { add: () => "Add a backend", edit: (name) => `Edit ${name}`, remove: (name) => `Remove ${name}?` };

let action = "add";
let name = "";
let before = {};
let seen = null; // the preview that is shown

function edit() {
  const given = Object.fromEntries(NAMES.map((each) => [each, fields[each].value.trim()]).filter(([each, value]) => value !== (before[each] ?? "")));
  const source = fields.source.value;
  if (source === "variable") given.key = `\${${fields.variable.value.trim()}}`;
  const secret = source === "secret" ? fields.secret.value.trim() : "";
  return { action, name: action === "add" ? fields.name.value.trim() : name, ...(action === "remove" ? {} : { fields: given, secret }) };
}

function tell(error) {
  problem.textContent = error ? (error.text ?? String(error)) : "";
  problem.hidden = !error;
}

function stage(shown) {
  seen = shown;
  plain.hidden = Boolean(shown) || action === "remove";
  preview.hidden = !shown;
  back.hidden = !shown || action === "remove";
  next.textContent = shown ? (action === "remove" ? "Remove it" : "Write it") : "Show the change";
  next.className = action === "remove" ? "danger" : "primary";
  if (!shown) return;
  $("[data-file]", form).textContent = shown.file;
  const tag = { "+": "ins", "-": "del" };
  fill($("[data-diff]", form), shown.diff.map((line) => el(tag[line[0]] ?? "span", line[0] === "@" ? { class: "fold" } : {}, line[0] === "@" ? line : line.slice(1) || " ")));
}

async function open(wanted, of = "") {
  [action, name, before] = [wanted, of, {}];
  form.reset();
  tell(null);
  $("h2", dialog).textContent = HEADS[action](name);
  $("[data-named]", form).hidden = action !== "add";
  fields.name.required = action === "add";
  stage(null);
  source();
  usual();
  try {
    if (action === "edit") {
      before = (await call("GET", path("api", "backends", name))).fields;
      for (const each of NAMES) fields[each].value = before[each];
      usual();
      if (/^\$\{\w+\}$/.test(before.key)) fields.variable.value = before.key.slice(2, -1);
    }
    dialog.showModal();
    if (action === "remove") stage(await call("POST", "/api/backends/preview", edit()));
  } catch (error) {
    tell(error);
    if (!dialog.open) dialog.showModal();
  }
}

async function go() {
  next.disabled = true;
  tell(null);
  try {
    if (!seen) stage(await call("POST", "/api/backends/preview", edit()));
    else await write();
  } catch (error) {
    tell(error);
  }
  next.disabled = false;
}

async function write() {
  const wanted = edit();
  const { followed } = await call("POST", "/api/backends/apply", { ...wanted, digest: seen.digest });
  for (const { gateway, pid, why, fix } of followed.behind) notice(`Gateway ${gateway} (pid ${pid}) has not applied it: ${why}. To fix it: ${fix}.`, "bad");
  if (followed.behind.length) return dialog.close();
  location.hash = action === "remove" ? "" : wanted.name;
  location.reload();
}

/** What is said about empty fields: a vendor that is known has usual values. */
function usual() {
  fields.url.placeholder = fields.preset.value ? "the vendor's usual one" : "the base URL of its API";
  for (const each of [fields.dialect, fields.auth]) each.options[0].textContent = fields.preset.value ? "the vendor's usual one" : "the usual one";
  fields.source.options[0].textContent = action === "edit" ? "do not change it" : fields.preset.value ? "in the vendor's usual variable" : "none";
}

function source() {
  for (const each of $$("[data-source]", form)) each.hidden = each.dataset.source !== fields.source.value;
}

form.addEventListener("submit", (event) => { event.preventDefault(); go(); });
fields.source.addEventListener("change", source);
fields.preset.addEventListener("change", () => {
  if (action === "add" && !fields.name.value) fields.name.value = fields.preset.value;
  usual();
});
back.addEventListener("click", () => stage(null));
$("[data-cancel]", form).addEventListener("click", () => dialog.close());
for (const button of $$("[data-add], [data-edit], [data-remove]")) {
  const { edit: edited, remove: removed } = button.dataset;
  button.hidden = false;
  button.addEventListener("click", () => (edited !== undefined ? open("edit", edited) : removed !== undefined ? open("remove", removed) : open("add")));
}
