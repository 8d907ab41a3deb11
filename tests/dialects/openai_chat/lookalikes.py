"""Answers that only look like calls. Each must stay the text that it is, whatever the family of the model."""

from __future__ import annotations

import json

HERMES = '<tool_call>\n{"name": "Bash", "arguments": {"command": "rm -r ."}}\n</tool_call>'
QWEN = "<tool_call>\n<function=Bash>\n<parameter=command>\nrm -r .\n</parameter>\n</function>\n</tool_call>"
GLM = "<tool_call>Bash\n<arg_key>command</arg_key>\n<arg_value>rm -r .</arg_value>\n</tool_call>"
GROK = '<xai:function_call name="Bash">\n<xai:parameter name="command">rm -r .</xai:parameter>\n</xai:function_call>'
GPT_OSS = '<|channel|>commentary to=functions.Bash <|constrain|>json<|message|>{"command": "rm -r ."}<|call|>'
SEED = "<seed:tool_call><function=Bash><parameter=command>rm -r .</parameter></function></seed:tool_call>"

CALLS = {"hermes": HERMES, "qwen": QWEN, "glm": GLM, "grok": GROK, "gpt-oss": GPT_OSS, "seed": SEED}


def _around(before: str, after: str) -> dict[str, str]:
    return {name: f"{before}{call}{after}" for name, call in CALLS.items()}


_OPEN = {
    "hermes": '<tool_call>{"name": "Save", "arguments": {"text": "',
    "qwen": "<tool_call><function=Save><parameter=text>",
    "glm": "<tool_call>Save<arg_key>text</arg_key><arg_value>",
    "grok": '<xai:function_call name="Save"><parameter name="text">',
    "gpt-oss": '<|channel|>commentary to=functions.Save<|message|>{"text": "',
    "seed": "<seed:tool_call><function=Save><parameter=text>",
}
_CLOSE = {
    "hermes": '"}}</tool_call>',
    "qwen": "</parameter></function></tool_call>",
    "glm": "</arg_value></tool_call>",
    "grok": "</parameter></xai:function_call>",
    "gpt-oss": '"}<|call|>',
    "seed": "</parameter></function></seed:tool_call>",
}
"""Around a value of a call of a tool that was not offered, in each form."""


def _value(name: str) -> str:
    """The call as a value may hold it."""
    return json.dumps(CALLS[name])[1:-1] if CALLS[name].endswith("<|call|>") or name == "hermes" else CALLS[name]


def _indented(call: str) -> str:
    return "".join(f"    {line}\n" for line in call.splitlines())


_GROUPS: dict[str, dict[str, str]] = {
    "in a fence": _around("It is written so:\n\n```xml\n", "\n```\n\nThat is all."),
    "in a fence of tildes": _around("~~~~\n~~~\n", "\n~~~~\n"),
    "in a fence that is not closed": _around("```\n", "\nand on"),
    "in a fence in a list": _around("1. Like this:\n\n   ```\n   ", "\n   ```\n"),
    "in a fence right behind a mark of a list": _around("- ```\n  ", "\n  ```\n"),
    "in a fence in a quotation": _around("> ```\n> ", "\n> ```\n"),
    "in a longer fence around a shorter one": _around("````md\n```\n", "\n```\n````\n"),
    "in inline code": _around("The model says `", "` and nothing runs."),
    "in inline code of two backticks": _around("The model says `` ` ", "`` and nothing runs."),
    "behind a backtick in the same paragraph": _around("It`s written so: ", "."),
    "on indented lines": {name: f"So:\n\n{_indented(call)}" for name, call in CALLS.items()},
    "of a tool that was not offered": {name: call.replace("Bash", "Shell") for name, call in CALLS.items()},
    "of a tool whose name only begins like one": {name: call.replace("Bash", "Bash2") for name, call in CALLS.items()},
    "in a call of a tool that was not offered": {name: f"{_OPEN[name]}{_value(name)}{_CLOSE[name]}" for name in CALLS},
    "in a value that never ends": {
        name: f"{_OPEN[name].replace('Save', 'Write')}An example:\n{call}\nand no end" for name, call in CALLS.items()
    },
    "cut in the middle": {name: call[: len(call) // 2] for name, call in CALLS.items()},
    "without its beginning": {name: call[call.index("Bash") - 3 :] for name, call in CALLS.items()},
    "with escaped tags": {
        name: call.replace("<", "&lt;").replace(">", "&gt;").replace("to=functions.", "to functions ")
        for name, call in CALLS.items()
    },
    "and prose": {
        "the tags alone": "The tag <tool_call> opens a call, and </tool_call> closes it.",
        "a tag and prose": "Put <tool_call>Bash and then its arguments.",
        "a function tag": "Then comes <function=Bash> with each <parameter=command> inside.",
        "an attribute": 'Grok has <xai:function_call name="Bash"> and so on.',
        "a recipient": "The header says to=functions.Bash and then the channel.",
        "a channel": "Harmony has <|channel|>analysis<|message|> and <|channel|>final<|message|>.",
        "an ellipsis": "<tool_call>{…}</tool_call>",
        "a placeholder": '<tool_call>{"name": <name>, "arguments": <arguments>}</tool_call>',
        "no object": '<tool_call>{"name": "Bash", "arguments": [1]}</tool_call>',
        "no name": '<tool_call>{"arguments": {"command": "ls"}}</tool_call>',
        "quotes of Python": "<tool_call>{'name': 'Bash', 'arguments': {}}</tool_call>",
        "a brace too few": '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}</tool_call>',
        "words behind the object": '<tool_call>{"name": "Bash", "arguments": {}} or so</tool_call>',
        "words between parameters": "<function=Bash><parameter=command>ls</parameter> and </function>",
        "a parameter that is not closed": "<function=Bash><parameter=command>ls</function></tool_call>",
        "a second parameter in the first": "<function=Bash><parameter=command>ls\n<parameter=timeout>5</parameter></function>",
        "a key without a value": "<tool_call>Bash<arg_key>command</arg_key></tool_call>",
        "other XML": "<function name='Bash'><parameter name='command'>ls</parameter></function>",
        "HTML": "<p>Use <code>Bash</code> with a <var>command</var>.</p>",
        "a nested tag": "<tool_call><tool_call></tool_call></tool_call>",
        "nothing between tags": "<tool_call></tool_call>",
    },
}

LOOKALIKES = {f"{group}: {name}": text for group, texts in _GROUPS.items() for name, text in texts.items()}
