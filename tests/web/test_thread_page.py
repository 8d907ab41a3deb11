"""One thread as a page: in its order, with what is folded and marked; beside a projection; part by part."""

import json
from collections.abc import Iterator

import pytest
from msgspec import structs

from clew.chat.formats import FORMATS
from clew.model.turn import Bodies, Try, TurnRecord
from clew.web.thread_page import PAGE
from tests.admin.booth import Booth
from tests.build import redacted, text, thinking, tool_result, tool_use
from tests.store.turns import GLM, NOON, recorded, turn
from tests.web.test_threads import keep


def said(id: str, *blocks: object, asked: object = "Well?", after: str = "", at: float = NOON, **more: object) -> TurnRecord:
    answer = recorded(id, followed=after or None, blocks=tuple(json.dumps(block).encode() for block in blocks), **more)
    message = json.dumps({"role": "user", "content": asked}).encode()
    return structs.replace(turn(answer, at=at), asked=(message,))


@pytest.fixture(scope="module")
def thread(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Booth]:
    with Booth(tmp_path_factory.mktemp("thread") / "h") as booth:
        call = tool_use("toolu_a", name="weather", town="<Oslo>")
        keep(
            booth,
            said("a", thinking("*Hm*", "s"), text("A **look**"), call, asked="Weather <b>?</b>"),
            said(
                "b", redacted("xyz"), thinking("", "s2"), text("Rain"), asked=[tool_result("toolu_a", "<rain>")], after="a"
            ),
            said("c", text("One"), after="b", at=NOON + 1, origin=GLM),
            said("d", text("Two"), after="b", at=NOON + 2, asked="Or this?"),
            turn(exchange="x-vain", at=NOON + 3, outcome="failed", status=502),
        )
        yield booth


def page(booth: Booth, path: str = "/threads/t") -> str:
    reply = booth.ask(path)
    assert reply.status == 200, reply.raw[:300]
    return reply.raw.decode()


def test_words_are_set_thinking_is_folded_under_its_maker_and_everything_is_escaped(thread: Booth) -> None:
    text = page(thread)
    assert "<p>A <strong>look</strong></p>" in text and "<em>Hm</em>" in text
    assert "Weather &lt;b&gt;?&lt;/b&gt;" in text and "<b>" not in text
    assert '<details class="fold thought"><summary>Thinking <span class="muted">4 characters</span>' in text
    assert text.count("claude, claude-opus-5-5</span>") >= 3
    assert ">redacted</span>" in text and ">hidden</span>" in text


def test_a_result_stands_in_its_call_and_not_once_more(thread: Booth) -> None:
    text = page(thread)
    assert text.count("&lt;rain&gt;") == 1 and ">done</span>" in text and "Result of a tool" not in text


def test_branches_are_a_tree_and_each_turn_says_where_it_forks(thread: Booth) -> None:
    newest, other = page(thread), page(thread, "/threads/t?at=x-c")
    assert "3 branches and agents" in newest
    assert "<p>Two</p>" in newest and "<p>One</p>" not in newest
    assert "<p>One</p>" in other and "<p>Two</p>" not in other
    assert 'aria-label="Branches after turn 2"' in newest and '?at=x-c"' in newest


def test_a_question_without_an_answer_says_how_it_ended(thread: Booth) -> None:
    assert "No answer is recorded (failed, 502)." in page(thread)


def test_a_question_without_an_answer_says_why(booth: Booth) -> None:
    """As the page of its exchange does; markup in a backend's words stays words."""
    why = "claude: <b>Connection refused</b>"
    keep(booth, turn(exchange="x-why", outcome="failed", status=502, tries=(Try(backend="claude", why=why),)))
    shown = page(booth)
    assert "No answer is recorded (failed, 502): claude: &lt;b&gt;Connection refused&lt;/b&gt;" in shown


@pytest.mark.parametrize(("why", "word"), [("", "stopped"), ("claude: the answer broke off", "cut off")])
def test_an_answer_of_which_nothing_is_left_ended_as_commands_say_it(booth: Booth, why: str, word: str) -> None:
    keep(booth, turn(exchange="x-cut", outcome="cut", status=200, tries=(Try(backend="claude", why=why, status=200),)))
    assert f"No answer is recorded ({word})" in page(booth)


@pytest.mark.parametrize(("why", "word"), [("", "stopped"), ("claude: the answer broke off", "cut off")])
def test_an_answer_that_is_not_whole_says_who_ended_it(booth: Booth, why: str, word: str) -> None:
    cut = said("cut", text("Half"), whole=False)
    tries = (Try(backend="claude", status=200, why=why),)
    keep(booth, structs.replace(cut, exchange=structs.replace(cut.exchange, outcome="cut", tries=tries)))
    shown = page(booth)
    assert f">{word}<" in shown.replace("\n", "")
    assert why in shown


def test_beside_a_projection_each_change_has_its_reason(thread: Booth) -> None:
    text = page(thread, "/threads/t?as=glm")
    assert "As glm would get it" in text
    assert 'class="part changed left-out"' in text
    assert "made by an unknown backend" in text and ">messages.1.content.0</code>" in text


