"""The random walk by a client of another front: it holds what the front gave it, in that dialect, and sends what it kept.

The same makers, judge and dice as in `walk`; between clew and the client stand the dialect and the view, as in a gateway.
"""

from __future__ import annotations

import json
from itertools import chain

import msgspec

from clew.dialects import DIALECTS
from clew.dialects.shape import AnswerContext
from clew.model.json import JsonObject
from clew.model.request import ALWAYS, Request
from clew.pipeline.stream.client_view import ClientView, ViewOptions, usual_id
from clew.simulator.interfaces import JudgeVerdict
from clew.thinking.record import recording_of
from tests.build import GLM, Json
from tests.identity.front_clients import FRONT_CLIENTS
from tests.identity.walk import SEALER, Branch, Plan, Tally, Walk


class FrontWalk(Walk):
    def __init__(self, client: str, plan: Plan, seed: int) -> None:
        super().__init__(plan, seed)
        self.client = FRONT_CLIENTS[client]
        self.front = DIALECTS[self.client.dialect]
        self.branch = Branch()
        self._ask(f"task {seed}")

    def _ask(self, words: str) -> None:
        self.branch.add({"kept": self.client.asked(words), "asks": True})

    def _in_loop(self) -> bool:
        return not self.branch.messages[-1]["asks"]

    def _rewind(self) -> None:
        asks = [at for at, entry in enumerate(self.branch.messages) if entry["asks"]]
        self.branch.cut(self.chance.choice(asks))
        self._ask(self._word("again"))

    def _asked(self) -> Request:
        kept = list(chain.from_iterable(entry["kept"] for entry in self.branch.messages))
        body = msgspec.json.encode({**self.client.body(kept, ""), "model": self.origin.model})
        return self.front.read_request(body, {}, ALWAYS)

    def _answer(self, asked: Request, going: Request, verdict: JudgeVerdict) -> None:
        native = self._said(verdict)
        view = ClientView(self._view())
        shown = view.show_message({"role": "assistant", "content": list(native), "usage": {}, "stop_reason": "end_turn"})
        context = AnswerContext(
            model=self.origin.model, message_id=f"msg_{view.options.exchange}", native=asked.source.native
        )
        answer: Json = json.loads(self.front.write_answer(shown, context))
        if self.chance.random() >= self.plan.holes:
            self._record(asked, going, native, view)
        kept = self.client.returned(answer)
        thoughts = [block for block in native if block["type"] in ("thinking", "redacted_thinking")]
        self.branch.add({"kept": kept, "asks": False}, self.origin.model, [self.origin.model] * len(thoughts))
        if results := self.client.results(kept):
            self.branch.add({"kept": results, "asks": False})
        else:
            self._ask(self._word("next"))

    def _view(self) -> ViewOptions:
        """As an exchange makes it (`exchange.notes`)."""
        return ViewOptions(
            model=self.origin.model,
            exchange=self._word("exchange").replace(" ", "x"),
            origin=self.origin,
            sealer=SEALER,
            whole=self.front.seals_whole_blocks,
            safe_ids=self.front.tool_id is not None or self.origin is GLM,
            make_id=self.front.tool_id or usual_id,
            joins_texts=self.front.joins_texts,
            by_reference=not self.plan.holes and self.chance.random() < 0.3,
        )

    def _record(self, asked: Request, going: Request, native: list[JsonObject], view: ClientView) -> None:
        self.scribe.shelf.add(
            recording_of(
                view.options.exchange,
                asked=asked,
                going=going,
                blocks=[msgspec.json.encode(block) for block in native],
                held=view.held(native),
                origin=self.origin,
                shelf=self.scribe.shelf,
                context=self.scribe.context,
            )
        )


def front_walk(client: str, plan: Plan, seeds: range) -> Tally:
    total = Tally()
    for seed in seeds:
        total.add(FrontWalk(client, plan, seed).run())
    return total
