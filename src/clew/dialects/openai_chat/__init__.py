"""Chat Completions: the wire of OpenAI-style backends, read and written as messages of the Messages API."""
