"""The chat's page: what was said, set by the server; and what can be chosen."""

import re

from clew.thinking.budgets import EFFORTS
from tests.admin.booth import Booth
from tests.build import text
from tests.store.turns import NOON
from tests.web.test_thread_page import page, said
from tests.web.test_threads import keep


def test_a_new_chat_teaches_and_offers_backends_models_and_effort(kept_booth: Booth) -> None:
    text = page(kept_booth, "/chat")
    assert "Ask something" in text and ">active (claude)</option>" in text
    assert [level for level in EFFORTS if f"<option>{level}</option>" not in text] == []
    assert "<option selected>claude-sonnet-5-5</option>" in text, "as clew ask takes it"
    assert "A chat needs JavaScript" in text


def test_an_old_one_goes_on_from_its_end(booth: Booth) -> None:
    keep(booth, said("a", text("One"), asked="First <b>"), said("b", text("Two"), after="a", at=NOON + 1))
    assert booth.store is not None
    assert booth.store.pin("local", "t", "glm").result(120)
    text_of = page(booth, "/chat/t")
    assert 'data-chat="t"' in text_of and re.search(r'<option value="glm"[^>]* selected>', text_of)
    assert 'data-turn="x-b" data-after="a"' in text_of
    assert 'data-words="[{&#34;type&#34;:&#34;text&#34;,&#34;text&#34;:&#34;First &lt;b&gt;&#34;}]"' in text_of


def test_what_is_more_than_words_cannot_be_asked_again_here(booth: Booth) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
    keep(booth, said("a", text("One"), asked=[picture, text("What is this?")]))
    assert "data-words" not in page(booth, "/chat/t")


def test_a_chat_that_there_is_not_is_a_problem_on_a_page(kept_booth: Booth) -> None:
    assert kept_booth.ask("/chat/none").status == 404
