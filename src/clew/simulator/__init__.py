"""A strict stand-in for the vendors: an independent reading of their rules.

Two halves that meet in `interfaces`. The judge (`anthropic/judge`) says whether a request is legal and what the model sees
of it. The shell speaks HTTP (`server`, `front`, `shell`), lets a scripted model answer (`stage`, `script`, `speak`;
`improvise` without a script), and makes it go wrong on demand (`faults`, `spoil`). An answer is a list of `steps` until it
is played; what came of it is in the `journal`. `openai_chat/` is the same for vendors that speak Chat Completions.
"""
