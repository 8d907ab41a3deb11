"""The judge of the Messages API: an independent reading of the vendor's rules.

`judge` decides whether a request is legal and what the model would see of it, and returns a signer for new thinking.
`static_violations` reports only what the request itself decides. Both are pure. They read the tables of facts, and none of
the code by which clew makes requests legal: a mistake there must not be repeated here.
"""

from clew.simulator.anthropic.judge.judging import judge, static_violations

__all__ = ["judge", "static_violations"]
