// The guided start: the line for the chosen client, a switch of the backend, and the first request when it arrives.

import { call } from "./api.js";
import { $, $$, el, fill, path } from "./dom.js";
import { live } from "./live.js";
import { notice, trying } from "./notices.js";

for (const choice of $$('[name="client"]')) {
  choice.addEventListener("change", () => {
    for (const guide of $$("[data-guide]")) guide.hidden = guide.dataset.guide !== choice.value;
  });
}
for (const choice of $$('[name="backend"]')) {
  choice.addEventListener("change", () => trying(async () => {
    await call("POST", "/api/use", { backend: choice.value });
    $(".active-backend").textContent = choice.value;
    notice(`${choice.value} answers from now on`);
  }));
}

/** Only what ends while this page is open counts: nothing of an earlier visit. */
function arrived(exchange) {
  if (!exchange || exchange.outcome === "open" || exchange.kind !== "messages") return;
  const worked = exchange.outcome === "whole";
  const how = worked ? `${exchange.backend} answered with ${exchange.model}` : `${exchange.backend || "No backend"} did not answer (${exchange.status})`;
  $("[data-waiting]").hidden = true;
  fill($("[data-arrived]"),
    el("p", {}, el("span", { class: `dot ${worked ? "good" : "bad"}` }), el("strong", {}, worked ? "It works. " : "It arrived, but failed. "), `${how}. The client asked for ${exchange.asked_model}.`),
    el("p", { class: "field" }, el("a", { class: "button", href: path("exchanges", exchange.id) }, "What happened to this request"),
      exchange.thread && el("a", { class: "button", href: path("threads", exchange.thread) }, "Read the thread"), el("a", { class: "button", href: "/" }, "Now: watch and switch")));
}

live({ exchange: arrived }, $("[data-live]"));
