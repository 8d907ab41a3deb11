"""The dialect `openai-responses`: OpenAI's Responses API."""
