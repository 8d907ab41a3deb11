"""A strict stand-in for the vendors: an independent reading of their rules.

Two halves that meet in `interfaces`. The judge (`anthropic/judge`) decides whether a request is legal and what the model
sees of it. The shell speaks HTTP (`server`, `front`, `shell`), lets a scripted model answer (`script`, `turns`, `player`),
and makes the answer go wrong on demand (`faults`, `spoil`). An answer is a list of `steps` until it is played; the
`journal` records what happened. `openai_chat/` is the same for vendors that speak Chat Completions.
"""
