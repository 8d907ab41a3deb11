"""Stream steps: what happens to an answer on its way from its maker to the client.

`Relay` passes an Anthropic stream on as bytes and reads along; a `Dress` is what is put on for the client's sake (the
model's name, a seal, a safe tool id); `answer_of` folds what came into the blocks that the store keeps.
"""
