"""By rote: exchanges that go as others like them went, with nothing decided anew.

Many requests are one question with the same model, tools and system prompt around it. What was decided about the first is
kept as a `form`; a request that fits one (`by_rote`, `question`) is sent with it (`rote`), its answer passed on (`streams`,
or in one piece), and told (`told`) without making any of the values that other exchanges are made of.
"""
