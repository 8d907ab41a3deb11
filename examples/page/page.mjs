// The page: one paragraph for each part of an answer. Everything is put in as text, so nothing that a model says can do harm.
import { Chat } from "./chat.mjs";

const field = (id) => document.getElementById(id);
let chat;

function paragraph(kind, text = "") {
  const shown = document.createElement("p");
  shown.className = kind;
  shown.textContent = text;
  field("said").append(shown);
  return shown;
}

function showing() {
  const open = new Map();
  return (part) => {
    const [kind, what] = part.type.split("-");
    if (what === "start" && part.id) open.set(part.id, paragraph(kind));
    if (what === "delta" && part.id) open.get(part.id).textContent += part.delta;
    if (part.type === "error") paragraph("error", part.errorText);
    if (part.type === "abort") paragraph("error", "Stopped.");
  };
}

field("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  chat ??= new Chat({ url: field("url").value, key: field("key").value });
  const words = field("words").value;
  field("words").value = "";
  paragraph("user", words);
  try {
    await chat.say(words, showing());
  } catch (error) {
    const back = error instanceof TypeError && (await chat.resume(showing()).catch(() => false));
    if (!back) paragraph("error", error.message);
  }
});
field("stop").addEventListener("click", () => chat?.stop());
