// Streams with `openai`: each prompt is a conversation of its own, and what the SDK made of the stream is told.
// Standard input: {url, key, model, prompts, tools}; standard output: a list of {status, output}, or {error}.
import { readFileSync } from "node:fs";
import OpenAI from "openai";

const { url, key, model, prompts, tools: names } = JSON.parse(readFileSync(0, "utf8"));
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const tools = names.map((name) => ({ type: "function", name, parameters: null, strict: false }));
const reasoning = { effort: "medium", summary: "auto" };

async function heard(input) {
  let deltas = "";
  try {
    const stream = client.responses.stream({ model, input, tools, reasoning, store: false });
    stream.on("response.output_text.delta", (event) => (deltas += event.delta));
    const { status, output, output_text } = await stream.finalResponse();
    return output_text === deltas ? { status, output } : { error: `heard ${deltas}, got ${output_text}` };
  } catch (error) {
    return { error: String(error) };
  }
}

const found = [];
for (const prompt of prompts) found.push(await heard(prompt));
console.log(JSON.stringify(found));
