// Doctor: asks for the checks, which may take a moment.

import { $, $$ } from "./dom.js";
import { fragment } from "./fragment.js";
import { trying } from "./notices.js";

const place = $("#checks");
const buttons = $$("[data-look]");

async function look(online) {
  for (const button of buttons) button.disabled = true;
  place.setAttribute("aria-busy", "true");
  await trying(async () => place.replaceChildren(await fragment(`/doctor/checks${online ? "?online=1" : ""}`)));
  place.setAttribute("aria-busy", "false");
  for (const button of buttons) button.disabled = false;
}

for (const button of buttons) {
  button.hidden = false;
  button.addEventListener("click", () => look(button.dataset.look === "online"));
}
look(false);
