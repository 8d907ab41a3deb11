"""Claude Code as a client, without the program: a transcript, and the requests that come of it.

A value: every step returns another client, so a fork, a rewind or two sub-agents need no machinery. What it remembers is
what was said to it; what it sends is that, as `answers` and `histories` alter it, without what it holds to be foreign:

* signed and redacted thinking of answers that another model gave (by the *response's* model: at once in 2.1.197, after a
  resume in 2.1.325; until then by the model that was asked), unless it is set to keep all;
* all thinking of answers that stood in a request which was refused for its thinking (for good in 2.1.325, until the next
  resume in 2.1.197).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.build import Json, text, tool_result
from tests.identity import answers, histories
from tests.identity.answers import LATEST, NODE_20, Version

FILLER = "[No message content]"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the transcript. `asked` is the model that the request named, `model` the one that the answer named.

    `answer` numbers the answers: two lines of one answer have the same.
    """

    role: str
    blocks: tuple[Json, ...]
    answer: int = 0
    asked: str = ""
    model: str = ""
    refused: bool = False


@dataclass(frozen=True, kw_only=True)
class ClaudeCode:
    model: str = "claude-opus-5-5"
    version: Version = LATEST
    session: str = "5e551011"
    agent: str = ""
    keeps_others: bool = False
    entries: tuple[Entry, ...] = ()

    def asks(self, words: str) -> ClaudeCode:
        """A question; during a tool loop it stands beside the newest results."""
        return self._with(Entry(role="user", blocks=(text(words),)))

    def reminded(self, words: str) -> ClaudeCode:
        return self._with(Entry(role="system", blocks=(text(words),)))

    def runs(self, **contents: Any) -> ClaudeCode:
        """The results of every tool that the last answer called; `contents` by tool id, "done" otherwise."""
        calls = [block["id"] for block in self.entries[-1].blocks if block["type"] == "tool_use"]
        results = (tool_result(id, contents.get(id, "done"), is_error=False) for id in calls)
        return self._with(Entry(role="user", blocks=tuple(results)))

    def hears(self, blocks: list[Json], model: str | None = None) -> ClaudeCode:
        """An answer. `model` is what it calls itself; a well-behaved gateway echoes what was asked."""
        return self._hears(blocks, len(self.entries), model or self.model)

    def escapes(self, blocks: list[Json]) -> ClaudeCode:
        """Interrupted when these blocks had come, the last text perhaps in part. Unfinished thinking is not among them."""
        cut = next((i for i, block in enumerate(blocks) if block["type"] not in answers.THINKING), len(blocks))
        halves = (blocks[:cut], blocks[cut:]) if self.version == NODE_20 else (blocks,)
        client = self
        for half in filter(None, halves):
            client = client._hears(half, len(self.entries), self.model)
        return client.asks(histories.INTERRUPTED)

    def switches(self, model: str) -> ClaudeCode:
        return replace(self, model=model)

    def refused(self) -> ClaudeCode:
        """The last request came back as a thinking 400: it is repeated without any thinking."""
        return self._each(lambda entry: replace(entry, refused=True))

    def resumes(self) -> ClaudeCode:
        """From the transcript: it knows only what answers called themselves, and goes on with the last such Claude name."""
        forgiven = self.version == NODE_20
        client = self._each(lambda entry: replace(entry, asked=entry.model, refused=entry.refused and not forgiven))
        names = [entry.model for entry in self.entries if "claude" in entry.model]
        return replace(client, model=names[-1]) if names else client

    def compacts(self, summary: str = histories.SUMMARY) -> ClaudeCode:
        """The summary stands first; the last answer is kept, with its thinking."""
        last = [entry for entry in self.entries if entry.role == "assistant"][-1:]
        head = (Entry(role="user", blocks=(text(summary),)), Entry(role="system", blocks=()))
        return replace(self, entries=(*head, *last))

    def rewinds(self, questions: int = 1) -> ClaudeCode:
        """To before that many of the last questions."""
        asked = [i for i, entry in enumerate(self.entries) if entry.role == "user" and entry.blocks[-1]["type"] == "text"]
        return replace(self, entries=self.entries[: asked[-questions]])

    def spawns(self, agent: str, task: str) -> ClaudeCode:
        """A sub-agent: the same session, its own agent id and history."""
        return replace(self, agent=agent, entries=()).asks(task)

    @property
    def headers(self) -> dict[str, str]:
        agent = {"x-claude-code-agent-id": self.agent} if self.agent else {}
        return {"x-claude-code-session-id": self.session, **agent}

    def request(self) -> Json:
        """The body that goes out now."""
        return {"model": self.model, "max_tokens": 128000, "messages": self.messages(), "stream": True}

    def compaction_request(self) -> Json:
        """To be sent before `compacts`; its answer is the summary, and never comes back."""
        return {**self.request(), "messages": histories.compaction_leaves_out_the_last_answer(self.messages())}

    def messages(self) -> list[Json]:
        messages = _merged([message for entry in self.entries for message in self._message(entry)])
        if not _has_system_role(self.model):
            messages = histories.system_messages_move_to_the_front(messages)
        return _marked(messages)

    def _message(self, entry: Entry) -> list[Json]:
        """None for an answer of white space alone; the filler for one that was empty from the start."""
        if entry.role != "assistant":
            return [{"role": entry.role, "content": list(entry.blocks)}]
        blocks = self._own(answers.altered(list(entry.blocks or (text(FILLER),)), self.version), entry)
        bare = all(block["type"] in answers.THINKING for block in blocks)
        thought = any(block["type"] in answers.THINKING for block in entry.blocks)
        if bare and thought and not self._has_sibling(entry):
            blocks = [text(answers.STAND_IN)]
        return [{"role": "assistant", "content": blocks}] if blocks else []

    def _own(self, blocks: list[Json], entry: Entry) -> list[Json]:
        if entry.refused:
            return answers.without_thinking(blocks)
        if self.keeps_others or self._maker(entry) == self.model:
            return blocks
        return answers.without_thinking(blocks, unsigned=False)

    def _has_sibling(self, entry: Entry) -> bool:
        """Another line of the same answer, which has the visible part: then thinking may stand alone."""
        return any(each.answer == entry.answer and each is not entry for each in self.entries if each.role == "assistant")

    def _hears(self, blocks: list[Json], answer: int, model: str) -> ClaudeCode:
        kept = tuple(block for block in blocks if block.get("id") not in self._called())
        return self._with(Entry(role="assistant", blocks=kept, answer=answer, asked=self.model, model=model))

    def _maker(self, entry: Entry) -> str:
        return entry.model if self.version == NODE_20 else entry.asked

    def _called(self) -> set[str]:
        """Ids of tools that were called before: a second call with one of them is dropped."""
        return {block["id"] for entry in self.entries for block in entry.blocks if block["type"] == "tool_use"}

    def _with(self, entry: Entry) -> ClaudeCode:
        return replace(self, entries=(*self.entries, entry))

    def _each(self, change: Callable[[Entry], Entry]) -> ClaudeCode:
        return replace(self, entries=tuple(change(entry) if entry.role == "assistant" else entry for entry in self.entries))


def _merged(messages: list[Json]) -> list[Json]:
    """Users in a row are one message with several blocks; answers in a row stay as they are."""
    merged: list[Json] = []
    for message in messages:
        if merged and message["role"] == merged[-1]["role"] == "user":
            merged[-1] = {**message, "content": [*merged[-1]["content"], *message["content"]]}
        else:
            merged.append(message)
    return merged


def _marked(messages: list[Json]) -> list[Json]:
    """The mark on the last message, which is a list; plain strings before it where they can be."""
    marked = histories.the_cache_mark_moves(messages)
    return [*histories.single_texts_become_strings(marked[:-1]), marked[-1]]


def _has_system_role(model: str) -> bool:
    """Claude 4.7 and older have none; unknown names are treated like the newest."""
    return not re.search(r"claude-(3|opus-4-[0-7]|sonnet-4|haiku-4)", model)
