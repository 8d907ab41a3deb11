"""A strict stand-in for the vendors: an independent reading of their rules.

Each dialect is a folder of one shape (`anthropic/`, `openai_chat/`), and `server` lists the vendors of all. A dialect's
judge decides whether a request is legal and what the model sees of it; its server answers, on top of `vendor_server`.
`interfaces` has the values that they exchange. A scripted model answers (`script`, `turns`, `player`), and faults on demand
make the answer go wrong (`faults`, `fault_effects`). An answer is a list of `steps` until it is played; the `journal`
records what happened.
"""
