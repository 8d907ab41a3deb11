"""What OpenAI's dialects share when they write requests: raw objects, efforts, tools, and schemas that pass a check."""
