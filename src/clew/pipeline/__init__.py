"""The projection: ordered, small, pure steps (`project`); and all else about a request or an answer that can be decided
without I/O.

Steps are one file each, `thinking/` the largest of them. `heal` mends what was refused, `attempts` says whom to ask next.
`stream/` is for answers.
"""
