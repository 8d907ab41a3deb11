"""Texts of n and 4n marks of calls, in one piece and in many, through the reader of calls that are written as text."""

from collections.abc import Callable
from functools import partial

import pytest

from clew.dialects.openai_chat.offered_tools import OfferedTools
from clew.dialects.openai_chat.text_call_finder import TextCallFinder, grammars_of
from clew.model.facts.chat_backends import text_call_families
from tests.growth.streams import OFFERS
from tests.growth.work import check_growth, each_with

N = 550
"""So many pieces are joined at least once (`LongText`), in both texts."""
FEW = 60
"""Of marks in one piece: nothing is joined there."""

pytestmark = pytest.mark.slow

REPEATED = {
    "words": ("", "word ", ""),
    "beginnings": ("", "<tool_call>", ""),
    "beginnings with a brace": ("", '<tool_call>{"', ""),
    "beginnings that may be one": ("", "<tool_cal", ""),
    "ends": ("", "</tool_call>", ""),
    "calls: hermes": ("", '<tool_call>{"name":"Read"}</tool_call>', ""),
    "calls: qwen-coder": ("", "<function=Read><parameter=a>1</parameter></function>", ""),
    "calls: glm": ("", "<tool_call>Read<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>", ""),
    "calls: grok": ("", '<xai:function_call name="Read"><parameter name="a">1</parameter></xai:function_call>', ""),
    "calls: gpt-oss": ("", "<|channel|>commentary to=functions.Read<|message|>{}<|call|>", ""),
    "calls of others": ("", "<function=Other><parameter=a>1</parameter></function>", ""),
    "braces in an object": ('<tool_call>{"name":"Read","arguments":', '{"a":', "1"),
    "escapes in an object": ('<tool_call>{"name":"', '\\\\"', '"}</tool_call>'),
    "tags in a value": ("<function=Read><parameter=a>", "<parameter=b>", "</function>"),
    "closed tags in a value": ("<function=Read><parameter=a>", "<parameter=b></parameter>", "</parameter></function>"),
    "beginnings of tags in a value": ("<function=Read><parameter=a>", "<", "</parameter></function>"),
    "arguments": ("<function=Read>", "<parameter=a>1</parameter>\n", "</function>"),
    "keys": ("<tool_call>Read", "<arg_key>a</arg_key><arg_value>1</arg_value>", "</tool_call>"),
    "space in a beginning": ("<tool_call>", " ", "x"),
    "space between arguments": ("<function=Read>", "\n", "</function>"),
    "letters of a name": ("<function=", "R", ">"),
    "backticks": ("", "`", "<function=Read></function>"),
    "code": ("", "`x` ", "<function=Read></function>"),
    "fences": ("", "```\n", "<function=Read></function>"),
    "empty lines": ("a", "\n\n", "<function=Read></function>"),
    "beginnings in code": ("```\n", "<tool_call>", ""),
}


def _texts(repeated: tuple[str, str, str], n: int) -> list[str]:
    before, each, after = repeated
    return [before, *[each] * n, after]


def _find(texts: list[str], family: str) -> None:
    finder = TextCallFinder(grammars_of(family), OfferedTools(OFFERS))
    for text in texts:
        finder.feed(text)
    finder.flush(regular=True)


READERS: dict[str, Callable[[list[str]], object]] = {
    **{f"{family}, in pieces": partial(_find, family=family) for family in text_call_families()},
    "qwen, letter by letter": lambda texts: _find(list("".join(texts)), "qwen"),
    "glm, letter by letter": lambda texts: _find(list("".join(texts)), "glm"),
    "qwen, in one piece": lambda texts: _find(["".join(texts)], "qwen"),
    "glm, in one piece": lambda texts: _find(["".join(texts)], "glm"),
    "gpt-oss, in one piece": lambda texts: _find(["".join(texts)], "gpt-oss"),
}


@pytest.mark.parametrize(("repeated", "reader"), each_with(REPEATED, READERS))
def test_calls_in_text_cost_work_in_proportion(repeated: str, reader: str) -> None:
    check_growth(lambda n: _texts(REPEATED[repeated], n), READERS[reader], _count(REPEATED[repeated][1], reader))


def _count(each: str, reader: str) -> int:
    """How often a mark is repeated, so that there are pieces enough."""
    if reader.endswith("in one piece"):
        return FEW
    return -(-N // len(each)) if reader.endswith("letter by letter") else N