def test_beside_a_projection_a_result_stands_in_its_message_and_nobody_misses_it_at_the_call(booth: Booth) -> None:
    """The messages are shown as they are sent, so a call does not hold its result there."""
    keep(
        booth,
        said("a", tool_use("toolu_a")),
        said("b", text("Rain."), asked=[tool_result("toolu_a", "It rains")], after="a"),
    )
    for backend in ("claude", "glm"):
        beside = page(booth, f"/threads/t?as={backend}")
        assert beside.count('<summary><span class="mono">Bash</span>') == beside.count("It rains</pre>") == 2
        assert "no result yet" not in beside


def test_a_backend_that_there_is_not_is_a_problem_on_a_page(thread: Booth) -> None:
    reply = thread.ask("/threads/t?as=%3Cb%3E")
    assert (reply.status, reply.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is no backend" in reply.raw.decode() and "<b>" not in reply.raw.decode()


def test_it_offers_every_format_and_every_way_on(thread: Booth) -> None:
    text = page(thread)
    assert [name for name in FORMATS if f"/api/threads/t/export?format={name}" not in text] == []
    assert 'href="/chat/t"' in text and "Delete for good" in text


def test_a_thread_that_there_is_not_is_a_problem_on_a_page(thread: Booth) -> None:
    reply = thread.ask("/threads/none")
    assert (reply.status, "There is no such thread" in reply.raw.decode()) == (404, True)


def test_a_long_thread_comes_in_parts(booth: Booth) -> None:
    turns = [said(f"r{n}", text(f"Answer {n}"), after=f"r{n - 1}" if n else "", at=NOON + n) for n in range(PAGE + 3)]
    keep(booth, *turns)
    first = page(booth)
    assert first.count('class="turn"') == PAGE and f'?from={PAGE}"' in first
    part = page(booth, f"/threads/t?from={PAGE}&part=1")
    assert part.count('class="turn"') == 3 and "<html" not in part and "data-more" not in part
    middle = page(booth, f"/threads/t?at=x-r{PAGE}")
    assert f'data-turn="x-r{PAGE}"' in middle and "data-wanted" in middle
    assert "From the beginning" in page(booth, "/threads/t?from=99999999999")


def test_another_principals_thread_stays_among_its_own(booth: Booth) -> None:
    """Every link on the page keeps the owner; the chat asks as the operator, so it is not offered."""
    keep(booth, said("a", text("One"), principal="bob"), said("b", text("Two"), principal="bob", after="a", at=NOON + 1))
    assert booth.ask("/threads/t").status == 404
    mine = page(booth, "/threads/t?principal=bob")
    assert "/threads/t?as=glm&amp;principal=bob" in mine and "/exchanges/x-a?principal=bob" in mine
    assert (
        "/api/threads/t/export?format=clew&amp;principal=bob" in mine
        and 'data-delete="/api/threads/t?principal=bob"' in mine
    )
    assert "Continue in chat" not in mine
    assert 'href="/threads/t?principal=bob"' in page(booth, "/threads?principal=bob")
    assert "?at=x-a&amp;principal=bob" in page(booth, "/threads?q=well&principal=bob")


def test_half_a_character_breaks_no_page(booth: Booth) -> None:
    """Clients that cut a string inside an emoji send half a surrogate pair; it is legal in JSON, and no text."""
    keep(booth, said("a", thinking("cut \ud83d", "s"), text("and \udfff"), asked="\ud83d What?"))
    assert "and \ufffd" in page(booth) and "\ufffd What?" in page(booth, "/chat/t")
    reply = booth.ask("/threads/t?as=glm")
    assert (reply.status, "This thread cannot be sent" in reply.raw.decode()) == (409, True)


def test_blocks_that_are_none_break_no_page(booth: Booth) -> None:
    strange = [{"type": 3}, {"type": "text", "text": ["x"]}, {"type": "tool_result", "content": {"a": 1}}, {}, 7]
    keep(booth, said("a", *strange[:4], {"type": "tool_use", "input": "no object"}, asked=strange))
    assert "Turn 1" in page(booth)


def test_a_tool_of_the_vendors_own_has_its_result_too(booth: Booth) -> None:
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "lens"}}
    result = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "url": "u:1"}],
    }
    keep(booth, said("a", call, result, text("Found.")))
    shown = page(booth)
    assert shown.count("u:1") == 1 and ">done</span>" in shown and "Result of a tool" not in shown


def test_a_thread_of_another_front_is_shown_in_its_clients_form_too(booth: Booth) -> None:
    item = {"type": "custom_tool_call_output", "call_id": "call_0", "output": "<b>a.txt</b>"}
    body = json.dumps({"model": "m", "input": [item]}).encode()
    one = said("one", text("So."))
    spoken = structs.replace(one.exchange, dialect="openai-responses")
    keep(booth, structs.replace(one, exchange=spoken, bodies=Bodies(asked=body)))
    plain, own = page(booth), page(booth, "/threads/t?form=client")
    assert 'form=client" title="What the client sent and got, in the Responses API">As the client has it</a>' in plain
    assert 'data-item="' not in plain
    assert 'data-item="custom_tool_call_output"' in own and "&lt;b&gt;a.txt&lt;/b&gt;" in own and "<b>" not in own
    assert 'data-item="assistant"' in own and "is not kept any more" not in own


def test_a_thread_of_the_messages_api_has_no_form_besides(thread: Booth) -> None:
    assert "As the client has it" not in page(thread)
    assert "data-item" not in page(thread, "/threads/t?form=client")
