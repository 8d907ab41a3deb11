// The UI message stream: server-sent events whose data are the parts of a message, in JSON.

/** The stream ended before its end: the connection broke. */
export class Broken extends Error {}

/** Each part, as it comes. Raises Broken. */
export async function* parts(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true }));
      if (done) throw new Broken("the connection broke");
      const frames = (held + value).split("\n\n");
      held = frames.pop();
      for (const frame of frames) {
        if (!frame.startsWith("data: ")) continue; // a comment that keeps the connection alive
        const data = frame.slice(6);
        if (data === "[DONE]") return;
        yield JSON.parse(data);
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
