// The system prompt of each chat. The store does not keep it, so this browser does, for the last chats.

const KEY = "clew-systems";
const MOST = 50;

function all() {
  try {
    return new Map(JSON.parse(localStorage.getItem(KEY) ?? "[]"));
  } catch {
    return new Map();
  }
}

/** The system prompt that was last used in this chat; undefined if this browser does not know. */
export const systemOf = (chat) => all().get(chat);

export function keepSystem(chat, text) {
  const kept = all();
  kept.delete(chat);
  kept.set(chat, text);
  localStorage.setItem(KEY, JSON.stringify([...kept].slice(-MOST)));
}

export function dropSystem(chat) {
  const kept = all();
  kept.delete(chat);
  localStorage.setItem(KEY, JSON.stringify([...kept]));
}
