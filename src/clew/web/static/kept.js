// What this browser keeps for each chat: the store does not have it. The last chats stay, older ones go.

const MOST = 50;

/** `of` gives what was kept for a chat, undefined if nothing was; `keep` and `drop` change it. */
export function kept(key) {
  function all() {
    try {
      return new Map(JSON.parse(localStorage.getItem(key) ?? "[]"));
    } catch {
      return new Map();
    }
  }
  function write(chat, value) {
    const found = all();
    found.delete(chat);
    if (value !== undefined) found.set(chat, value);
    localStorage.setItem(key, JSON.stringify([...found].slice(-MOST)));
  }
  return { of: (chat) => all().get(chat), keep: write, drop: (chat) => write(chat) };
}

/** The system prompt that was last used in a chat. */
export const systems = kept("clew-systems");
/** The tools that may always be called in a chat. */
export const allowed = kept("clew-allowed");
