"""The AI SDK's UI messages: what a front end with `useChat` sends and hears.

`clew serve` has such a chat by itself (`/api/chat`). An app that has its own reads requests with `ui_asked`, lets a
conversation or an agent answer, and tells what they tell with `ui_stream`.
"""
