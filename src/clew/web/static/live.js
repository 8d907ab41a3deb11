// Live events (`/api/events`): the browser reconnects by itself and says which exchange it saw last, so nothing is missed.

import { el } from "./dom.js";

/**
 * Listen. `kinds` are functions by the event's name, called with its value. `state` is a place for a word on the connection.
 * An EventSource that is refused never tries again: that is a session which ended.
 */
export function live(kinds, state) {
  const source = new EventSource("/api/events");
  for (const [kind, heard] of Object.entries(kinds)) source.addEventListener(kind, (event) => heard(JSON.parse(event.data)));
  const told = (word, className) => state?.replaceChildren(el("span", { class: `dot ${className}` }), word);
  source.addEventListener("open", () => told("live", "good"));
  source.addEventListener("error", () =>
    source.readyState === EventSource.CLOSED ? told("the session ended: clew status gives a new link", "bad") : told("waiting for the gateway", "warn"));
  addEventListener("pagehide", () => source.close());
  return source;
}
