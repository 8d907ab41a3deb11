// Usage: another period or principal at once.

import { $$ } from "./dom.js";

for (const select of $$("[data-submit]")) select.addEventListener("change", () => select.form.submit());
