// Backends: the button that goes one round with a backend, and what was learnt. It costs some hundred tokens.

import { call } from "./api.js";
import { $$, $, el, fill } from "./dom.js";

const fact = (name, value) => (value ? [el("dt", {}, name), el("dd", {}, value)] : []);

function shown(trial) {
  const [mood, word] = trial.ok ? ["good", "works"] : trial.ok === false ? ["bad", "failed"] : ["warn", "not asked"];
  const learnt = trial.learned;
  const back = learnt && (learnt.back_in.length ? `${learnt.passed_back} in ${learnt.back_in.join(", ")}` : learnt.passed_back);
  const tokens = learnt && `${learnt.usage.input} in, ${learnt.usage.output} out`;
  return el("div", { class: `trial ${mood}` },
    el("p", {}, el("span", { class: `dot ${mood}` }), el("strong", {}, word), ` ${trial.says}`,
      trial.status ? el("span", { class: "muted" }, ` · ${trial.seconds.toFixed(1)} s`) : null),
    learnt && el("dl", { class: "facts" },
      fact("model", trial.model),
      fact("reasoning", learnt.reasoning.join(", ") || "none came"),
      fact("passed back", back),
      fact("tool", learnt.called ? `called; ids ${learnt.tool_ids}` : "not called"),
      fact("tokens", tokens),
      fact("also has", ["count_tokens", "models"].filter((name) => trial[name]).join(", "))));
}

async function test(button) {
  const name = button.dataset.test;
  const place = $$("[data-result]").find((each) => each.dataset.result === name);
  button.disabled = true;
  fill(place, el("p", { class: "muted" }, "Asking: it thinks, calls a tool, and gets the result…"));
  try {
    fill(place, shown(await call("POST", "/api/trials", { backend: name })));
  } catch (error) {
    fill(place, el("p", { class: "bad" }, error.text ?? String(error)));
  }
  button.disabled = false;
}

const buttons = $$("[data-test]");
for (const button of buttons) {
  button.hidden = false;
  button.addEventListener("click", () => test(button));
}
const all = $("#test-all");
all.hidden = buttons.length < 2;
all.addEventListener("click", async () => {
  all.disabled = true;
  for (const button of buttons) await test(button);
  all.disabled = false;
});
