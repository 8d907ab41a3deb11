"""The judge of Responses requests: pure, but for reading the vendor's memory.

`case` is the request as the checks see it. `fields` checks the fields at the top, in the order that was measured, and
`tools`, `items` what is inside them, and the items as a conversation; `state` asks for what the vendor keeps; `capabilities`
for what the model can do; `reasoning` looks at the thoughts that come back. `judging` has the phases.
"""
