"""`clew check`: what it prints, what it repairs, and how it ends."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from clew.cli import main
from clew.model.origin import Origin
from clew.settings.home import write_private
from clew.thinking.keyring import read_secret_text, secret_file_of
from clew.thinking.seal import Seal
from tests.build import assistant, redacted, text, thinking, user
from tests.counts import examples
from tests.forking import ClewProcess, run_clew
from tests.manifest import proves, public
from tests.waiting import until

MODEL = "claude-opus-5-5"
SECRET = "a secret of more than thirty-two characters"
CLEW = [str(Path(sys.executable).with_name("clew"))]


def request(*messages: Any, **more: Any) -> bytes:
    return json.dumps({"model": MODEL, "max_tokens": 2000, "messages": messages} | more).encode()


def clew(*arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Result:
    return CliRunner(env={"CLEW_SECRET": "", "CLEW_CONFIG": "", "CLEW_HOME": "/nowhere"} | (env or {})).invoke(
        main, ["check", *arguments], input=stdin
    )


def sealed(words: str, realm: str = "glm") -> dict[str, Any]:
    seal = Seal("local", Origin(realm, realm, "glm-5", "me"), "ex_1", 0, b"its own")
    return thinking(words, read_secret_text(SECRET, name="x").sealer().mint(seal, words))


GOOD = request(user("Why?"), assistant(thinking("", "EuYBCkQ"), text("Because.")), user("Really?"))
BAD = request(user("Why?"), assistant(thinking("Hm.", ""), text("Because.")), user("Really?"))


# ── what it says


def test_a_clean_request_ends_with_0_and_says_what_cannot_be_checked() -> None:
    result = clew("-", stdin=GOOD)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[:7] == [
        "standard input: a request for claude-opus-5-5, 3 messages, 1 thinking block",
        "",
        "  path                  type      origin            bytes  for claude-opus-5-5",
        "  messages.1.content.0  thinking  native signature  60     goes",
        "",
        "no violation for claude-opus-5-5",
        "",
    ]
    unchecked = [line.split()[0] for line in result.stdout.splitlines()[8:]]
    assert {"R33.invalid-signature", "R44.conversation", "R8.prompt-too-long"} <= set(unchecked)
    assert "{model}" not in result.stdout


def test_a_violation_has_rule_place_the_vendors_words_and_what_would_be_right(tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(BAD)
    result = clew(str(file))
    assert result.exit_code == 1
    assert result.stdout.splitlines()[:9] == [
        "bad.json: a request for claude-opus-5-5, 3 messages, 1 thinking block",
        "",
        "  path                  type      origin    bytes  for claude-opus-5-5",
        "  messages.1.content.0  thinking  unsigned  56     left out: unsigned: no maker accepts it",
        "",
        "1 violation for claude-opus-5-5",
        "  R33.empty-signature  messages.1.content.0",
        "    the API says  messages.1.content.0: Invalid `signature` in `thinking` block",
        "    right         Leave the block out: no backend accepts it without its signature.",
    ]


def test_each_target_has_its_own_verdicts_and_violations() -> None:
    body = request(user("Why?"), assistant(thinking("", "EuYB"), text("x")), user("y"), thinking={"type": "disabled"})
    result = clew("-", "--for", "claude-opus-4-8", "--for", MODEL, "--for", "glm", stdin=body)
    assert result.exit_code == 1
    assert "for claude-opus-4-8  for claude-opus-5-5  for glm" in result.stdout
    assert "no violation for claude-opus-4-8" in result.stdout
    assert "1 violation for claude-opus-5-5\n  R10.disabled-unsupported  " in result.stdout
    assert "the rules of glm are not known" in result.stdout
    assert "left out: made by an unknown backend" in result.stdout


def test_anthropic_means_the_model_that_the_request_asks_for() -> None:
    assert "1 violation for anthropic" in clew("-", "--for", "anthropic", stdin=BAD).stdout


@pytest.mark.parametrize(
    ("block", "origin"),
    [
        (thinking("x", "EuYB"), "native signature"),
        (thinking("x", ""), "unsigned"),
        (thinking("x", None), "unsigned"),
        (redacted("abc"), "redacted"),
        (sealed("x"), "sealed"),
    ],
)
def test_the_origin_is_told_as_far_as_the_bytes_tell_it(block: dict[str, Any], origin: str) -> None:
    [conversation] = json.loads(clew("-", "--json", stdin=request(user("a"), assistant(block), user("b"))).stdout)[
        "conversations"
    ]
    assert [each["origin"] for each in conversation["blocks"]] == [origin]


def test_with_the_secret_a_seal_tells_its_maker_and_goes_back_to_it() -> None:
    body = request(user("a"), assistant(sealed("x"), text("y")), user("b"))
    [conversation] = json.loads(
        clew("-", "--json", "--for", MODEL, "--for", "glm", stdin=body, env={"CLEW_SECRET": SECRET}).stdout
    )["conversations"]
    [block] = conversation["blocks"]
    assert block["origin"] == "sealed, glm glm-5"
    assert block["verdicts"] == {
        MODEL: {"what": "left out", "why": "made by glm"},
        "glm": {"what": "goes", "why": "unsealed to the form of its maker"},
    }


def test_a_seal_with_a_changed_byte_does_not_verify() -> None:
    block = sealed("x") | {"thinking": "y"}
    body = request(user("a"), assistant(block, text("y")), user("b"))
    result = clew("-", stdin=body, env={"CLEW_SECRET": SECRET})
    assert "sealed, does not verify" in result.stdout
    assert "left out: its seal does not verify" in result.stdout


def test_seals_of_this_clew_are_opened_with_its_own_secret(tmp_path: Path) -> None:
    """The gateway that made them sends them back to their maker, and so it is told."""
    write_private(tmp_path / "secret", secret_file_of(read_secret_text(SECRET, name="x")))
    body = request(user("Hi"), assistant(sealed("Hm."), text("Ho")), user("Go on"))
    told = [
        json.loads(clew("-", "--json", "--for", "glm", stdin=body, env={"CLEW_HOME": str(home)}).stdout)
        for home in (tmp_path, tmp_path / "elsewhere")
    ]
    blocks = [each["conversations"][0]["blocks"][0] for each in told]
    assert [(each["origin"], each["verdicts"]["glm"]["what"]) for each in blocks] == [
        ("sealed, glm glm-5", "goes"),
        ("sealed", "left out"),
    ]
    (tmp_path / "secret").chmod(0o644)
    refused = clew("-", stdin=body, env={"CLEW_HOME": str(tmp_path)})
    assert (refused.exit_code, "run `chmod 600" in refused.stderr) == (5, True)


@public("cli")
@proves("req:C35")
def test_a_sealed_block_is_a_violation_without_asking_anybody() -> None:
    body = request(user("a"), assistant(sealed("x"), redacted("clew1.x"), text("y")), user("b"))
    [conversation] = json.loads(clew("-", "--json", stdin=body).stdout)["conversations"]
    assert [(each["rule"], each["path"]) for each in conversation["violations"][MODEL]] == [
        ("R33.foreign-signature", "messages.1.content.0"),
        ("R33.invalid-data", "messages.1.content.1"),
    ]


def test_json_has_everything_and_says_whether_it_is_clean() -> None:
    result = clew("-", "--json", stdin=BAD)
    found = json.loads(result.stdout)
    assert (result.exit_code, found["kind"], found["clean"], found["file"]) == (1, "request", False, "standard input")
    [conversation] = found["conversations"]
    assert conversation["violations"][MODEL] == [
        {
            "rule": "R33.empty-signature",
            "path": "messages.1.content.0",
            "words": "messages.1.content.0: Invalid `signature` in `thinking` block",
            "right": "Leave the block out: no backend accepts it without its signature.",
        }
    ]
    assert json.loads(clew("-", "--json", stdin=GOOD).stdout)["clean"] is True


def test_a_person_is_shown_twenty_violations_and_a_program_all() -> None:
    body = request(*(each for _ in range(25) for each in (user("a"), assistant(thinking("Hm.", ""), text("b")))), user("c"))
    shown = clew("-", stdin=body).stdout
    assert (shown.count("R33.empty-signature"), "25 violations" in shown, "… and 5 more (--json has all)" in shown) == (
        20,
        True,
        True,
    )
    [conversation] = json.loads(clew("-", "--json", stdin=body).stdout)["conversations"]
    assert len(conversation["violations"][MODEL]) == 25


@pytest.mark.parametrize(("bad", "shown", "more"), [(2, 2, 58), (0, 50, 10)])
def test_of_many_blocks_a_person_is_shown_those_that_do_not_go(bad: int, shown: int, more: int) -> None:
    signatures = [""] * bad + ["EuYB"] * (60 - bad)
    body = request(
        *(each for sig in signatures for each in (user("a"), assistant(thinking("Hm.", sig), text("b")))), user("c")
    )
    lines = clew("-", stdin=body).stdout.splitlines()
    assert len([line for line in lines if line.startswith("  messages.")]) == shown
    assert f"  … and {more} blocks more (--json has all)" in lines


def test_doubled_keys_are_named() -> None:
    body = GOOD.replace(b'"max_tokens": 2000', b'"max_tokens": 1, "max_tokens": 2000').replace(
        b'"role": "user"', b'"role": "user", "role": "user"', 1
    )
    result = clew("-", stdin=body)
    assert [line.split()[2] for line in result.stdout.splitlines() if line.startswith("the key ")] == [
        "max_tokens",
        "messages.0.role",
    ]


@proves("fault:X11")
def test_control_characters_of_the_file_never_reach_the_terminal() -> None:
    body = request(user("a"), **{"\x1b]52;c;AAAA\x07\u202e": 1, "model": "\x1b[2Jm"})
    result = clew("-", stdin=body)
    assert not set(result.stdout) & {"\x1b", "\x07", "\u202e"}
    assert r"\x1b]52;c;AAAA\x07\u202e" in result.stdout


# ── what it repairs


def test_fix_prints_the_request_as_the_target_gets_it_and_the_changes_beside_it() -> None:
    result = clew("-", "--fix", stdin=BAD)
    assert result.exit_code == 0
    assert result.stdout_bytes == BAD.replace(json.dumps(thinking("Hm.", "")).encode() + b", ", b"")
    assert result.stderr == "messages.1.content.0 left out: unsigned: no maker accepts it\n"


def test_fix_gives_an_untouched_request_back_to_the_byte() -> None:
    tools = b'"tools":[{"name":"x", "input_schema":{"type":"object","n":12345678901234567890,"f":1.0}}]'
    body = GOOD.replace(b'"max_tokens": 2000', b'\n\t"max_tokens" :  2000 , %b' % tools)
    result = clew("-", "--fix", stdin=body)
    assert (result.exit_code, result.stdout_bytes, result.stderr) == (0, body, "nothing had to be changed\n")


def test_fix_for_another_model_names_that_model() -> None:
    result = clew("-", "--fix", "--for", "claude-sonnet-4-5", stdin=GOOD)
    assert json.loads(result.stdout)["model"] == "claude-sonnet-4-5"
    assert "model set: " in result.stderr


def test_what_fix_cannot_mend_is_said_and_ends_with_1() -> None:
    body = request(user("a"), tools=[{"name": "x", "input_schema": {"type": "object"}}] * 2)
    result = clew("-", "--fix", stdin=body)
    assert (result.exit_code, result.stdout_bytes) == (1, body)
    assert "R59.names-not-unique" in result.stderr


def test_a_doubled_key_that_would_have_to_be_edited_is_refused_and_nothing_is_printed() -> None:
    """Duplicate keys pass where nothing is edited, and are refused where something would have to be."""
    body = BAD.replace(b'"role": "assistant", "content"', b'"role": "assistant", "content": [], "content"')
    result = clew("-", "--fix", stdin=body)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "cannot be repaired" in result.stderr
    assert "duplicate key 'content'" in result.stderr
    assert "the key messages.1.content is there twice" in clew("-", stdin=body).stdout


@public("cli")
@proves("req:C35")
def test_fix_cleans_a_transcript_and_leaves_every_other_line(tmp_path: Path) -> None:
    lines = [
        b'{"type":"summary","summary":"x","leafUuid":"y"}',
        *(
            json.dumps({"type": "assistant", "uuid": f"u{n}", "sessionId": "s", "message": message}).encode()
            for n, message in enumerate(
                [
                    assistant(thinking("", "EuYB")) | {"id": "m0", "model": MODEL},
                    assistant(sealed("x")) | {"id": "m1", "model": MODEL},
                    assistant(text("y")) | {"id": "m1", "model": MODEL},
                    assistant(thinking("z", ""), text("y")) | {"id": "m2", "model": MODEL},
                ]
            )
        ),
        b"not json",
        b"",
    ]
    file = tmp_path / "session.jsonl"
    file.write_bytes(b"\n".join(lines))
    assert clew(str(file)).exit_code == 1

    result = clew(str(file), "--fix")

    after = result.stdout_bytes.split(b"\n")
    assert result.exit_code == 0
    assert [n for n, (a, b) in enumerate(zip(lines, after, strict=True)) if a != b] == [2, 4]
    assert [json.loads(after[n])["message"]["content"] for n in (2, 4)] == [[], [text("y")]]
    assert result.stderr.splitlines() == [
        "line 3 content.0 left out: sealed by clew; its maker is unknown without the secret",
        "line 5 content.0 left out: unsigned: no maker accepts it",
    ]
    file.write_bytes(result.stdout_bytes)
    assert clew(str(file)).exit_code == 0


def test_a_transcript_is_told_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    message = assistant(thinking("z", ""), text("y")) | {"id": "m2", "model": MODEL}
    entry = json.dumps({"type": "assistant", "uuid": "u", "message": message}).encode()
    file.write_bytes(b"\n".join([b'{"type":"summary","summary":"x"}', entry, b'{"type":']))
    result = clew(str(file))
    assert result.exit_code == 1
    assert result.stdout.splitlines()[:11] == [
        "session.jsonl: a transcript, 1 message",
        "other lines, kept as they are: summary 1",
        "line 3 column 9 is not JSON, kept as it is: unexpected end of data",
        "main, 1 message, 1 thinking block",
        "",
        "  path              type      origin    bytes  for claude-opus-5-5",
        "  line 2 content.0  thinking  unsigned  54     left out: unsigned: no maker accepts it",
        "",
        "1 violation for claude-opus-5-5",
        "  R33.empty-signature  line 2 content.0",
        "    the API says  messages.N.content.M: Invalid `signature` in `thinking` block",
    ]
    found = json.loads(clew(str(file), "--json").stdout)
    assert (found["other_lines"], [each["line"] for each in found["broken_lines"]]) == ({"summary": 1}, [3])


def test_a_block_that_nobody_can_read_is_taken_out_too(tmp_path: Path) -> None:
    message = assistant({"type": "thinking", "thinking": "x", "signature": 7}, text("y")) | {"id": "m", "model": MODEL}
    entry = json.dumps({"type": "assistant", "uuid": "u", "message": message}).encode()
    result = clew("-", "--fix", stdin=entry)
    assert json.loads(result.stdout)["message"]["content"] == [text("y")]
    assert (
        result.stderr
        == "line 1 content.0 left out: messages.N.content.M.thinking.signature.str: Input should be a valid string\n"
    )


def test_the_main_conversation_comes_first() -> None:
    entries = [
        json.dumps(
            {"type": "assistant", "uuid": "u", "isSidechain": side, "agentId": "a", "message": assistant("y")}
        ).encode()
        for side in (True, False)
    ]
    found = json.loads(clew("-", "--json", stdin=b"\n".join(entries)).stdout)
    assert [each["name"] for each in found["conversations"]] == ["main", "sub-agent a"]


# ── bad input, and how it ends


def test_bad_json_is_shown_with_line_column_and_what_was_expected() -> None:
    result = clew("-", stdin=b'{"model": "m",\n "messages": [{"role" "user"}]}')
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "standard input: a request",
        "",
        "1 violation for anthropic",
        "  R4.body-not-json  the whole request",
        "    the API says  The request body is not valid JSON: expecting ':' delimiter: line 2 column 23 (char 37)",
        "    right         Correct the JSON at that place. NaN, Infinity and trailing commas are not JSON.",
        "",
        "standard input:2:23: expecting ':' delimiter",
        '     "messages": [{"role" "user"}]}',
        "                          ^",
    ]
    [conversation] = json.loads(clew("-", "--json", stdin=b'{"a" 1}').stdout)["conversations"]
    assert conversation["not_json"] == {"line": 1, "column": 6, "reason": "expecting ':' delimiter"}


TOO_MANY = (
    b'{"model":"m","max_tokens":1,"messages":['
    + b'{"role":"user","content":"x"},' * examples(100_000, soak=999_999)
    + b'{"role":"user","content":"x"}]}'
)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        pytest.param(b"", "R4.body-empty", id="nothing"),
        pytest.param(b" \n", "R4.body-not-json", id="white space"),
        pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00", "not valid UTF-8 (byte 0x89)", id="binary"),
        pytest.param("{}".encode("utf-16"), "not valid UTF-8", id="UTF-16"),
        pytest.param(b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "nested more than 128 levels", id="deep objects"),
        pytest.param(b"[" * 10_000 + b"]" * 10_000, "nested more than 128 levels", id="deep arrays"),
        pytest.param(b"[" * 1_000_000, "nested more than 128 levels", id="open arrays"),
        pytest.param(b'{"model":"\\ud800"}', "R63.lone-surrogate", id="lone surrogate"),
        pytest.param(b'{"model":NaN}', "NaN is not a JSON value", id="NaN"),
        pytest.param(b'{"max_tokens":1e400}', "number out of range", id="infinite"),
        pytest.param(b"[]", "R4.body-not-object", id="a list"),
        pytest.param(b'"x"', "R4.body-not-object", id="a string"),
        pytest.param(b"{}", "R4.model-required", id="no fields"),
        pytest.param(b'{"model":"m","max_tokens":1,"messages":"x"}', "messages", id="messages of another type"),
        pytest.param(TOO_MANY, "R17.too-many-messages", id="too many messages"),
        pytest.param(b"[" + b"1," * 17_000_000 + b"1]", "R62.too-large", id="34 MB"),
    ],
)
@proves("fault:C7")
def test_bad_input_is_a_clear_finding_and_never_a_traceback(raw: bytes, said: str) -> None:
    began = time.process_time()
    result = clew("-", stdin=raw)
    assert time.process_time() - began < 20  # about one second here; a machine that is busy needs more
    assert result.exit_code == 1
    assert said in result.stdout
    assert isinstance(result.exception, SystemExit)
    fixed = clew("-", "--fix", stdin=raw)
    assert (fixed.exit_code, fixed.stdout) == (1, "")
    assert isinstance(fixed.exception, SystemExit)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument 'FILE'"),
        (["/no/such/file"], "does not exist"),
        (["/"], "is a directory"),
        (["-", "--fix", "--json"], "--fix prints the document for one target"),
        (["-", "--fix", "--for", "a", "--for", "b"], "--fix prints the document for one target"),
        (["-", "--what"], "No such option"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_is_wrong(arguments: list[str], said: str) -> None:
    result = clew(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_a_secret_that_is_too_short_is_wrong_usage() -> None:
    result = clew("-", stdin=GOOD, env={"CLEW_SECRET": "short"})
    assert result.exit_code == 2
    assert "CLEW_SECRET needs at least 32 characters" in result.stderr


def test_an_empty_input_is_said_so_without_a_caret_under_nothing() -> None:
    lines = clew("-", stdin=b"").stdout.splitlines()
    assert any("standard input:1:1" in line for line in lines)
    assert [line for line in lines if line.strip() == "^"] == []


def test_help_has_examples_and_the_exit_codes() -> None:
    told = clew("--help").stdout
    assert "clew check session.jsonl --fix > clean.jsonl" in told
    assert "Exit status: 0 no violation, or it works through clew; 1 violations" in told


def test_rich_is_not_loaded_where_there_is_no_terminal(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_bytes(GOOD)
    code = "import sys; from clew.cli import main\ntry: main(['check', 'r.json'])\nexcept SystemExit: pass\nassert 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, timeout=120)


@pytest.mark.slow
def test_on_a_terminal_there_are_colours_and_elsewhere_none(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_bytes(BAD)
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")} | {
        "TERM": "xterm",
        "COLUMNS": "120",
    }
    with ClewProcess(["check", "r.json"], cwd=tmp_path, stdout=theirs, env=env) as ran:
        ran.wait(120)
    os.close(theirs)
    shown = os.read(ours, 100_000)
    os.close(ours)
    assert ran.returncode == 1
    assert b"\x1b[1;31m1 violation for claude-opus-5-5" in shown
    plain = run_clew(["check", "r.json"], cwd=tmp_path, env=env, timeout=120)
    assert "\x1b" not in plain.stdout + plain.stderr


@pytest.mark.slow
def test_ctrl_c_ends_quietly_with_130(tmp_path: Path) -> None:
    # A suite that runs in the background of a shell ignores SIGINT, and so would its children.
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{listen}; from clew.cli import main; import clew.cli.check; print('ready', flush=True); main(['check', '-'])"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"CLEW_HOME": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    until(lambda: process.poll() is not None or _is_reading(process.pid))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")


def _is_reading(pid: int) -> bool:
    """Whether the process sleeps in a system call: here it can only be the read of standard input."""
    return "pipe" in Path(f"/proc/{pid}/wchan").read_text() or Path(f"/proc/{pid}/syscall").read_text().startswith("0 0x0 ")


@pytest.mark.slow
def test_a_reader_that_left_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_bytes(BAD)
    home = os.environ | {"CLEW_HOME": str(tmp_path)}
    ran = subprocess.run(
        f"{CLEW[0]} check r.json | true", shell=True, cwd=tmp_path, env=home, capture_output=True, timeout=120
    )
    assert ran.stderr == b""


# ── with a config


def test_a_users_row_about_a_model_counts(tmp_path: Path) -> None:
    """A row changes what a model takes, and adds a model that nobody knows."""
    config = tmp_path / "clew.toml"
    config.write_text('[models."claude-opus-5-5"]\nmax_tokens = 1000\n[models."claude-nova-9"]\nmax_tokens = 500\n')
    nova = GOOD.replace(MODEL.encode(), b"claude-nova-9")
    assert [clew("-", stdin=body).exit_code for body in (GOOD, nova)] == [0, 0]
    for body, words in ((GOOD, "max_tokens: 2000 > 1000"), (nova, "max_tokens: 2000 > 500")):
        result = clew("-", "--config", str(config), stdin=body)
        assert (result.exit_code, words in result.stdout) == (1, True)
    assert clew("-", stdin=nova, env={"CLEW_CONFIG": str(config)}).exit_code == 1


def test_a_backend_of_the_config_is_a_target_by_its_name(tmp_path: Path) -> None:
    """With its realm, its model and what becomes of others' reasoning; its key is not needed."""
    config = tmp_path / "clew.toml"
    config.write_text(
        '[backends.mine]\npreset = "zai"\nkey = "${NOT_SET}"\nmodel = "glm-9"\nquirks = { foreign = "text" }\n'
    )
    own = request(user("Why?"), assistant(sealed("Hm.", "zai"), text("Because.")), user("Really?"))
    result = clew("-", "--config", str(config), "--for", "mine", "--fix", stdin=own, env={"CLEW_SECRET": SECRET})
    assert (result.exit_code, json.loads(result.stdout)["messages"][1]["content"][0]["thinking"]) == (0, "Hm.")
    other = clew("-", "--config", str(config), "--for", "mine", "--fix", stdin=GOOD)
    assert "native signature" not in other.stdout and json.loads(other.stdout)["messages"][1]["content"] == [
        text("Because.")
    ]


