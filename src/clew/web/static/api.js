// The admin's API from a page: JSON in and out, with the header that no other page can send.

const LEFT = { what: "this browser is not logged in any more", why: "its session ended, or the gateway was started again", next: "open the link that `clew ui` prints, then load this page again" };

/** What the admin refused: `message` is what, `why` and `next` say more. A page needs a session, whatever else others may show. */
export class Problem extends Error {
  constructor(status, given) {
    const said = status === 401 ? LEFT : given;
    super(said.what || `the gateway answered ${status}`);
    this.status = status;
    this.why = said.why || "";
    this.next = said.next || "";
  }
  /** In one sentence or three. */
  get text() {
    const said = [this.message, this.why, this.next && `What to do: ${this.next}`].filter(Boolean);
    return said.map((each) => each[0].toUpperCase() + each.slice(1)).join(". ") + ".";
  }
}

const csrf = () => document.querySelector('meta[name="clew-csrf"]')?.content ?? "";

/** The headers of whatever changes something. */
export const changing = () => ({ "content-type": "application/json", "x-clew-csrf": csrf() });

/** The answer as a value. Raises Problem. */
export async function call(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: method === "GET" ? {} : changing(),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Problem(0, { what: "the gateway does not answer", why: "it may have ended", next: "start it: `clew serve`" });
  }
  const value = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(response.status, value.error ?? {});
  return value;
}
