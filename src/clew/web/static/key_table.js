// Keys: a new one, other rights or a new secret for one, and the end of one. A key is shown once, when it is made.

import { call } from "./api.js";
import { copier } from "./code.js";
import { asked, openers } from "./dialogs.js";
import { $, $$, el, fill, path } from "./dom.js";
import { fragment } from "./fragment.js";
import { notice, trying } from "./notices.js";

const made = $("[data-made]");

const behind = ({ followed }) => (followed.behind ?? []).map(({ gateway, pid, why }) => `Gateway ${gateway} (pid ${pid}) does not know it yet: ${why}.`);

const shown = (label, text) => el("p", {}, label, el("span", { class: "field" }, el("code", { class: "address", tabindex: 0 }, text), copier(() => text)));

/** The lines for the client of the person who gets the key. */
function lines(key, scopes) {
  const { address, local } = made.dataset;
  if (!scopes.includes("inference") || !address) return [];
  return [shown("For Claude Code and Anthropic's SDKs:", `export ANTHROPIC_BASE_URL=${address} ANTHROPIC_AUTH_TOKEN=${key}`),
    shown("For Codex and OpenAI's SDKs:", `export OPENAI_BASE_URL=${address}/v1 OPENAI_API_KEY=${key}`),
    local !== undefined && el("p", { class: "muted small" }, "This gateway listens on this machine only. For other machines, start it with ", el("code", {}, "clew serve --host"), ", and use its address in these lines.")];
}

function show(told) {
  fill(made, el("h2", {}, `The key of ${told.row.name}`), el("p", {}, "Copy it now. It is not shown again."), shown("", told.key),
    ...behind(told).map((each) => el("p", { class: "bad" }, each)), ...lines(told.key, told.row.scopes));
  made.hidden = false;
  made.scrollIntoView({ block: "nearest" });
}

/** The rows as they are now. */
async function renew() {
  const rows = $(".key-list tbody");
  rows.replaceChildren(await fragment("/keys/rows"));
  $("[data-table]").hidden = !rows.childElementCount;
  $("[data-none]").hidden = Boolean(rows.childElementCount);
  ready();
}

/** A form in a dialog: what it does when it is sent, and how it is opened. A problem is shown in it. */
function dialogOf(name, send) {
  const dialog = document.getElementById(`${name}-key`);
  const form = $("form", dialog);
  const problem = $("[data-problem]", form);
  $("[data-cancel]", form).addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.hidden = true;
    try {
      const told = await send(form.elements, dialog.dataset.key);
      dialog.close();
      form.reset();
      await renew();
      if (told.key) show(told);
      else [`The key ${told.row.name} is changed`, ...behind(told)].forEach((each, at) => notice(each, at ? "bad" : ""));
    } catch (error) {
      problem.textContent = error.text ?? String(error);
      problem.hidden = false;
    }
  });
  return (key, values = {}) => {
    dialog.dataset.key = key;
    problem.hidden = true;
    $("[data-name]", dialog).textContent = key;
    for (const [field, value] of Object.entries(values)) form.elements[field].value = value;
    return dialog.showModal();
  };
}

/** What a key may do, as the forms say it. An empty field is no limit. */
function rights({ team, models, backends, expires, scopes }) {
  const chosen = [...scopes].filter((each) => each.checked).map((each) => each.value);
  return { team: team.value.trim(), models: models.value.trim() || "all", backends: backends.value.trim() || "all", scopes: chosen.join(",") || "none", expires: expires.value.trim() || "never" };
}

dialogOf("new", (fields) => call("POST", "/api/keys", { name: fields.name.value, principal: fields.principal.value, ...rights(fields) }));
const openEdit = dialogOf("edit", (fields, key) => {
  const { expires, ...rest } = rights(fields);
  return call("PATCH", path("api", "keys", key), fields.expires.value === fields.expires.defaultValue ? rest : { ...rest, expires });
});
const openRenew = dialogOf("renew", (fields, key) => call("POST", path("api", "keys", key, "rotate"), { overlap: fields.overlap.value }));

function edit(key, row) {
  const form = $("[data-edit-key]");
  form.elements.expires.defaultValue = row.expires.slice(0, 10); // an end that is not touched stays as it is, to the second
  for (const each of form.elements.scopes) each.checked = row.scopes.split(",").includes(each.value);
  openEdit(key, { team: row.team, models: row.models, backends: row.backends, expires: row.expires.slice(0, 10) });
}

async function revoke(name, children) {
  const words = el("p", {}, "It stops working at once", Number(children) ? `, and so do the ${children === "1" ? "key" : `${children} keys`} made from it` : "", ". What was recorded with it is kept.");
  if (!(await asked(`Revoke the key ${name}?`, words, "Revoke", { destroys: true }))) return;
  await call("DELETE", path("api", "keys", name));
  notice(`Key ${name} is revoked`);
  await renew();
}

function ready() {
  for (const button of $$("[data-edit], [data-rotate], [data-revoke]")) button.hidden = false;
}

$("[data-table]").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { edit: edited, rotate, revoke: revoked, children } = button.dataset;
  if (edited !== undefined) edit(edited, button.closest("tr").dataset);
  else if (rotate !== undefined) openRenew(rotate);
  else if (revoked !== undefined) trying(() => revoke(revoked, children));
});
openers();
ready();
