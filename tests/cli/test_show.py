"""`clew show`: a conversation as it was said, or as a backend would get it, each change with its reason."""

import json
from pathlib import Path

import msgspec
import pytest

from clew.chat.request import is_answer
from clew.dialects import DIALECTS
from clew.model.recording import AnswerContent
from tests.cli.homes import GLM, THREAD, Home, answer, day, talk, text, thinking, tool_use, turn, yesterday
from tests.store.turns import recorded


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_without_a_thread_the_threads_are_listed_by_as_much_of_their_ids_as_tells_them_apart(home: Home) -> None:
    home.keep(*talk(yesterday()))
    home.keep(turn(recorded("a", thread=f"{THREAD[:8]}ff", session="s", agent="a7"), at=yesterday() - 3600))
    home.lines("use", "glm", "--thread", "last")
    assert home.lines("show") == [
        "  thread     last used            turns  agent  stays with  begins with",
        f"  01a2b3c4d  {day()} 12:00:30  4             glm         A title",
        f"  01a2b3c4f  {day()} 11:00:00  1      a7                 A title",
        "",
        "Read one with `clew show THREAD`; `clew show THREAD --as BACKEND` shows what a backend would get.",
    ]
    assert [each["id"] for each in home.json("show")] == [THREAD, "01a2b3c4ff"]


def test_threads_are_listed_and_shown_with_the_programs_that_asked(home: Home) -> None:
    """What a program calls itself is text of a stranger's."""
    home.keep(
        turn(recorded("a"), at=yesterday(), client="Codex"), turn(recorded("b"), at=yesterday() + 1, client="\x1b[31mOdd")
    )
    head, row, *_ = home.lines("show")
    assert head.split() == ["thread", "last", "used", "turns", "agent", "client", "stays", "with", "begins", "with"]
    assert "\\x1b[31mOdd, Codex" in row
    assert home.lines("show", "last")[0].endswith(", client \\x1b[31mOdd and Codex")
    assert [each["clients"] for each in home.json("show")] == [["\x1b[31mOdd", "Codex"]]
    assert home.json("show", "last")["thread"]["clients"] == ["\x1b[31mOdd", "Codex"]
    assert [json.loads(line)["client"] for line in home.lines("log", "--json")] == ["Codex", "\x1b[31mOdd"]


def test_a_thread_is_shown_as_it_was_said_with_thinking_and_tools_folded(home: Home) -> None:
    """And no escape of a model's reaches the terminal."""
    home.keep(*talk(yesterday()))
    lines = home.lines("show", "01a2")
    assert lines == [
        f"thread {THREAD}: 4 turns, {day()} 11:59:57 to {day()} 12:00:30",
        "",
        f"user, {day()} 12:00:00",
        "  secret question",
        "claude, claude-opus-5-5",
        "  (thinking, 11 characters)",
        "  Answer r0.",
        '  → Bash {"command":"secret input of r0"}',
        f"user, {day()} 12:00:10",
        "  secret question",
        "claude, claude-opus-5-5",
        "  (thinking, 11 characters)",
        "  Evil \\x1b[31mred\\x07",
        "  and more",
        '  → Bash {"command":"secret input of r1"}',
        f"user, {day()} 12:00:20",
        "  secret question",
        "glm, glm-5",
        "  (thinking, 10 characters)",
        "  Answer g.",
        '  → Bash {"command":"secret input of g"}',
        f"user, {day()} 12:00:30",
        "  secret question",
        "no answer is recorded (refused, 400)",
    ]
    assert home.lines("show", "last") == lines
    assert "    Thought r0." in home.lines("show", "last", "--thinking")


