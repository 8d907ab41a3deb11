"""The values: blocks, messages, requests, responses, events, origins, changes; and the facts about models. Pure."""
