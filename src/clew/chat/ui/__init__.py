"""UI messages of the AI SDK: the requests and streams of a front end with `useChat`.

`clew serve` has such a chat (`/api/chat`). An app with a chat of its own reads requests with `ui_asked`, lets a conversation
or an agent answer, and sends the events with `ui_stream`.
"""