def test_blocks_of_every_kind_have_a_line(home: Home) -> None:
    blocks = [
        thinking("", "sig"),
        {"type": "redacted_thinking", "data": "x"},
        tool_use("toolu_1", text="w" * 500),
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "\x1b[1m"}},
        text("Done."),
    ]
    asked = [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": "no\x1b[0m"}]},
        {"role": "user", "content": [{"type": "image", "source": {}}, {"type": "new_kind"}]},
        {"role": "system", "content": "Be quick."},
    ]
    cut = turn(answer("r", blocks, whole=False), at=yesterday())
    home.keep(msgspec.structs.replace(cut, asked=tuple(json.dumps(each).encode() for each in asked)))
    moment = f"{day()} 12:00:00"
    assert home.lines("show", "last")[2:] == [
        f"user, {moment}",
        "  ← no\\x1b[0m",
        f"user, {moment}",
        "  (image)",
        "  (new kind)",
        f"system, {moment}",
        "  (hidden text for the model, 9 characters)",
        "claude, claude-opus-5-5, cut off",
        "  (thinking, without its text)",
        "  (redacted thinking)",
        '  → Bash {"text":"' + "w" * 151 + "… (511 characters)",
        '  → web_search {"query":"\\u001b[1m"}',
        "  Done.",
    ]


def test_what_a_client_says_to_the_model_alone_is_folded(home: Home) -> None:
    """Claude Code sends pages of it with the first question. Words beside it stay."""
    reminder = "<system-reminder>\nMind the gap.\n</system-reminder>\n"
    asked = [{"role": "user", "content": [text(reminder), text("Why?")]}, {"role": "system", "content": "Be quick."}]
    said = turn(answer("r", [text("Done.")]), at=yesterday())
    home.keep(msgspec.structs.replace(said, asked=tuple(json.dumps(each).encode() for each in asked)))
    folded = [f"  (hidden text for the model, {len(each)} characters)" for each in (reminder, "Be quick.")]
    assert [line for line in home.lines("show", "last")[2:] if line.startswith("  ")] == [
        folded[0],
        "  Why?",
        folded[1],
        "  Done.",
    ]
    whole = home.lines("show", "last", "--asides")
    assert {"  Mind the gap.", "  Why?", "  Be quick."} < set(whole)
    assert folded[0] in home.lines("show", "last", "--as", "claude")


def test_a_backend_gets_its_own_blocks_and_not_the_others_each_with_the_reason(home: Home) -> None:
    """Design §4: left out whole towards another realm, as they came towards their own."""
    answers = [
        answer("r0", [thinking("Hm.", "signature of r0"), text("Answer.")], said=AnswerContent(texts=("Answer.",))),
        answer("g0", [thinking("Hm.", "signature of g0"), text("Also.")], origin=GLM, followed="r0", keys=()),
    ]
    home.keep(*(turn(each, at=yesterday() + n) for n, each in enumerate(answers)))
    as_glm = home.lines("show", "last", "--as", "glm")
    assert as_glm[2].startswith("as glm (glm-5.3) would get it: ")
    at = as_glm.index("  - left out at messages.1.content.0: made by claude")
    assert as_glm[at + 1 : at + 3] == ["    not sent: (thinking, 3 characters)", "  Answer."]
    assert [line for line in home.lines("show", "last", "--as", "claude") if "messages.1.content.0" in line] == []
    projected = home.json("show", "last", "--as", "glm")
    assert {"messages.1.content.0": "left out"}.items() <= {
        each["path"]: each["what"] for each in projected["changes"]
    }.items()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_backend_of_any_dialect_can_be_shown_what_it_would_get(home: Home, dialect: str) -> None:
    """To its last answer and no further: what follows an answer is not known yet."""
    row = f'[backends.other]\nurl = "http://127.0.0.1:9/v1"\ndialect = "{dialect}"\nkey = "k"\n'
    home.config.write_text(home.config.read_text() + row)
    home.keep(turn(answer("r0", [thinking("Hm.", "s"), text("A look."), tool_use("t1")]), at=yesterday()))
    sent = home.json("show", "last", "--as", "other")["messages"]
    assert ("secret question" in str(sent[0]), "A look." in str(sent[1]), is_answer(sent[-1])) == (True, True, True)
    assert home.lines("show", "last", "--as", "other")[2].startswith("as other ")


def test_json_has_every_block_as_it_is_kept(home: Home) -> None:
    first, *_ = talk(yesterday())
    home.keep(first)
    shown = home.json("show", "last")
    assert shown["thread"]["id"] == THREAD
    [said] = shown["turns"]
    assert said["answer"] == [json.loads(raw) for raw in first.recording.blocks]
    assert said["asked"] == [{"role": "user", "content": "secret question"}]
    assert (said["exchange"], said["whole"]) == ("x-r0", True)


def test_what_is_not_there_or_not_clear_is_said(home: Home) -> None:
    none = "Error: There is no thread 'ff': `clew show` lists the threads."
    assert home.refused("show", "ff") == (2, none)
    home.keep(*talk(yesterday()), turn(recorded("a", thread=f"{THREAD[:8]}ff"), at=yesterday()))
    assert home.refused("show", "ff") == (2, none)
    assert home.refused("show", "01") == (
        2,
        f"Error: '01' is the beginning of several threads: {THREAD}, 01a2b3c4ff.",
    )
    assert home.refused("show", "last", "--as", "nobody") == (
        2,
        "Error: There is no backend 'nobody'. There are: claude, glm.",
    )


def test_a_backend_whose_address_is_not_known_here_is_said_to_be_disabled(home: Home) -> None:
    """Without its key it can be looked at; without its address it cannot."""
    home.keep(*talk(yesterday()))
    home.config.write_text(home.config.read_text() + 'url = "${NO_SUCH_URL}"\n')
    code, says = home.refused("show", "last", "--as", "glm")
    assert (code, f"{home.config}:" in says, "NO_SUCH_URL" in says) == (5, True, True), says


def test_a_thread_without_an_answer_cannot_be_projected(home: Home) -> None:
    home.keep(talk(yesterday())[-1])
    code, says = home.refused("show", "last", "--as", "claude")
    assert (code, says.startswith("Error: nothing of this thread is recorded")) == (1, True)


def test_before_the_first_conversation_it_says_how_to_begin(home: Home) -> None:
    assert home.lines("show") == [
        "No conversation was recorded yet. Begin with `clew run -- claude`, or point a client at `clew serve`."
    ]
    assert home.json("show") == []
    assert not home.file.exists()


def test_a_conversation_is_found_by_its_words(home: Home) -> None:
    """The word that was found is in what is shown of it, and no escape reaches the terminal."""
    home.keep(*talk(yesterday()))
    home.keep(turn(recorded("z", thread="ff00ff", words=f"{'far ' * 40}lighthouse \x1b[31m"), at=yesterday() + 60))
    assert home.lines("show", "--search", "lightho") == [
        "  thread  when                 begins with  found",
        f"  ff00ff  {day()} 12:01:00  A title      …r far far far far far far far lighthouse [31m",
    ]
    assert [hit["exchange"] for hit in home.json("show", "--search", '"secret question" evil')] == ["x-r1"]
    assert home.lines("show", "--search", "nowhere") == [
        "No conversation contains all these words. (If the settings say `content = false`, no text is kept.)"
    ]
    assert home.json("show", "--search", '"') == []
    assert home.refused("show", "last", "--search", "words") == (
        2,
        "Error: --search looks in all conversations: leave THREAD out.",
    )


def test_without_a_store_nothing_is_found(home: Home) -> None:
    assert home.json("show", "--search", "anything") == []
    assert not home.file.exists()


def test_a_conversation_with_branches_begins_with_them(home: Home) -> None:
    first, second = recorded("a", session="s"), recorded("b", before=(recorded("a", session="s"),), session="s")
    other = recorded("c", before=(first,), session="s")
    scout = recorded("d", thread="u", session="s", agent="scout")
    home.keep(*(turn(each, at=yesterday() + 10 * at) for at, each in enumerate((first, second, other, scout))))
    lines = home.lines("show", "t")
    assert lines[2:8] == [
        "  branch  after  turns  ended                agent, thread  begins with",
        f"  1              1      {day()} 12:00:00                 secret question",
        f"  2       1      1      {day()} 12:00:10                 secret question",
        f"  3       1      1      {day()} 12:00:20                 secret question",
        f"  4       3      1      {day()} 12:00:30  scout, u",
        "",
    ]
    assert [line for line in lines if line.startswith("user")] == [
        f"user, {day()} 12:00:{seconds:02}, branch {number}" for number, seconds in ((1, 0), (2, 10), (3, 20))
    ]
    assert [(each["thread"], each["after"], each["exchanges"]) for each in home.json("show", "t")["tree"]] == [
        ("t", "", ["x-a"]),
        ("t", "x-a", ["x-b"]),
        ("t", "x-a", ["x-c"]),
        ("u", "x-c", ["x-d"]),
    ]
