"""Which program a client is, by its user-agent."""

import pytest

from clew.model.facts.clients import client_name, known_clients

CODEX = "codex_exec/0.169.0 (Debian 12.0.0; x86_64) xterm (codex_exec; 0.169.0)"
OPENCODE = "opencode/1.18.33 ai-sdk/provider-utils/4.0.46 runtime/bun/1.3.14"
AI_SDK = "ai-sdk/openai-compatible/2.0.87 ai-sdk/provider-utils/4.0.62 runtime/node.js/v20.20.2"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("claude-cli/2.1.325 (external, sdk-cli)", "Claude Code"),
        ("claude-cli/2.1.325 (external, cli)", "Claude Code"),
        ("claude-cli/2.1.325 (external, sdk-py, agent-sdk/0.2.182)", "Claude Agent SDK"),
        ("claude-cli/2.1.326 (external, sdk-ts, agent-sdk/0.3.326)", "Claude Agent SDK"),
        (CODEX, "Codex"),
        ("codex_cli_rs/0.169.0 (Debian 12.0.0; x86_64) xterm", "Codex"),
        (OPENCODE, "opencode"),
        (AI_SDK, "AI SDK"),
        ("OpenAI/Python 3.49.0", "OpenAI SDK"),
        ("AsyncOpenAI/Python 3.49.0", "OpenAI SDK"),
        ("Anthropic/JS 1.8.0", "Anthropic SDK"),
    ],
)
def test_known_programs_have_the_name_that_people_use(agent: str, name: str) -> None:
    assert client_name(agent) == name


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("my-app/1.0 (linux)", "my-app"),
        ("curl", "curl"),
        ("two words", "two"),
        ("claude-clicker/1", "claude-clicker"),
        ("x" * 9000, "x" * 40),
        ("<b>bold</b>", "<b>bold<"),
        ("a\x1b[31m", "a"),
        ("caf\xe9/1", "caf"),
        ("", ""),
        ("/1.0", ""),
        (" claude-cli/2", ""),
        ("\n", ""),
    ],
)
def test_another_program_is_called_by_its_first_word_of_printable_ascii(agent: str, name: str) -> None:
    assert client_name(agent) == name


def test_each_row_says_where_it_was_seen_and_can_be_reached() -> None:
    """A row behind one that fits whatever it fits would never be used."""
    rows = known_clients()
    assert all(row.source and row.date and row.agents for row in rows)
    assert [client_name(f"{agent}1 {row.has}") for row in rows for agent in row.agents] == [
        row.title for row in rows for _ in row.agents
    ]
