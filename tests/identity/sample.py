"""A history in which every row of table 1.1 finds something to alter."""

from __future__ import annotations

from tests.build import Json, assistant, redacted, system, text, thinking, tool_result, tool_use, user
from tests.identity.answers import CWD

EDIT = tool_use("toolu_edit", "Edit", file_path="a.py", old_string="x = 1", new_string="x = 2  ")
WRITE = tool_use("toolu_write", "Write", file_path="b.py", content="def f():   \n    return 1\t\n")
BASH = {**tool_use("toolu_bash", command=f"cd {CWD} && make", timeout="5000"), "caller": {"type": "direct"}}
BROKEN = {**tool_use("toolu_broken"), "input": '{"command": "ls'}

SAMPLE: list[Json] = [
    user(text("Fix the build.")),
    system("The environment."),
    assistant(thinking("Look at a.", "s1"), text("I change it."), EDIT),
    user(tool_result("toolu_edit")),
    assistant(thinking("Now b.", "s2"), WRITE, thinking("And run it.", "s3"), BASH),
    user(tool_result("toolu_write"), tool_result("toolu_bash")),
    assistant(thinking("One.", "s4"), text(" "), thinking("Two.", "s5"), text("Done with that."), text("")),
    user("Go on."),
    assistant(redacted("d1"), thinking("Unsigned.", None), BROKEN),
    user(tool_result("toolu_broken")),
]
"""The answers can be found by key (each), and by tool id (all but the third). The last message is a tool_result."""

BARE: list[Json] = [*SAMPLE, assistant(thinking("Only this.", "s6")), user("Well?")]
"""With an answer that Claude Code replaces: nothing of it comes back, so nothing finds it."""
