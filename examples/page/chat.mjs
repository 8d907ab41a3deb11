// A chat with `clew serve`, without any library: ask, show what comes as it comes, stop, come back after a lost connection.
// In a page: `import { Chat } from "./chat.mjs"`. In a shell: `node chat.mjs URL KEY "What is new?"`.

export class Chat {
  constructor({ url, key, id = crypto.randomUUID(), ...wishes }) {
    this.api = `${url}/api/chat`;
    this.id = id;
    this.wishes = wishes; // model, backend, effort, thinking, tools …
    this.headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  }

  // Say something. `show` is told of each part of the answer.
  async say(text, show) {
    const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
    const body = JSON.stringify({ ...this.wishes, id: this.id, message });
    const answer = await fetch(this.api, { method: "POST", headers: this.headers, body });
    await this.hear(answer, show);
  }

  // The answer that comes now, from its beginning on. False if there is none.
  async resume(show) {
    const answer = await fetch(`${this.api}/${this.id}/stream`, { headers: this.headers });
    if (answer.status === 204) return false;
    await this.hear(answer, show);
    return true;
  }

  async stop() {
    await fetch(`${this.api}/${this.id}/stream`, { method: "DELETE", headers: this.headers });
  }

  // All of it, as UI messages: [{ id, role, parts, metadata }].
  async read() {
    const answer = await fetch(`${this.api}/${this.id}`, { headers: this.headers });
    return answer.ok ? (await answer.json()).messages : [];
  }

  async hear(answer, show) {
    if (!answer.ok) {
      const { error } = await answer.json();
      throw new Error([error.what, error.why, error.next].filter(Boolean).join("; "));
    }
    let rest = "";
    for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
      const frames = (rest + text).split("\n\n");
      rest = frames.pop();
      for (const frame of frames) {
        if (frame.startsWith("data: {")) show(JSON.parse(frame.slice(6)));
      }
    }
  }
}

const inShell = typeof process === "object" && process.argv[1] && import.meta.url.endsWith(process.argv[1].split("/").pop());

if (inShell) {
  const [url, key, ...words] = process.argv.slice(2);
  const chat = new Chat({ url, key, model: process.env.CHAT_MODEL });
  await chat.say(words.join(" "), (part) => {
    if (part.type === "reasoning-delta") process.stderr.write(part.delta);
    if (part.type === "reasoning-end") process.stderr.write("\n");
    if (part.type === "text-delta") process.stdout.write(part.delta);
    if (part.type === "error") process.stderr.write(`${part.errorText}\n`);
  });
  process.stdout.write("\n");
}
