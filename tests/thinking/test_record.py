"""Recordings: what went ahead of an answer is remembered as a link wherever that says it."""

from __future__ import annotations

from typing import Any

from clew.model.recording import Recording, Shelf, Strand
from clew.thinking.keys import block_key
from clew.thinking.strands import repair_mark, strand_keys
from tests.build import Scribe, assistant, request, thinking, user


class NoLinks(Shelf):
    """A shelf on which nobody may go from one recording to the next."""

    def by_id(self, id: str) -> Recording | None:
        raise AssertionError(f"somebody asked for {id}")


def talk(scribe: Scribe, turns: int) -> list[Any]:
    history = [user("hi")]
    for turn in range(turns):
        answer = assistant(thinking(f"thought {turn}", f"s{turn}"), f"answer {turn}")
        asked = request(*history)
        scribe.record(asked, asked, answer)
        history += [answer, user("go on")]
    return history


def test_a_row_that_the_newest_answer_knows_by_its_digest_is_linked_without_a_look_at_the_others() -> None:
    """A conversation of a hundred answers is not followed back with every turn."""
    scribe = Scribe()
    asked = request(*talk(scribe, 5))
    scribe.shelf = NoLinks(each for turn in range(5) if (each := scribe.shelf.by_id(f"r{turn + 1}")))
    assert scribe.record(asked, asked, assistant("done")).strand == Strand(after="r5")


def test_a_row_in_which_a_block_is_missing_is_listed() -> None:
    """The digest of the newest answer is that of a longer row."""
    scribe = Scribe()
    history = talk(scribe, 3)
    history[3] = assistant("answer 1")
    asked = request(*history)
    kept = tuple(block_key("thinking", f"s{turn}") for turn in (0, 2))
    assert scribe.record(asked, asked, assistant("done")).strand == Strand(listed=kept)


def test_blocks_that_the_vendor_did_not_read_are_not_in_the_row() -> None:
    """R46: reported as dropped for what came before them."""
    scribe = Scribe()
    asked = request(*talk(scribe, 3))
    recording = scribe.record(asked, asked, assistant("done"), unread=frozenset({block_key("thinking", "s0")}))
    assert recording.strand == Strand(listed=tuple(block_key("thinking", f"s{turn}") for turn in (1, 2)))


def test_marks_of_a_repair_are_not_in_the_row_of_an_answer_that_was_not_asked_for_so() -> None:
    """Another reader of the same thoughts, or the same one after its loop: a link would hand the marks on."""
    scribe, mark = Scribe(), repair_mark("images")
    history = talk(scribe, 1)
    asked, answer = request(*history), assistant(thinking("thought 1", "s1"), "answer 1")
    marked = scribe.record(asked, asked, answer, marks=(mark,))
    asked = request(*history, answer, user("go on"))
    kept = tuple(block_key("thinking", f"s{turn}") for turn in (0, 1))
    assert marked.strand == Strand(listed=(mark, kept[0]))
    assert strand_keys(scribe.record(asked, asked, assistant("done")), scribe.shelf) == kept
    assert strand_keys(scribe.record(asked, asked, assistant("done"), marks=(mark,)), scribe.shelf) == (mark, *kept)


def test_a_link_past_a_recording_that_is_gone_leads_to_what_came_after_it() -> None:
    """Tails are accepted: what is not recorded any more could not be restored either."""
    scribe = Scribe()
    history = talk(scribe, 4)
    scribe.shelf = Shelf(each for turn in (2, 3, 4) if (each := scribe.shelf.by_id(f"r{turn}")))
    asked = request(*history)
    recording = scribe.record(asked, asked, assistant("done"))
    assert recording.strand == Strand(after="r4")
    assert strand_keys(recording, scribe.shelf) == tuple(block_key("thinking", f"s{turn}") for turn in (1, 2, 3))
