"""Answers of Chat Completions, streamed or whole, told as the Messages API would have told them."""