def test_what_a_backend_in_another_dialect_cannot_be_told_is_no_clean_request(tmp_path: Path) -> None:
    """The gateway refuses it, so anyone who asks beforehand must not hear that all is well."""
    config = tmp_path / "clew.toml"
    config.write_text(
        '[backends.mine]\ndialect = "openai-chat"\nurl = "http://127.0.0.1:9/v1"\nauth = "none"\nmodel = "m"\n'
    )
    plain = {"model": MODEL, "max_tokens": 2000, "messages": [{"role": "user", "content": "hi"}]}
    search = json.dumps({**plain, "tools": [{"type": "web_search_20250305", "name": "web_search"}]})
    told = "'web_search_20250305' is run by Anthropic's servers, and this backend cannot run it"
    for body, code, said in ((json.dumps(plain), 0, {}), (search, 1, {"mine": told})):
        result = clew("-", "--config", str(config), "--for", "mine", "--json", stdin=body)
        found = json.loads(result.stdout)["conversations"][0]["cannot_be_said"]
        assert (result.exit_code, {name: told in words and told for name, words in found.items()}) == (code, said)
    page = clew("-", "--config", str(config), "--for", "mine", stdin=search)
    assert f"clew cannot translate this for mine: tools.0: {told}" in page.stdout


def test_a_config_that_cannot_be_used_ends_with_5_and_says_where(tmp_path: Path) -> None:
    config = tmp_path / "clew.toml"
    config.write_text("[models.x]\ncontxt = 1\n")
    result = clew("-", "--config", str(config), stdin=GOOD)
    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr.startswith(f"Error: {config}:2: models.x.contxt: there is no such column; did you mean 'context'?")
