"""The AI SDK's UI messages: what a front end with `useChat` sends and hears."""
