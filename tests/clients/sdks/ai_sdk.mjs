// A tool conversation with `ai` and @ai-sdk/anthropic, which runs the tools and the loop by itself.
// Standard input: {url, key, model, prompts}. Standard output: {answers, proofs, stops}.
import { execSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createAnthropic } from "@ai-sdk/anthropic";
import { isStepCount, streamText, tool } from "ai";
import { z } from "zod";

const { url, key, model, prompts } = JSON.parse(readFileSync(0, "utf8"));
const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: key });
const run = tool({
  description: "Run a shell command.",
  inputSchema: z.object({ command: z.string() }),
  execute: async ({ command }) => execSync(command, { encoding: "utf8" }),
});
const messages = [];
const said = { answers: [], proofs: [], stops: [] };

function proofs(parts) {
  const metadata = parts.map((part) => part.providerMetadata?.anthropic).filter(Boolean);
  return metadata.map((entry) => entry.signature ?? entry.redactedData).filter(Boolean);
}

for (const prompt of prompts) {
  messages.push({ role: "user", content: prompt });
  const stream = streamText({
    model: anthropic(model),
    maxRetries: 0,
    messages,
    tools: { run },
    stopWhen: isStepCount(10),
    providerOptions: { anthropic: { thinking: { type: "adaptive", display: "summarized" } } },
    onError: ({ error }) => console.error(error),
  });
  for (const step of await stream.steps) {
    said.proofs.push(...proofs(step.content.filter((part) => part.type === "reasoning")));
    said.stops.push(step.finishReason);
  }
  said.answers.push(await stream.text);
  messages.push(...(await stream.responseMessages));
}
console.log(JSON.stringify(said));
