"""`clew log`: per request who was asked and who answered, what became of the thinking, and why; and what comes next."""

import json
import signal
from pathlib import Path

import pytest

from clew.model.change import Change
from clew.model.turn import TokenUsage, Try
from tests.cli.homes import GLM, THREAD, Home, day, talk, turn, yesterday
from tests.database import connected
from tests.store.turns import recorded


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_a_request_shows_its_way_its_thinking_with_reasons_its_tokens_and_its_tries(home: Home) -> None:
    """Law 6."""
    changes = (
        *(Change("thinking", f"messages.{n}.content.0", "left out", "made by claude") for n in (1, 3, 5, 7, 9)),
        Change("thinking", "messages.11.content.0", "restored", "the client dropped it"),
        Change("heal", "messages.13.content.0", "healed", "refused by the backend (R33)"),
        Change("model", "model", "set", "glm serves 'glm-5'"),
    )
    tries = (
        Try(backend="claude", status=529, seconds=0.25, why="overloaded"),
        Try(backend="claude", seconds=1.0, why="refused the connection"),
        Try(backend="glm", status=200, seconds=2.04),
    )
    usage = TokenUsage(input=1234, output=56, cache_read=70_000, cache_written=8)
    more = {"changes": changes, "tries": tries, "usage": usage, "kept": 2, "stop_reason": "tool_use", "agent": "a7"}
    home.keep(turn(recorded("g", origin=GLM, thread=THREAD, agent="a7"), at=yesterday(), **more))
    assert home.lines("log") == [
        f"{day()} 11:59:57  01a2b3c4d5e  claude-opus-5-5 → glm glm-5  tool_use  2.5 s, first byte 0.50 s  agent a7",
        "    thinking: 2 kept, 1 restored, 5 left out, 1 healed",
        "    left out messages.1.content.0, messages.3.content.0, messages.5.content.0 and 2 more: made by claude",
        "    restored messages.11.content.0: the client dropped it",
        "    healed messages.13.content.0: refused by the backend (R33)",
        "    set model: glm serves 'glm-5'",
        "    tokens: 1,234 in, 56 out; cache 70,000 read, 8 written",
        "    tries: claude 529 after 0.2 s (overloaded); claude no answer after 1.0 s (refused the connection); "
        "glm 200 after 2.0 s",
    ]


@pytest.mark.parametrize(
    ("kind", "said"), [("title", "  for a title"), ("count_tokens", "  token count only"), ("messages", "")]
)
def test_a_request_that_is_no_turn_of_a_conversation_says_what_it_is_for(home: Home, kind: str, said: str) -> None:
    home.keep(turn(at=yesterday(), started=yesterday() - 2, first_byte=0.5, kind=kind))
    assert home.lines("log")[0].endswith(f"first byte 0.50 s{said}")


def test_a_short_answer_did_not_end_before_its_first_byte(home: Home) -> None:
    home.keep(turn(recorded("r"), at=yesterday(), started=yesterday() - 0.047, first_byte=0.038))
    assert home.lines("log")[0].endswith("0.05 s, first byte 0.04 s")


def test_what_another_dialect_has_no_words_for_is_one_line(home: Home) -> None:
    """It is the same in every request; what became of the conversation has its reasons all the same."""
    changes = (
        Change("openai_chat", "context_management", "left out", "Chat Completions has no field for it"),
        Change("openai_chat", "anthropic-beta", "left out", "a header of Anthropic's: one, two"),
        Change("openai_chat", "messages.1.content.0", "left out", "tags do not go back"),
        Change("openai_chat", "output_config.effort", "replaced", "'high' is the nearest"),
    )
    home.keep(turn(recorded("g", origin=GLM), at=yesterday(), changes=changes))
    assert home.lines("log")[1:4] == [
        "    left out messages.1.content.0: tags do not go back",
        "    replaced output_config.effort: 'high' is the nearest",
        "    not sent, the backend's API has no field for: context_management, anthropic-beta",
    ]


def test_a_request_that_failed_says_how_and_by_which_name_the_backend_knows_it(home: Home) -> None:
    home.keep(talk(yesterday())[-1])
    assert home.lines("log") == [
        f"{day()} 12:00:27  01a2b3c4d5e  claude-opus-5-5 → claude claude-opus-5-5  refused (400)  2.5 s",
        "    the backend's request id: req_9",
    ]


def test_a_key_that_a_backend_repeated_is_not_shown(home: Home) -> None:
    """Also where an older clew kept it."""
    home.keep(turn(tries=(Try(backend="glm", status=401, why="Incorrect API key: sk-ant-api03-0123456789abcdef"),)))
    for arguments in (("log",), ("log", "--json"), ("status",), ("status", "--json")):
        said = home.clew(*arguments).output
        assert ("Incorrect API key" in said, "0123456789abcdef" in said) == (True, False), arguments


def test_what_was_cut_has_counts_that_are_about_right(home: Home) -> None:
    cut = turn(
        recorded("r", whole=False), at=yesterday(), outcome="cut", usage=TokenUsage(input=5, estimated=True), changes=()
    )
    home.keep(cut)
    assert [home.lines("log")[0].split("  ")[3], home.lines("log")[1]] == [
        "stopped",
        "    tokens: about 5 in, 0 out; cache 0 read, 0 written",
    ]


