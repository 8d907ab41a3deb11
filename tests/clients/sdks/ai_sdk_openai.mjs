// A tool conversation with `ai` and its providers for OpenAI's dialects, which runs the tools and the loop by itself.
// Standard input: {url, key, model, prompts, api}, where `api` is `responses` (nothing is kept at the vendor's), `stored` (what the
// provider does by itself: items go back by their ids) or `chat` (the provider for compatible servers).
// Standard output: {answers, proofs, stops}.
import { execSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { isStepCount, streamText, tool } from "ai";
import { z } from "zod";

const { url, key, model, prompts, api } = JSON.parse(readFileSync(0, "utf8"));
const address = { baseURL: `${url}/v1`, apiKey: key };
const provider = api === "chat" ? createOpenAICompatible({ name: "clew", ...address }) : createOpenAI(address);
const openai = { reasoningEffort: "medium", reasoningSummary: "auto", forceReasoning: true };
if (api === "responses") openai.store = false;
const run = tool({
  description: "Run a shell command.",
  inputSchema: z.object({ command: z.string() }),
  execute: async ({ command }) => execSync(command, { encoding: "utf8" }),
});
const messages = [];
const said = { answers: [], proofs: [], stops: [] };

for (const prompt of prompts) {
  messages.push({ role: "user", content: prompt });
  const stream = streamText({
    model: provider(model),
    messages,
    tools: { run },
    stopWhen: isStepCount(10),
    providerOptions: api === "chat" ? { clew: { reasoningEffort: "medium" } } : { openai },
    onError: ({ error }) => console.error(error),
  });
  for (const step of await stream.steps) {
    const thoughts = step.content.filter((part) => part.type === "reasoning");
    said.proofs.push(...thoughts.map((part) => part.providerMetadata?.openai?.reasoningEncryptedContent ?? part.text));
    said.stops.push(step.finishReason);
  }
  said.answers.push(await stream.text);
  messages.push(...(await stream.responseMessages));
}
console.log(JSON.stringify(said));
