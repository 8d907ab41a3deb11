// A tool conversation with `openai`, as its README shows it: stream, run the tools, send back what came.
// Standard input: {url, key, model, prompts, api}, where `api` is `chat` or `responses`. Standard output: {answers, proofs, stops}.
import { execSync } from "node:child_process";
import { readFileSync } from "node:fs";
import OpenAI from "openai";

const { url, key, model, prompts, api } = JSON.parse(readFileSync(0, "utf8"));
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
const tool = {
  name: "run",
  description: "Run a shell command.",
  parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
};
const said = { answers: [], proofs: [], stops: [] };
const run = (given) => execSync(JSON.parse(given).command, { encoding: "utf8" });

async function chat() {
  const messages = [];
  const tools = [{ type: "function", function: tool }];
  for (const prompt of prompts) {
    messages.push({ role: "user", content: prompt });
    for (;;) {
      const stream = client.chat.completions.stream({ model, messages, tools, reasoning_effort: "medium" });
      const [{ message, finish_reason }] = (await stream.finalChatCompletion()).choices;
      messages.push(message);
      said.stops.push(finish_reason);
      for (const call of message.tool_calls ?? [])
        messages.push({ role: "tool", tool_call_id: call.id, content: run(call.function.arguments) });
      if (finish_reason !== "tool_calls") break;
    }
    said.answers.push(messages.at(-1).content);
  }
}

async function responses() {
  const input = [];
  const options = { store: false, include: ["reasoning.encrypted_content"], reasoning: { effort: "medium", summary: "auto" } };
  for (const prompt of prompts) {
    input.push({ role: "user", content: prompt });
    let heard;
    for (;;) {
      const tools = [{ type: "function", strict: false, ...tool }];
      heard = await client.responses.stream({ model, input, tools, ...options }).finalResponse();
      input.push(...heard.output);
      said.stops.push(heard.status);
      said.proofs.push(...heard.output.filter((item) => item.type === "reasoning").map((item) => item.encrypted_content));
      const calls = heard.output.filter((item) => item.type === "function_call");
      for (const call of calls)
        input.push({ type: "function_call_output", call_id: call.call_id, output: run(call.arguments) });
      if (!calls.length) break;
    }
    said.answers.push(heard.output_text);
  }
}

await { chat, responses }[api]();
console.log(JSON.stringify(said));
