"""Tool calls written as text become calls; what only looks like one stays text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clew import Translator
from clew.backends.row import Backend, chat_options_of
from clew.dialects.openai_chat.answers import read_message
from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatOptions
from clew.model.change import Change
from clew.model.facts.chat_backends import text_call_families, text_call_family, text_call_forms
from clew.model.json import JsonValue
from tests.dialects.openai_chat.chat import Told, call, chunk, stream
from tests.dialects.openai_chat.lookalikes import CALLS, HERMES, LOOKALIKES, QWEN
from tests.dialects.openai_chat.text_calls import FAMILIES, TOOLS, answered, asked, blocks
from tests.manifest import proves

LS = ["Bash", {"command": "ls"}]
SIZES = (1, 2, 3, 7, 0)

WRITTEN: dict[str, tuple[str, str, JsonValue]] = {
    "hermes": ("hermes", '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call>', LS),
    "hermes, arguments first": ("hermes", '<tool_call>\n{"arguments":{"command":"ls"},"name":"Bash"}\n</tool_call>', LS),
    "hermes, parameters": ("hermes", '<tool_call>{"name": "Bash", "parameters": {"command": "ls"}}</tool_call>', LS),
    "hermes, arguments as a text": (
        *("hermes", r'<tool_call>{"name": "Bash", "arguments": "{\"command\": \"ls\"}"}</tool_call>', LS),
    ),
    "hermes, its end in a string": (
        "hermes",
        r'<tool_call>{"name": "Bash", "arguments": {"command": "echo \"}</tool_call>"}}</tool_call>',
        ["Bash", {"command": 'echo "}</tool_call>'}],
    ),
    "hermes, without its end": ("hermes", '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}\n', LS),
    "qwen": ("qwen", '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</tool_call>', LS),
    "qwen-coder": (
        "qwen",
        "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
        LS,
    ),
    "qwen-coder without the outer tag": ("qwen", "<function=Bash><parameter=command>ls</parameter></function>", LS),
    "qwen-coder with its end alone": (
        "qwen",
        "<function=Bash>\n<parameter=command>ls</parameter>\n</function>\n</tool_call>",
        LS,
    ),
    "qwen-coder, without arguments": ("qwen", "<tool_call><function=Bash></function></tool_call>", ["Bash", {}]),
    "qwen-coder, a text about itself": (
        "qwen",
        f"<tool_call><function=Write><parameter=text>\n{QWEN}\n</parameter></function></tool_call>",
        ["Write", {"text": QWEN}],
    ),
    "seed": ("seed", "<seed:tool_call><function=Bash><parameter=command>ls</parameter></function></seed:tool_call>", LS),
    "glm": ("glm", "<tool_call>Bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>", LS),
    "glm, in one line": ("glm", "<tool_call>Bash<arg_key>command</arg_key><arg_value>ls</arg_value></tool_call>", LS),
    "glm, line ends as characters": (
        *("glm", r"<tool_call>Bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>", LS),
    ),
    "glm, without arguments": ("glm", "<tool_call>Bash</tool_call>", ["Bash", {}]),
    "grok": (
        "grok",
        '<xai:function_call name="Bash">\n  <xai:parameter name="command">ls</xai:parameter>\n</xai:function_call>',
        LS,
    ),
    "grok, plain parameters": (
        "grok",
        '<xai:function_call name="Bash"><parameter name="command">ls</parameter></xai:function_call>',
        LS,
    ),
    "grok, the name in its end": (
        "grok",
        '<xai:function_call name="Bash"><parameter name="command">ls</parameter></xai:function_call name="Bash">',
        LS,
    ),
    "gpt-oss": (
        "gpt-oss",
        '<|channel|>commentary to=functions.Bash <|constrain|>json<|message|>{"command":"ls"}<|call|>',
        LS,
    ),
    "gpt-oss, the recipient in the role": (
        "gpt-oss",
        '<|start|>assistant to=functions.Bash<|channel|>commentary json<|message|>{"command":"ls"}<|call|>',
        LS,
    ),
    "gpt-oss, without its end": ("gpt-oss", '<|channel|>commentary to=functions.Bash<|message|>{"command":"ls"}', LS),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("case", WRITTEN)
@proves("req:S3-37")
def test_each_form_becomes_a_call_at_any_cut(case: str, size: int) -> None:
    family, text, expected = WRITTEN[case]
    told = answered(family, text, size=size)

    assert blocks(told) == [expected]
    assert told.message["stop_reason"] == "tool_use"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", LOOKALIKES)
@proves("req:S3-37")
def test_what_only_looks_like_a_call_stays_text(case: str, family: str) -> None:
    changes: list[Change] = []
    for size in (1, 5, 0):
        told = answered(family, LOOKALIKES[case], size=size, context=asked(changes=changes))

        assert blocks(told) == [LOOKALIKES[case]]
        assert (told.message["stop_reason"], changes) == ("end_turn", [])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("family", CALLS)
def test_text_before_between_and_behind_calls_stays_text_in_order(family: str, size: int) -> None:
    one = CALLS[family]
    told = answered(family, f"Let me look.\n\n{one}\n{one}\nAnd now?\n{one} Done.", size=size)
    called = ["Bash", {"command": "rm -r ."}]

    assert blocks(told) == ["Let me look.\n\n", called, called, "\nAnd now?\n", called, " Done."]


def test_the_text_before_a_call_goes_on_at_once() -> None:
    told = answered("qwen", f"Look: <b>{HERMES}", size=1)
    texts = [event for event in told.events if "'text': 'Look'" in str(event) or "'text': 'L'" in str(event)]

    assert len(texts) == 1


def test_calls_get_unique_ids_also_beside_real_calls() -> None:
    deltas: list[JsonValue] = [{"content": f"{HERMES}{HERMES}"}, call(0, "toolu_msg_1_0", "Bash", "{}")]
    told = Told(stream(*deltas, finish="tool_calls"), speech=ChatAnswerOptions(text_calls="qwen"), asked=asked())
    content = told.message["content"]
    assert isinstance(content, list)
    ids = [block["id"] for block in content if isinstance(block, dict)]

    assert len(set(ids)) == len(ids) == 3


@proves("req:S3-37")
def test_each_call_is_a_change() -> None:
    changes: list[Change] = []
    answered("qwen", f"Look.\n{HERMES}\n{QWEN}", size=4, context=asked(changes=changes))

    assert [(each.step, each.path, each.what) for each in changes] == [
        ("text_calls", "content.1", "replaced"),
        ("text_calls", "content.2", "replaced"),
    ]
    assert "Bash" in changes[0].why
    assert "hermes" in changes[0].why


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("command>5", "5"),
        ("command>null", "null"),
        ("timeout>5", 5),
        ("timeout> 5.0\n", 5),
        ("timeout>soon", "soon"),
        ("ratio>0.5", 0.5),
        ("ratio>2", 2),
        ("background>True", True),
        ("background>perhaps", "perhaps"),
        ('files>["a"]', ["a"]),
        ("files>a, b", "a, b"),
        ('options>{"a": 1}', {"a": 1}),
        ("options>[1]", "[1]"),
        ("mode>7", "7"),
        ("maybe>null", None),
        ("maybe>7", 7),
        ("referred>7", 7),
        ("anything>7", "7"),
        ('anything>{"a": 1}', {"a": 1}),
        ("unknown>7", "7"),
    ],
)
def test_arguments_that_are_texts_get_the_types_of_the_schema(text: str, value: JsonValue) -> None:
    told = answered("qwen", f"<function=Bash><parameter={text}</parameter></function>")

    assert blocks(told) == [["Bash", {text.split(">")[0]: value}]]


@pytest.mark.parametrize("family", CALLS)
def test_an_end_by_length_makes_no_call_of_its_beginning(family: str) -> None:
    text = f"Look.\n{CALLS[family]}"
    end = text.index("</function>") + len("</function") if family == "qwen" else len(text) - 1
    for cut in range(len("Look.\n<"), end):
        told = answered(family, text[:cut], finish="length")

        assert blocks(told) == [text[:cut]]
        assert told.message["stop_reason"] == "max_tokens"


@pytest.mark.parametrize("family", CALLS)
def test_a_stream_that_breaks_ends_in_an_error_without_half_a_call(family: str) -> None:
    half = CALLS[family][:-20]
    told = Told(chunk({"content": f"Look. {half}"}), speech=ChatAnswerOptions(text_calls=family), asked=asked())

    assert told.stream.failure is not None
    assert "tool_use" not in str(told.events)
    assert "content_block_stop" not in [event.type for event in told.events]


def test_a_call_that_breaks_ends_the_search() -> None:
    """What follows may be an example inside the value of the broken call."""
    text = f'<tool_call>{{"name": "Bash"}} oops\n{HERMES}'

    assert blocks(answered("qwen", text)) == [text]


def test_a_thought_is_not_looked_into() -> None:
    deltas: list[JsonValue] = [{"reasoning_content": HERMES}, {"content": "No."}]
    told = Told(stream(*deltas), speech=ChatAnswerOptions(text_calls="qwen"), asked=asked())

    assert told.blocks == [("thinking", HERMES), ("text", "No.")]


def test_a_thought_between_tags_may_come_before_a_call() -> None:
    told = answered("qwen", f"<think>Hm.</think>\n\n{HERMES}", size=3)

    assert [block[0] for block in told.blocks] == ["thinking", "toolu_msg_1_0"]


@pytest.mark.parametrize("more", [{"tools": []}, {"tool_choice": {"type": "none"}}])
@pytest.mark.parametrize("family", CALLS)
def test_without_tools_all_is_text(family: str, more: dict[str, Any]) -> None:
    told = answered(family, CALLS[family], context=asked(**more))

    assert blocks(told) == [CALLS[family]]


def test_tools_that_the_vendor_runs_are_not_called() -> None:
    tools = [{"name": "Bash", "type": "bash_20250124"}]

    assert blocks(answered("qwen", HERMES, context=asked(tools))) == [HERMES]


def test_a_tool_with_a_long_name_is_found_by_the_name_that_was_sent() -> None:
    long = "mcp__a_server_with_a_long_name__a_tool_whose_name_says_everything_that_it_does"
    translator = Translator(served="qwen3-coder")
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    sent = json.loads(translator.request({**body, "tools": [{"name": long, "input_schema": {"type": "object"}}]}).body)
    name = sent["tools"][0]["function"]["name"]
    choice: JsonValue = {"message": {"content": f"<function={name}></function>"}, "finish_reason": "stop"}
    message = translator.message(json.dumps({"choices": [choice]}).encode())

    assert message["content"] == [{"type": "tool_use", "id": "toolu_msg_0_0", "name": long, "input": {}}]
    assert len(translator.changes) == 1


@pytest.mark.parametrize("case", WRITTEN)
def test_an_answer_in_one_piece_says_the_same_as_a_stream(case: str) -> None:
    family, text, _ = WRITTEN[case]
    said = f"Look.\n{text}"
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}]}
    options = ChatOptions(answer=ChatAnswerOptions(text_calls=family))
    message = read_message(json.dumps(body).encode(), asked(), options)

    assert isinstance(message, dict)
    assert message["content"] == answered(family, said, size=1).message["content"]
    assert message["stop_reason"] == "tool_use"


def test_an_eager_stream_begins_with_its_empty_block_all_the_same() -> None:
    speech, context = ChatAnswerOptions(text_calls="qwen"), asked()
    told = Told(stream({"content": HERMES}), speech=speech, asked=context, eager=True)

    assert [event.type for event in told.events[:2]] == ["message_start", "content_block_start"]
    assert blocks(told) == ["", ["Bash", {"command": "rm -r ."}]]


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("x-ai/grok-code-fast-1", "grok"),
        ("Qwen/Qwen3-Coder-30B", "qwen"),
        ("zai-org/GLM-4.6", "glm"),
        ("openai/gpt-oss-120b", "gpt-oss"),
        ("NousResearch/Hermes-4-70B", "hermes"),
        ("claude-opus-5-5", ""),
        ("gpt-5.6", ""),
    ],
)
def test_the_family_is_known_by_the_name_of_the_model(model: str, family: str) -> None:
    row = Backend(name="b", dialect="openai-chat", url="http://h", realm="b")

    assert text_call_family(model) == family
    assert chat_options_of(row, model).answer.text_calls == (family or "by model")


def test_a_row_may_say_another_family_or_none() -> None:
    row = Backend(name="b", dialect="openai-chat", url="", realm="b", speech=ChatAnswerOptions(text_calls="never"))

    assert chat_options_of(row, "qwen3").answer.text_calls == "never"
    assert blocks(answered("never", HERMES)) == [HERMES]


def test_the_table_names_only_forms_that_it_has_and_says_where_it_is_from() -> None:
    forms, families = text_call_forms(), text_call_families()

    assert {name for family in families.values() for name in family.forms} == set(forms)
    assert all(each.sources for each in (*forms.values(), *families.values()))
    assert tuple(sorted(families)) == tuple(sorted(FAMILIES))
    assert [tool["name"] for tool in TOOLS] == ["Bash", "Write"]
