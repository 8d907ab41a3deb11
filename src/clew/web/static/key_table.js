// Keys: a new one, a new secret for one, and the end of one. A key is shown once, when it is made.

import { call } from "./api.js";
import { asked, openers } from "./dialogs.js";
import { $, $$, el, fill, path } from "./dom.js";
import { notice, trying } from "./notices.js";
import { copier } from "./code.js";

const made = $("[data-made]");

function show({ row, key, followed }) {
  fill(made, el("h2", {}, `The key of ${row.name}`), el("p", {}, "Copy it now. It is not shown again."),
    el("p", { class: "field" }, el("code", { class: "address", tabindex: 0 }, key), copier(() => key)),
    ...(followed.behind ?? []).map(({ gateway, pid, why }) => el("p", { class: "bad" }, `Gateway ${gateway} (pid ${pid}) does not know it yet: ${why}.`)),
    el("p", { class: "muted small" }, "A client sends it as x-api-key, as Bearer token or as x-clew-key."));
  made.hidden = false;
  made.scrollIntoView({ block: "nearest" });
}

openers();
const dialog = $("#new-key");
const form = $("[data-new-key]");
$("[data-cancel]", form).addEventListener("click", () => dialog.close());
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = $("[data-problem]", form);
  try {
    const told = await call("POST", "/api/keys", { name: form.elements.name.value, principal: form.elements.principal.value });
    dialog.close();
    form.reset();
    await renew();
    show(told);
  } catch (error) {
    problem.textContent = error.text ?? String(error);
    problem.hidden = false;
  }
});

/** The table as it is now; what was made stays on the page. */
async function renew() {
  const { keys } = await call("GET", "/api/keys");
  const table = $(".key-list tbody");
  const known = new Set($$("[data-rotate]").map((each) => each.dataset.rotate));
  for (const { name, principal, kid } of keys) if (!known.has(name)) table.append(row(name, principal, kid));
  for (const line of $$("tr", table)) {
    const found = keys.find(({ name }) => name === $("[data-rotate]", line).dataset.rotate);
    if (!found) line.remove();
    else $(".mono", line).textContent = found.kid;
  }
  $("[data-table]").hidden = !keys.length;
  $("[data-none]").hidden = Boolean(keys.length);
  listen();
}

const row = (name, principal, kid) => el("tr", { "data-row": true }, el("td", { class: "title" }, el("strong", {}, name)), el("td", {}, principal), el("td", { class: "mono" }, kid), el("td", { class: "number" }, "now"),
  el("td", { class: "number" }, el("button", { type: "button", "data-rotate": name, "aria-label": `Renew the key ${name}` }, "Renew"), " ",
    el("button", { type: "button", class: "danger", "data-revoke": name, "aria-label": `Revoke the key ${name}` }, "Revoke")));

async function rotate(name) {
  const words = el("p", {}, "The old key stops working at once. Conversations are kept.");
  if (!(await asked(`Renew the key ${name}?`, words, "Renew"))) return;
  const told = await call("POST", path("api", "keys", name, "rotate"), {});
  await renew();
  show(told);
}

async function revoke(name) {
  const words = el("p", {}, "It stops working at once. What was recorded with it is kept.");
  if (!(await asked(`Revoke the key ${name}?`, words, "Revoke"))) return;
  await call("DELETE", path("api", "keys", name));
  notice(`Key ${name} is revoked`);
  await renew();
}

function listen() {
  for (const button of $$("[data-rotate], [data-revoke]")) {
    button.hidden = false;
    button.onclick = () => trying(() => (button.dataset.rotate !== undefined ? rotate(button.dataset.rotate) : revoke(button.dataset.revoke)));
  }
}
listen();