def test_the_last_ones_are_listed_oldest_first_and_of_one_thread_if_asked(home: Home) -> None:
    other = turn(recorded("other", thread="ff00"), at=yesterday() + 100)
    home.keep(*talk(yesterday()), other)

    def ids(*arguments: str) -> list[str]:
        return [json.loads(line)["id"] for line in home.lines("log", "--json", *arguments)]

    assert ids() == ["x-r0", "x-r1", "x-g", "x-refused", "x-other"]
    assert ids("-n", "2") == ["x-refused", "x-other"]
    assert ids("--thread", "01a2", "-n", "2") == ["x-g", "x-refused"]
    assert ids("-n", "0") == []
    assert ids("--principal", "team") == []


def test_json_has_all_that_is_known_one_line_each(home: Home) -> None:
    [first, *_] = talk(yesterday())
    home.keep(first)
    [line] = home.lines("log", "--json")
    assert json.loads(line) == {
        "id": "x-r0",
        "principal": "local",
        "thread": THREAD,
        "started": yesterday() - 2.5,
        "ended": yesterday(),
        "asked_model": "claude-opus-5-5",
        "backend": "claude",
        "model": "claude-opus-5-5",
        "session": "",
        "agent": "",
        "outcome": "whole",
        "status": 200,
        "first_byte": 0.5,
        "attempts": 1,
        "changes": [{"step": "thinking", "path": "messages.1.content.0", "what": "left out", "why": "made by glm"}],
        "usage": {
            "input": 10,
            "output": 20,
            "cache_read": 30,
            "cache_written": 40,
            "estimated": False,
            "thinking": None,
            "micro_usd": None,
        },
        "kind": "messages",
        "streamed": False,
        "stop_reason": "",
        "request_id": "",
        "heals": 0,
        "kept": 0,
        "tries": [],
        "betas": [],
        "dialect": "anthropic",
        "client": "",
        "key": "",
        "team": "",
    }


def test_before_the_first_request_it_says_how_to_begin_and_makes_nothing(home: Home) -> None:
    begin = "No requests yet. Begin with `clew run -- claude`, or point a client at `clew serve`."
    assert home.lines("log") == [begin]
    assert home.lines("log", "--json") == []
    assert not home.file.exists()
    home.keep()
    assert home.lines("log") == [begin]
    assert home.lines("log", "-n", "0") == []


def test_a_backends_words_cannot_steer_the_terminal(home: Home) -> None:
    evil = Change("thinking", "messages.1", "left out", "\x1b]0;owned\x07")
    home.keep(turn(recorded("r"), at=yesterday(), asked_model="\x1b[2Jm", changes=(evil,)))
    assert "\x1b" not in "".join(home.lines("log"))
    assert "    left out messages.1: \\x1b]0;owned\\x07" in home.lines("log")


def test_a_config_that_cannot_be_used_keeps_nobody_from_the_log(home: Home) -> None:
    home.keep(*talk(yesterday()))
    before = home.lines("log")
    home.config.write_text("= nonsense")
    done = home.clew("log")
    assert (done.exit_code, done.stdout.splitlines()) == (0, before)


def test_a_store_of_a_newer_clew_is_refused_with_its_words(home: Home) -> None:
    home.keep()
    connection = connected(home.file)
    connection.pragma("user_version", 99)
    connection.close()
    code, says = home.refused("log")
    assert (code, "has schema 99, written by a newer clew" in says) == (1, True)


@pytest.mark.slow
def test_following_shows_what_comes_and_ctrl_c_ends_it_quietly_with_0(home: Home) -> None:
    first, second, third, refused = talk(yesterday())
    home.keep(first, second)
    following = home.start("log", "-f", "-n", "1", "--json")
    assert following.stdout is not None
    assert json.loads(following.stdout.readline())["id"] == "x-r1"
    home.keep(third)
    assert json.loads(following.stdout.readline())["id"] == "x-g"
    home.keep(refused)
    assert json.loads(following.stdout.readline())["id"] == "x-refused"
    following.send_signal(signal.SIGINT)
    assert following.communicate(timeout=30) == ("", "")
    assert following.returncode == 0


@pytest.mark.slow
def test_following_may_begin_before_anything_is_there_and_goes_on_after_a_deletion(home: Home) -> None:
    first, second, *_ = talk(yesterday())
    following = home.start("log", "-f")
    assert following.stdout is not None
    assert following.stderr is not None
    assert following.stderr.readline() == "No requests yet. Waiting for the first one; Ctrl-C stops.\n"
    home.keep(first)
    assert "claude-opus-5-5 → claude" in following.stdout.readline()
    with home.store() as store:
        store.forget("local", THREAD, at=first.exchange.started).result(120)
        store.record(second).result(120)
    lines = [following.stdout.readline() for _ in range(4)]
    assert [f"{day()} 12:00:07" in line for line in lines].count(True) == 1
    following.send_signal(signal.SIGINT)
    following.communicate(timeout=30)
    assert following.returncode == 0


@pytest.mark.slow
def test_a_reader_of_what_is_followed_who_leaves_ends_it_without_a_word(home: Home) -> None:
    first, second, *_ = talk(yesterday())
    home.keep(first)
    with home.start("log", "-f") as following:
        assert following.stdout is not None
        assert following.stderr is not None
        assert "claude-opus-5-5 → claude" in following.stdout.readline()
        following.stdout.close()
        home.keep(second)
        assert (following.stderr.read(), following.wait(120)) == ("", 1)
