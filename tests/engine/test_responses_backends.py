"""Claude Code's kind of client on backends that speak the Responses API: nothing is refused, and each maker gets its own back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clew.backends.row import Backend
from clew.settings.load import load
from clew.testing import Simulator
from tests.engine.gate import Answer, Gate, claude
from tests.manifest import proves

Json = dict[str, Any]
KINDS = ["openai", "azure", "xai", "openrouter", "deepseek", "vllm", "lmstudio", "ollama", "bedrock", "copilot"]
MODELS = {"bedrock": "openai.gpt-5.6", "copilot": "gpt-5.6"}
"""What is asked for where no preset names a model."""
UNASKED = ("bedrock", "copilot")
"""Without a row of their own nobody asks them for summaries: their thoughts come without text, and go back all the same."""
TOOLS = [{"name": "Read", "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}}}]
HELLO: Json = {"role": "user", "content": "What is in a.py?"}


def row(tmp_path: Path, simulator: Simulator, name: str, **more: str) -> Backend:
    """The backend as a user would configure it."""
    table = {**simulator.backend, **more}
    file = tmp_path / f"{name}.toml"
    file.write_text(f"[backends.{name}]\n" + "".join(f'{key} = "{value}"\n' for key, value in table.items()))
    return load(file, {"CLEW_HOME": str(tmp_path)}).settings.backends[name]


def ask(gate: Gate, messages: list[Json], **more: Any) -> Answer:
    body = {"model": "claude-opus-5-5", "max_tokens": 2000, "tools": TOOLS, "messages": messages, **more}
    answer = gate.ask({"thinking": {"type": "adaptive", "display": "summarized"}, **body})
    assert answer.status == 200, answer.raw
    return answer


def going_on(messages: list[Json], answer: Answer) -> list[Json]:
    """The history with the answer, and the results that it asks for."""
    said = answer.json["content"]
    results = [
        {"type": "tool_result", "tool_use_id": each["id"], "content": "ok"} for each in said if each["type"] == "tool_use"
    ]
    return [*messages, {"role": "assistant", "content": said}, {"role": "user", "content": results or "And?"}]


def verdicts(simulator: Simulator) -> list[bool]:
    return [entry["verdict"]["ok"] for entry in simulator.journal()]


def fates(simulator: Simulator) -> list[list[tuple[str, str]]]:
    """Of each request, whose thoughts it held, and what became of each."""
    return [[(piece["whose"], piece["fate"]) for piece in entry["thinking"]] for entry in simulator.journal()]


@pytest.mark.parametrize("vendor", KINDS)
def test_a_tool_loop_with_another_maker_in_between(tmp_path: Path, vendor: str) -> None:
    with Simulator(kind=f"{vendor}-responses", scenario="loop") as maker, Simulator(scenario="loop") as other:
        named = {"model": MODELS[vendor]} if vendor in MODELS else {}
        with Gate(tmp_path, row(tmp_path, maker, "maker", **named), claude(other)) as gate:
            messages = [HELLO]
            for name in ("maker", "maker", "claude", "maker"):
                gate.use(name)
                answer = ask(gate, messages)
                first = answer.json["content"][0]
                assert first["type"] == "thinking" and (first["thinking"] or vendor in UNASKED)
                messages = going_on(messages, answer)
        assert verdicts(maker) == [True] * 3
        assert verdicts(other) == [True]
        own = [[piece for piece in pieces if piece[0] == "own"] for pieces in fates(maker)]
        assert own == [[], [("own", "kept")], [("own", "kept")] * 2]


@proves("case:83")
def test_an_organisation_that_may_have_no_summaries_is_asked_for_one_once(tmp_path: Path) -> None:
    with Simulator(kind="openai-responses", scenario="loop") as maker:
        backend = row(tmp_path, maker, "maker", key="sim-unverified-1")
        with Gate(tmp_path, backend) as gate:
            answer = ask(gate, [HELLO])
            ask(gate, going_on([HELLO], answer))
        assert verdicts(maker) == [False, True, True]
        asked = [json.loads(maker.body(entry["n"])).get("reasoning", {}) for entry in maker.journal()]
        assert [each.get("summary") for each in asked] == ["auto", None, None]


@proves("case:83")
def test_another_conversation_of_that_organisation_is_not_refused_again(tmp_path: Path) -> None:
    """What an account may not have is known of the account; another one is asked as usual, and the change says why."""
    with Simulator(kind="openai-responses") as maker:
        rows = [row(tmp_path, maker, name, key=f"sim-{name}-1") for name in ("unverified", "verified")]
        with Gate(tmp_path, *rows) as gate:
            for name, words in (("unverified", "One."), ("unverified", "Two."), ("verified", "Three.")):
                gate.use(name)
                ask(gate, [{"role": "user", "content": words}])
            assert gate.store is not None
            told = gate.store.exchanges("local", limit=2)[1].changes
        assert verdicts(maker) == [False, True, True, True]
        asked = [json.loads(maker.body(entry["n"])).get("reasoning", {}) for entry in maker.journal()]
        assert [each.get("summary") for each in asked] == ["auto", None, None, "auto"]
        assert any("as in another conversation of this account" in change.why for change in told)


@proves("case:89")
@pytest.mark.parametrize("vendor", ["openai", "azure"])
def test_what_one_account_encrypted_never_goes_to_another(tmp_path: Path, vendor: str) -> None:
    with Simulator(kind=f"{vendor}-responses", scenario="loop") as maker:
        rows = [row(tmp_path, maker, name, key=f"sim-{name}-1") for name in ("first", "second")]
        with Gate(tmp_path, *rows) as gate:
            messages = [HELLO]
            for name in ("first", "second", "first"):
                gate.use(name)
                messages = going_on(messages, ask(gate, messages))
        assert verdicts(maker) == [True] * 3
        assert [len(pieces) for pieces in fates(maker)] == [0, 0, 1]


@proves("case:81")
def test_thoughts_that_the_maker_can_read_no_more_are_left_out_after_one_refusal(tmp_path: Path) -> None:
    with (
        Simulator(kind="openai-responses", scenario="loop", seed=1) as before,
        Gate(tmp_path, row(tmp_path, before, "maker", account="ours")) as gate,
    ):
        messages = going_on([HELLO], ask(gate, [HELLO]))
    with Simulator(kind="openai-responses", scenario="loop", seed=2) as after:
        with Gate(tmp_path, row(tmp_path, after, "maker", account="ours")) as gate:
            messages = going_on(messages, ask(gate, messages))
            ask(gate, messages)
        assert verdicts(after) == [False, True, True]
        assert [len(pieces) for pieces in fates(after)][1:] == [0, 1]


def test_sampling_and_a_short_answer_are_brought_into_what_the_model_takes(tmp_path: Path) -> None:
    with Simulator(kind="openai-responses") as maker, Gate(tmp_path, row(tmp_path, maker, "maker")) as gate:
        ask(gate, [HELLO], temperature=0.5, max_tokens=1, stop_sequences=["x"], thinking={"type": "disabled"})
        assert verdicts(maker) == [True]


@proves("case:88")
def test_marks_and_messages_of_the_system_go_where_they_stand(tmp_path: Path) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": "Be brief.", **mark}]
    late = {"role": "system", "content": [{"type": "text", "text": "Mind the tests."}]}
    asked = {"role": "user", "content": [{"type": "text", "text": "Hi", **mark}]}
    with Simulator(kind="openai-responses") as maker, Gate(tmp_path, row(tmp_path, maker, "maker")) as gate:
        ask(gate, [asked, late], system=system)
        assert verdicts(maker) == [True]
        sent = json.loads(maker.body(maker.journal()[0]["n"]))["input"]
        assert [item["role"] for item in sent] == ["developer", "user", "developer"]
        assert ["prompt_cache_breakpoint" in item["content"][0] for item in sent] == [True, True, False]
