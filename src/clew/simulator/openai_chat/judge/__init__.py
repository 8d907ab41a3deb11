"""The judge of Chat Completions requests.

`judge_chat` decides whether a request is legal for one vendor, and which reasoning came back with it. The book of rules
is `rules.toml`.
"""

from clew.simulator.openai_chat.judge.judging import ChatVerdict, judge_chat

__all__ = ["ChatVerdict", "judge_chat"]
