"""`clew ask`: the answer on standard output and nothing else, in a pipe and on a terminal."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest

from clew.cli.command import error_text
from clew.errors import BackendRejected, RequestInvalid
from clew.testing import Simulator
from tests.chat.conversation.test_blocking import PNG
from tests.cli.homes import Home
from tests.cli.ptys import on_terminal
from tests.gateway.served import MOST_SECONDS, Served, backend
from tests.manifest import proves, public
from tests.waiting import until

pytestmark = pytest.mark.slow

SAID = "You said: “{}”\n"


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def home(tmp_path: Path, simulator: Simulator) -> Home:
    simulator.reset()
    row = f'url = "{simulator.url}"\nrealm = "anthropic"\nkey = "{simulator.key}"\n'
    local = 'preset = "ollama"\n'
    rows = {"claude": row, "second": row, "gone": row.replace(simulator.url, "http://127.0.0.1:9"), "local": local}
    home = Home(tmp_path / "home", "".join(f"[backends.{name}]\n{row}" for name, row in rows.items()))
    home.config.write_text(f'active = "claude"\n{home.config.read_text()}')
    home.config.chmod(0o600)
    return home


def asked(simulator: Simulator, n: int = -1) -> dict[str, Any]:
    """What came to the backend."""
    return json.loads(simulator.body(simulator.journal()[n]["n"]))


def words(simulator: Simulator) -> Any:
    return asked(simulator)["messages"][-1]["content"]


# In a pipe


def test_a_model_that_the_backend_does_not_have_is_said_to_be_missing(home: Home) -> None:
    done = home.clew("ask", "--model", "gpt-4", "Hi")
    said = "Error: claude says: model: gpt-4. It has no model of this name: `clew models` lists the models"
    assert (done.exit_code, done.stderr.splitlines()[0]) == (3, said)


def test_the_answer_goes_to_stdout_and_what_it_took_to_stderr(home: Home, simulator: Simulator) -> None:
    done = home.clew("ask", "Why", "is", "it?")
    assert (done.exit_code, done.stdout) == (0, SAID.format("Why is it?"))
    [line] = done.stderr.splitlines()
    assert line.startswith("claude, claude-sonnet-5-5 · ")
    assert " tokens in, " in line
    assert " · $0.000" in line
    assert home.clew("ask", "-q", "Why?").stderr == ""
    assert asked(simulator)["thinking"] == {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("question", "piped", "said"),
    [
        (["Sum up."], "One.\nTwo.\n", "Sum up.\n\nOne.\nTwo."),
        (["-"], "Why?\n", "Why?"),
        ([], "Why?\n", "Why?"),
        (["Why?"], "", "Why?"),
        (["Why?"], "\n", "Why?"),
    ],
)
def test_what_is_piped_in_joins_the_question_or_is_it(
    home: Home, simulator: Simulator, question: list[str], piped: str, said: str
) -> None:
    assert home.clew("ask", *question, input=piped).exit_code == 0
    assert words(simulator) == said


def test_json_is_one_object_with_all_that_is_known(home: Home) -> None:
    done = home.clew("ask", "--json", "Why? [[scenario:thinking]]")
    told = json.loads(done.stdout)
    assert (done.exit_code, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    shown = home.json("show", told["thread"])
    assert (told.pop("thread"), told.pop("turn")) == (shown["thread"]["id"], shown["tree"][0]["exchanges"][0])
    assert told.pop("usage").keys() >= {
        *("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
        *("thinking_tokens", "thinking_tokens_estimated", "estimated"),
    }
    assert told.pop("cost").keys() == {"usd", "estimated"}
    assert told == {
        "answer": told["answer"],
        "thinking": told["thinking"],
        "calls": [],
        "outcome": "whole",
        "error": None,
        "stop_reason": "end_turn",
        "backend": "claude",
        "model": "claude-sonnet-5-5",
        "cache_efficiency": 0.0,
        "changes": [],
    }
    assert told["answer"]
    assert told["thinking"]


@public("cli")
@proves("req:C34")
def test_a_pipe_gets_pictures_of_what_a_terminal_would_obey_and_json_gets_the_text(home: Home) -> None:
    """The simulator repeats what it is told."""
    evil = "a\x1b]0;owned\x07b"
    assert home.clew("ask", evil).stdout == SAID.format("a␛]0;owned␇b")
    assert json.loads(home.clew("ask", "--json", evil).stdout)["answer"] == SAID.format(evil).strip()


def test_thinking_is_shown_beside_the_answer_if_that_is_wanted(home: Home, simulator: Simulator) -> None:
    done = home.clew("ask", "--show-thinking", "--effort", "max", "Why? [[scenario:redacted]]")
    assert "This is going to be delicate." in done.stderr
    assert "🔒 2 of 3 thoughts cannot be read: the provider hides them" in done.stderr
    assert "delicate" not in done.stdout
    assert asked(simulator)["output_config"] == {"effort": "max"}
    assert home.clew("ask", "--no-thinking", "Why?").exit_code == 0
    assert asked(simulator)["thinking"] == {"type": "between_tools"}, "off, in this model's own words"


def test_a_conversation_goes_on_with_whom_it_is_told(home: Home, simulator: Simulator) -> None:
    home.clew("ask", "--model", "claude-opus-5-5", "One.")
    assert home.clew("ask", "--thread", "last", "--backend", "second", "--system", "Be brief.", "Two.").exit_code == 0
    said = asked(simulator)
    assert (said["model"], said["system"]) == ("claude-opus-5-5", "Be brief.")
    assert [message["role"] for message in said["messages"]] == ["user", "assistant", "user"]
    assert len(home.json("show")) == 1


def test_a_backend_is_asked_once_and_a_client_in_the_same_thread_goes_on_with_its_own(tmp_path: Path) -> None:
    """As a live session of Claude Code has it: a question on another backend does not take the session there."""
    with Simulator() as claude, Simulator(kind="deepseek-chat") as deepseek:
        other = f'\n[backends.deepseek]\npreset = "deepseek"\ndialect = "openai-chat"\nurl = "{deepseek.url}/v1"\n'
        config = f'active = "claude"\n{backend("claude", claude.url)}realm = "anthropic"\n{other}key = "{deepseek.key}"\n'
        with Served(config) as gateway:
            url, key = gateway.url, {"x-api-key": "a-gateway-key", "x-claude-code-session-id": "a-session"}
            client = anthropic.Anthropic(base_url=url, api_key="a-gateway-key", default_headers=key)
            talk = [{"role": "user", "content": "One."}]

            def answered() -> str:
                reply = client.messages.with_raw_response.create(model="claude-opus-5-5", max_tokens=2000, messages=talk)
                talk.append({"role": "assistant", "content": [block.to_dict() for block in reply.parse().content]})
                talk.append({"role": "user", "content": "And?"})
                return reply.headers["x-clew-backend"]

            assert answered() == "claude"
            aside = gateway.clew("ask", "--thread", "last", "--backend", "deepseek", "--json", "A quick question.")
            assert json.loads(aside.stdout)["backend"] == "deepseek", aside.stderr
            assert answered() == "claude"
            assert len({exchange.thread for exchange in gateway.exchanges()}) == 1


def test_files_go_before_the_question(home: Home, simulator: Simulator, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.PDF").write_bytes(b"%PDF-1.4")
    (tmp_path / "c.csv").write_text("height,width\n1,2\n")
    (tmp_path / "system.txt").write_text("Be kind.")
    files = [argument for name in ("a.png", "b.PDF", "c.csv") for argument in ("--attach", str(tmp_path / name))]
    assert home.clew("ask", *files, "--system", f"@{tmp_path}/system.txt", "What?").exit_code == 0
    said = asked(simulator)
    assert [block["type"] for block in said["messages"][0]["content"]] == ["image", "document", "document", "text"]
    source = {"type": "text", "media_type": "text/plain", "data": "height,width\n1,2\n"}
    assert said["messages"][0]["content"][2] == {"type": "document", "source": source, "title": "c.csv"}
    assert said["system"] == "Be kind."


def test_what_was_changed_on_the_way_is_told_but_not_that_a_backend_has_its_own_model(
    home: Home, simulator: Simulator
) -> None:
    """Which one answered is told anyway, with every answer."""
    home.config.write_text(
        home.config.read_text().replace("[backends.second]\n", '[backends.second]\nmodel = "claude-opus-5-5"\n')
    )
    plain = home.clew("ask", "--backend", "second", "--model", "claude-sonnet-5-5", "Hi")
    assert [line.partition(" · ")[0] for line in plain.stderr.splitlines()] == ["second, claude-opus-5-5"]
    home.config.write_text(home.config.read_text().replace('realm = "anthropic"', 'realm = "elsewhere"', 1))
    changed = home.clew("ask", "--thread", "last", "--backend", "claude", "--model", "claude-opus-5-5", "And now?")
    assert changed.stderr.splitlines()[1:] == ["changed on the way to claude: 1 left out (`clew log` says why)"]


# What goes wrong


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "There is no question"),
        (("--backend", "nope", "Hi"), 2, "There is no backend 'nope'; there are: claude, gone, local, second."),
        (("--thread", "zz", "Hi"), 2, "There is no thread 'zz'"),
        (("--show-thinking", "--no-thinking", "Hi"), 2, "contradict each other"),
        (("--system", "@/nowhere", "Hi"), 2, "--system @/nowhere: No such file"),
        (("--attach", "/nowhere.png", "Hi"), 2, "does not exist"),
        (
            ("--attach", str(shutil.which("true")), "Hi"),
            2,
            "cannot be attached: models read images (PNG, JPEG, GIF, WebP), PDF and text files.",
        ),
        (("--backend", "local", "Hi"), 5, "no model is known for 'local'"),
        (("--backend", "gone", "Hi"), 3, "gone: "),
    ],
)
def test_mistakes_have_a_code_and_a_sentence(home: Home, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = home.clew("ask", *arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert words in done.stderr


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ("status 401", 4, "claude refused every key"),
        ("status 529", 3, "claude says: Overloaded"),
        ("status 400 message='evil \x1b[2J words'", 3, "evil ␛[2J words"),
    ],
)
def test_a_refusal_says_what_is_kept_and_how_to_go_on(
    home: Home, simulator: Simulator, fault: str, code: int, words: str
) -> None:
    simulator.fault(fault, times=None)
    done = home.clew("ask", "Hi")
    assert (done.exit_code, done.stdout) == (code, "")
    assert words in done.stderr
    [thread] = home.json("show")
    assert f"the question is kept: `clew chat --thread {thread['id']}` continues there" in done.stderr


def test_an_answer_that_broke_off_is_shown_as_far_as_it_came(home: Home) -> None:
    done = home.clew("ask", "Hi [[scenario:cut-off]]")
    assert (done.exit_code, done.stdout) == (3, "And here it ends, although there was more to say\n")
    assert "≈" in done.stderr.splitlines()[0]
    assert "the finished part is kept" in done.stderr
    done = home.clew("ask", "--json", "Hi [[scenario:cut-off]]")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["outcome"], told["thinking"]) == (3, "cut", "So far all is well.")
    assert told["error"] in done.stderr


@pytest.mark.parametrize(
    ("scenario", "words"), [("refusal", "the model refused to continue"), ("only-thinking", "the model said nothing")]
)
def test_what_the_text_does_not_tell_is_told_beside_it(home: Home, scenario: str, words: str) -> None:
    done = home.clew("ask", f"Hi [[scenario:{scenario}]]")
    assert (done.exit_code, done.stderr.splitlines()[0]) == (0, words)


# As a process


def test_ctrl_c_stops_the_answer_and_keeps_what_was_finished(home: Home, simulator: Simulator) -> None:
    """What came before it is on standard output already."""
    simulator.fault("stall 60 before=message_delta")
    process = home.start("ask", "Hi [[scenario:thinking]]")
    until(lambda: simulator.journal()[-1:] and home.file.exists())
    with home.store() as store:
        until(lambda: store.threads("local", limit=1))
    assert process.stdout is not None
    first = process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=MOST_SECONDS)
    assert process.returncode == 130
    assert (first + out).strip()
    assert "stopped; the finished part is kept: `clew chat --thread " in err
    assert "Traceback" not in err
    shown = home.lines("show", "last")
    assert any(line.endswith("stopped") for line in shown)


def test_a_reader_that_leaves_ends_it_quietly(home: Home) -> None:
    process = home.start("ask", "x" * 100_000)
    assert process.stdout is not None
    process.stdout.close()
    process.wait(MOST_SECONDS)
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.returncode in (0, 1)


def test_on_a_terminal_the_answer_is_drawn(home: Home) -> None:
    with on_terminal(home, "ask", "**Hello** [[scenario:thinking]]") as terminal:
        assert terminal.ended() == 0
        lines = terminal.screen.lines
    assert lines[0].startswith("thought for 0 s, ≈")
    assert lines[-1].startswith("claude, claude-sonnet-5-5 · ")
    assert terminal.screen.cursor
    assert not any("waiting" in line or "thinking…" in line for line in lines)


def test_anyone_who_is_waited_for_is_told_and_can_leave(home: Home, simulator: Simulator) -> None:
    """A question on standard input has no end until somebody ends it."""
    with on_terminal(home, "ask", "-") as terminal:
        terminal.until("reading standard input until it ends (Ctrl-D); Ctrl-C stops")
        terminal.type("\x03")
        assert terminal.ended() == 130
    assert (simulator.journal(), any("Traceback" in line for line in terminal.screen.lines)) == ([], False)


def test_who_is_told_to_end_leaves_the_terminal_as_it_was(home: Home, simulator: Simulator) -> None:
    simulator.fault("stall 60 before=message_delta")
    with on_terminal(home, "ask", "Hi [[scenario:thinking]]") as terminal:
        terminal.until("thought for")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.ended() == 128 + signal.SIGTERM
        assert terminal.screen.cursor
    shown = home.lines("show", "last")
    assert any(line.endswith("stopped") for line in shown), shown


def test_a_gateway_that_runs_is_used(home: Home, simulator: Simulator) -> None:
    """It is the one that asks; what is kept is the same."""
    config = home.config.read_text()
    home.config.write_text(config + "[gateway]\nport = 0\nadmin_port = 0\n")
    gateway = home.start("serve")
    try:
        assert gateway.stdout is not None
        assert "listens" in gateway.stdout.readline()
        done = home.clew("ask", "Why?")
        assert (done.exit_code, done.stdout) == (0, SAID.format("Why?"))
    finally:
        gateway.send_signal(signal.SIGTERM)
        _, log = gateway.communicate(timeout=MOST_SECONDS)
    assert '"event":"request"' in log
    assert json.loads(home.clew("ask", "--json", "--thread", "last", "And?").stdout)["answer"]
    assert len(asked(simulator)["messages"]) == 3


def test_ctrl_c_before_anything_is_asked_ends_it_as_a_shell_expects(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it still reads the config, for example: without a word about aborting."""

    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("clew.cli.conversation.find_installation", interrupted)
    done = home.clew("ask", "Hi")
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "\n")


def test_a_backends_own_words_are_said_to_be_its() -> None:
    """They may be about anything; what names the backend is clew's own sentence, or says enough."""
    refused = BackendRejected("model: nope", status=400, body=b"")
    assert error_text(refused, "claude") == "claude says: model: nope"
    assert error_text(BackendRejected("claude takes no \x1b", status=401, body=b""), "claude") == "claude takes no ␛"
    assert error_text(refused) == error_text(RequestInvalid("model: nope"), "claude") == "model: nope"
