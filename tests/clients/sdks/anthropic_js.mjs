// A tool conversation with @anthropic-ai/sdk, as its README shows it: stream, run the tools, send the whole message back.
// Standard input: {url, key, model, prompts}. Standard output: {answers, proofs, stops}.
import { execSync } from "node:child_process";
import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";

const { url, key, model, prompts } = JSON.parse(readFileSync(0, "utf8"));
const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
const tools = [
  {
    name: "run",
    description: "Run a shell command.",
    input_schema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
  },
];
const thinking = { type: "adaptive", display: "summarized" };
const messages = [];
const said = { answers: [], proofs: [], stops: [] };

async function answer() {
  const message = await client.messages.stream({ model, max_tokens: 4096, thinking, tools, messages }).finalMessage();
  messages.push({ role: "assistant", content: message.content });
  said.proofs.push(...message.content.map((block) => block.signature ?? block.data).filter(Boolean));
  said.stops.push(message.stop_reason);
  return message;
}

function result(block) {
  return { type: "tool_result", tool_use_id: block.id, content: execSync(block.input.command, { encoding: "utf8" }) };
}

for (const prompt of prompts) {
  messages.push({ role: "user", content: prompt });
  let message = await answer();
  while (message.stop_reason === "tool_use") {
    const calls = message.content.filter((block) => block.type === "tool_use");
    messages.push({ role: "user", content: calls.map(result) });
    message = await answer();
  }
  said.answers.push(message.content.filter((block) => block.type === "text").map((block) => block.text).join(""));
}
console.log(JSON.stringify(said));
