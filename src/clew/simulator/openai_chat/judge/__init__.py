"""The judge of Chat Completions requests.

`judge_chat` decides whether a request is legal for one vendor, and which reasoning came back with it. `rules` reads the book
of rules, `rules.toml`.
"""

from clew.simulator.openai_chat.judge.judging import ChatVerdict, judge_chat

__all__ = ["ChatVerdict", "judge_chat"]
