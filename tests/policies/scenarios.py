"""What happens to conversations behind a gateway: requirements 5.5, one function a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.identity.client import ClaudeCode
from tests.policies.play import Play
from tests.policies.vendors import CLAUDE, GLM, KIMI, Vendor

OPUS, SONNET, OLDER = "claude-opus-5-5", "claude-sonnet-5-5", "claude-sonnet-4-5"

Scenario = Callable[[Play], None]


def one_backend(play: Play) -> None:
    _through(play, play.begins(), CLAUDE, CLAUDE, CLAUDE, CLAUDE)


def there(play: Play) -> None:
    _through(play, play.begins(), CLAUDE, CLAUDE, GLM, GLM)


def there_and_back(play: Play) -> None:
    """B is one whose thinking is not signed."""
    _through(play, play.begins(), CLAUDE, CLAUDE, KIMI, KIMI, CLAUDE, CLAUDE)


def two_conversations(play: Play) -> None:
    one, other = play.begins(), play.begins()
    for _ in range(4):
        one, other = play.exchange(one), play.exchange(other)


def helpers_elsewhere(play: Play) -> None:
    """Two sub-agents work on another backend while the main conversation is inside a tool loop."""
    main = play.exchange(play.begins())
    for _ in range(2):
        main = play.answer(play.asks(main), CLAUDE, "hu")
        helpers = [main.spawns(f"agent-{i}", f"task {i}") for i in range(2)]
        for _ in range(2):
            helpers = [play.answer(each, GLM, "hu").runs() for each in helpers]
            main = play.answer(main.runs(), CLAUDE, "htu")
        for each in helpers:
            play.answer(each, GLM, "ht")
        main = play.answer(main.runs(), CLAUDE, "ht")


def restart(play: Play) -> None:
    client = _through(play, play.begins(), CLAUDE, CLAUDE)
    play.policy.restarts()
    _through(play, client.resumes(), CLAUDE, CLAUDE)


def rewind_and_side_requests(play: Play) -> None:
    """A title is asked for, one turn is tried another way, and then the first way is taken up again."""
    client = _through(play, play.begins(), CLAUDE, CLAUDE, CLAUDE)
    title = {"model": OPUS, "max_tokens": 100, "messages": [{"role": "user", "content": "A title for this."}]}
    play.side(client, title)
    _through(play, client.rewinds(2), CLAUDE, CLAUDE)
    play.side(client, title)
    _through(play, client, CLAUDE, CLAUDE)


def display_omitted(play: Play) -> None:
    """The text of all thinking is empty; two conversations, as usual."""
    play.shown = False
    two_conversations(play)


def foreign_signature(play: Play) -> None:
    """B signs, but Claude cannot know it."""
    _through(play, play.begins(), GLM, GLM, CLAUDE, CLAUDE)


def switch_inside_a_manual_loop(play: Play) -> None:
    """A model that wants its loop to begin with its own thinking gets one that another backend began."""
    play.fields = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    client = play.exchange(play.begins(model=OLDER))
    client = play.answer(play.asks(client), KIMI, "hu").runs()
    client = play.answer(client, CLAUDE, "u").runs()
    client = play.answer(client, CLAUDE, "t")
    play.exchange(client)


def models_in_turn(play: Play) -> None:
    """With prefix checks on: the client hides what the other model thought, and shows it again to its maker."""
    client = play.begins()
    for model in (OPUS, SONNET, OPUS, SONNET, OPUS):
        client = play.exchange(client.switches(model))


def compaction(play: Play) -> None:
    """With prefix checks on: the last answer is kept, and what it was bound to is gone.

    Without the empty system message that Claude Code then sends: to repair that is no matter of thinking.
    """
    client = _through(play, play.begins(), CLAUDE, CLAUDE)
    play.side(client, play.body(client.compaction_request()))
    client = client.compacts()
    client = replace(client, entries=tuple(entry for entry in client.entries if entry.blocks))
    play.spoils(client)
    _through(play, client, CLAUDE, CLAUDE)


def interrupted_stream(play: Play) -> None:
    client = play.exchange(play.begins())
    for shape in ("ht", "hthtt"):
        client = play.interrupted(play.asks(client), CLAUDE, shape)
        client = play.exchange(client)


def back_to_an_open_vendor(play: Play) -> None:
    """Reasoning that its maker wants back, after an excursion."""
    _through(play, play.begins(), GLM, GLM, CLAUDE, GLM, GLM)


def client_that_drops(play: Play) -> None:
    """Its client strips all thinking (as Claude Code does after any refusal), and goes on."""
    client = _through(play, play.begins(), CLAUDE, CLAUDE)
    _through(play, client.refused(), CLAUDE, CLAUDE)


def _through(play: Play, client: ClaudeCode, *vendors: Vendor) -> ClaudeCode:
    for vendor in vendors:
        client = play.exchange(client, vendor)
    return client


SCENARIOS: dict[str, Scenario] = {
    "same backend": one_backend,
    "A → B": there,
    "A → B → A": there_and_back,
    "two conversations": two_conversations,
    "parallel helpers on another backend": helpers_elsewhere,
    "restart, resume": restart,
    "rewind, side requests": rewind_and_side_requests,
    "display omitted": display_omitted,
    "foreign signature that is not empty": foreign_signature,
    "switch inside a tool loop, manual mode": switch_inside_a_manual_loop,
    "prefix check, models in turn": models_in_turn,
    "prefix check, after a compaction": compaction,
    "interrupted stream": interrupted_stream,
    "reasoning back to an open vendor": back_to_an_open_vendor,
    "client that drops its thinking": client_that_drops,
}
