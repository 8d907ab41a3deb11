// Live events (`/api/events`): the browser reconnects by itself and says which exchange it saw last, so nothing is missed.
// A page that nobody sees lets go of its connection: a browser has six for all tabs of a host, and the seventh would wait.

import { el } from "./dom.js";

/**
 * Listen. `kinds` are functions by the event's name, called with its value; and once without one whenever the page listens
 * again, since something may have happened meanwhile. `state` is a place for a word on the connection.
 */
export function live(kinds, state) {
  let source = null;
  let opened = false;
  /** While nothing is heard, the page must not look as if all were well: `stale` greys what it last knew. */
  function told(word, className) {
    document.body.classList.toggle("stale", className !== "good");
    state?.replaceChildren(el("span", { class: `dot ${className}` }), word);
  }

  function open() {
    told("live", "good");
    if (opened) for (const heard of Object.values(kinds)) heard();
    opened = true;
  }
  /** An EventSource that is refused never tries again: that is a session which ended. */
  function trouble() {
    if (source?.readyState === EventSource.CLOSED) told("the session ended: clew ui gives a new link", "bad");
    else told("waiting for the gateway", "warn");
  }
  function begin() {
    const whose = new URLSearchParams(location.search).get("principal");
    source = new EventSource(whose ? `/api/events?principal=${encodeURIComponent(whose)}` : "/api/events");
    for (const [kind, heard] of Object.entries(kinds)) source.addEventListener(kind, (event) => heard(JSON.parse(event.data)));
    source.addEventListener("open", open);
    source.addEventListener("error", trouble);
  }
  function end() {
    source?.close();
    source = null;
    told("paused", "");
  }

  begin();
  document.addEventListener("visibilitychange", () => (document.hidden ? end() : source || begin()));
  addEventListener("pagehide", end);
  addEventListener("pageshow", (event) => event.persisted && !source && begin());
}
