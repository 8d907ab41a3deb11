"""The chat server: conversations over HTTP, for front ends that speak the AI SDK's UI message stream."""
