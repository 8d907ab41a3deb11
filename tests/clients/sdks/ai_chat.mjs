// A front end with the AI SDK's own Chat, without a page: it does what it is told, one line of JSON at a time.
// Standard input: {do, chat, …} per line. Standard output: {status, error, messages, chunks, finishes} for each.
import { createInterface } from "node:readline";
import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  readUIMessageStream,
  safeValidateUIMessages,
} from "ai";

const { api, headers, body, wait } = JSON.parse(process.argv[2]);

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => void (this.messages = [...this.messages, structuredClone(message)]);
  popMessage = () => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index, message) => void (this.messages = this.messages.with(index, structuredClone(message)));
  snapshot = (thing) => structuredClone(thing);
}

// The transport as it is, and a connection that breaks where it is told to.
class Transport extends DefaultChatTransport {
  chunks = [];
  breaksAfter = null;

  processResponseStream(stream) {
    const note = new TransformStream({
      transform: (chunk, controller) => {
        this.chunks.push(chunk);
        controller.enqueue(chunk);
        if (chunk.type === this.breaksAfter) {
          this.breaksAfter = null;
          controller.error(new TypeError("network error"));
        }
      },
    });
    return super.processResponseStream(stream).pipeThrough(note);
  }
}

class Front extends AbstractChat {
  constructor(id) {
    const transport = new Transport({ api, headers, body });
    const finishes = [];
    super({
      id,
      transport,
      state: new State(),
      onToolCall: ({ toolCall }) => {
        if (wait) return;
        const output = { of: toolCall.toolName, given: toolCall.input };
        this.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output });
      },
      onFinish: ({ isAbort, isDisconnect, isError, finishReason }) =>
        finishes.push({ isAbort, isDisconnect, isError, finishReason }),
      sendAutomaticallyWhen: (state) =>
        lastAssistantMessageIsCompleteWithToolCalls(state) || lastAssistantMessageIsCompleteWithApprovalResponses(state),
    });
    this.wire = transport;
    this.finishes = finishes;
  }
}

const fronts = new Map();
const front = (id) => fronts.get(id) ?? fronts.set(id, new Front(id)).get(id);

async function settled(chat) {
  while (chat.status === "submitted" || chat.status === "streaming") await new Promise((go) => setTimeout(go, 5));
}

const doing = {
  send: async (chat, { text, messageId, breaksAfter }) => {
    chat.wire.breaksAfter = breaksAfter ?? null;
    await chat.sendMessage({ text, messageId });
  },
  resume: (chat) => chat.resumeStream(),
  regenerate: (chat) => chat.regenerate(),
  approve: async (chat, { id, approved, reason }) => {
    await chat.addToolApprovalResponse({ id, approved, reason });
    while (!chat.finishes.length) await new Promise((go) => setTimeout(go, 5)); // it sends by itself, a moment later
  },
  load: async (chat, { messages }) => void (chat.messages = messages),
  look: async () => {},
  // Without a Chat: the transport and the reader alone.
  read: async (chat, { text }) => {
    const message = { id: "u1", role: "user", parts: [{ type: "text", text }] };
    const stream = await chat.wire.sendMessages({ chatId: chat.id, messages: [message], trigger: "submit-message" });
    for await (const seen of readUIMessageStream({ stream })) chat.state.messages = [message, seen];
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { do: what, chat: id, ...rest } = JSON.parse(line);
  const chat = front(id);
  chat.wire.chunks = [];
  chat.finishes.length = 0;
  await doing[what](chat, rest).catch((error) => (chat.state.error = error));
  await settled(chat);
  const valid = chat.messages.length ? await safeValidateUIMessages({ messages: chat.messages }) : { success: true };
  const { status, messages, finishes } = chat;
  const said = { status, error: chat.error?.message ?? null, messages, finishes, chunks: chat.wire.chunks };
  console.log(JSON.stringify({ ...said, invalid: valid.success ? null : String(valid.error) }));
}
