"""The simulator's judge: an independent reading of the vendor's rules.

`judge` decides whether a request is legal, what the model would see of it, and signs new thinking; `static_violations` says
only what the request itself decides. Both are pure. They read the tables of facts, and nothing that clew itself uses to make
requests legal: a mistake there must not be mirrored here.
"""

from clew.simulator.judge.judging import judge, static_violations

__all__ = ["judge", "static_violations"]
