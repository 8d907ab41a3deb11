"""Streams as vendors send them, by chance, damaged and cut: never a crash, never an illegal stream, never reasoning as text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai_chat.options import ChatAnswerOptions
from tests.counts import examples
from tests.fuzz.damage import DAMAGE, Damage, damaged
from tests.fuzz.judging import judge
from tests.fuzz.vendors import CUTS, ENDS, ENVELOPE, MANNERS, SEGMENTS, SPEECH, Manner, Segment, pieces, written
from tests.manifest import proves

WHY, AND = "WHY", "AND"
"""What stands in every thought, and in every argument."""


@proves("req:S3-16", "req:S3-17", "req:S3-20", "req:S3-39")
@settings(max_examples=examples(29, soak=20_000), deadline=None)
@given(SEGMENTS, ENVELOPE, MANNERS, ENDS, st.lists(DAMAGE, max_size=3), SPEECH, CUTS)
def test_every_stream_is_told_legally_and_no_thought_is_told_as_text(
    segments: list[Segment],
    envelope: str,
    manner: Manner,
    finish: str,
    damages: list[Damage],
    speech: ChatAnswerOptions,
    cuts: list[int],
) -> None:
    """§3, invariant (iv), for whole streams: a word of a thought is in no text, and in no input of a call."""
    marked = [segment.marked(WHY if segment.thinks else AND) for segment in segments]
    stream = b"".join(damaged(written(marked, envelope, manner, finish), damages))
    heard = judge(pieces(stream, cuts), speech)

    assert WHY not in heard.said("text_delta")
    assert WHY not in heard.said("input_json_delta")


@settings(max_examples=examples(19, soak=10_000), deadline=None)
@given(
    st.sampled_from(["<think>", "<thinking>", "<thought>", "<seed:think>", "[THINK]", "◁think▷"]),
    st.text("ab <>/`\n", max_size=12),
    st.text("cd <\n", max_size=12),
    st.lists(st.integers(0, 60), max_size=12),
    st.sampled_from(["leading", "anywhere"]),
    CUTS,
)
def test_a_thought_between_tags_is_no_text_wherever_they_are_cut(
    tag: str, why: str, says: str, deltas: list[int], mode: str, cuts: list[int]
) -> None:
    """Rule 6.3: the tags at the start of the content, in pieces of any size."""
    close = {"[THINK]": "[/THINK]", "◁think▷": "◁/think▷"}.get(tag, tag.replace("<", "</"))
    content = f"{tag}{WHY}{why}{WHY}{close}\n\n{AND}{says}"
    words = [each.decode("utf-16-le") for each in pieces(content.encode("utf-16-le"), [cut * 2 for cut in deltas])]
    stream = b"".join(written([Segment("content", words)], "plain", Manner(), "stop"))
    heard = judge(pieces(stream, cuts), ChatAnswerOptions(tags=mode))

    assert WHY not in heard.said("text_delta")
    assert heard.said("thinking_delta") == f"{WHY}{why}{WHY}"
    assert heard.said("text_delta").startswith(AND)
