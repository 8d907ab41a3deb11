"""BackendDialect: how one backend is spoken to about one of its models.

It is a dialect (`clew.dialects`) with the options of that backend's row. A value: a repair is another one, with weaker
options. What was repaired is remembered in the strand of the answer (`thinking.strands`), so that a conversation pays for it
once.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import ceil
from typing import Any, Final, NamedTuple, cast

import msgspec
from msgspec import Struct, structs

from clew.backends.row import Backend, facts_of
from clew.dialects import DIALECTS
from clew.dialects.failures.reading import failure_in
from clew.dialects.shape import AnswerContext, BackendRefusal, Dialect, WrittenRequest
from clew.errors import RequestInvalid, SettingsInvalid
from clew.exchange.call import Call, Kind
from clew.model.change import Change, What
from clew.model.events import StreamFailed
from clew.model.failure import ERROR_TYPES
from clew.model.http import Headers, Wait
from clew.model.json import JsonObject
from clew.model.origin import ANTHROPIC
from clew.model.request import Request
from clew.pipeline.compaction import SealText, SummaryReader
from clew.pipeline.retry_hints import retry_after_of
from clew.pipeline.stream.answer_stream import AnswerStream
from clew.pipeline.stream.client_view import ClientView
from clew.pipeline.stream.passthrough import PassedAnswer
from clew.pipeline.stream.translation import ReportBlock, TracedReader, TranslatedAnswer
from clew.pipeline.thinking.open import reduce_thoughts, reduced_thoughts
from clew.thinking.keys import key_of
from clew.thinking.strands import LEFT_OUT, repair_mark, repairs_in

_AS_BEFORE = "as for its last answer here, after it "
_AS_ELSEWHERE = "as in another conversation of this account, after it "
_RETRY_AFTER: Final = b"retry-after"
_STATUSES: Final = {kind: status for status, kind in ERROR_TYPES.items()}
"""The status that each error type stands for; where there are two, the later one, which is the vendor's own (529)."""


class Refused(Struct, frozen=True, eq=False):
    """A backend's refusal: status, the error document, headers."""

    status: int
    body: bytes
    headers: Headers = ()
    is_canonical: bool = False
    """The words are clew's, not the backend's."""


class RepairedDialect(NamedTuple):
    """The dialect with which a refused request is written again, and why."""

    dialect: BackendDialect
    change: Change


class RememberedRequest(NamedTuple):
    """What went to a backend, and what the answer's strand has to say of its form."""

    request: Request
    marks: tuple[bytes, ...] = ()
    """Of repairs (`thinking.strands`)."""
    reduced: tuple[bytes, ...] = ()
    """The keys of thoughts in it that are only the rest of one."""


class RecalledDialect(NamedTuple):
    """The dialect as the last answer was asked for in it, and what is weaker about it."""

    dialect: BackendDialect
    changes: tuple[Change, ...]


class BackendDialect(Struct, frozen=True, kw_only=True, eq=False):
    """Made for one backend and one model."""

    dialect: Dialect[Any]
    options: Any
    own_path: str = ""
    """The path that the backend's row gives, in place of the dialect's."""
    marks_strands: bool = True
    """The strand of an answer bears marks of how it was asked for. Anthropic's own hosts are told by the blocks alone."""
    repaired: tuple[str, ...] = ()
    """Repairs that were tried in this exchange,"""
    repaired_before: tuple[str, ...] = ()
    """and those that an answer before remembers."""
    has_left_out: bool = False
    """Thinking was left out of this request because it was refused."""

    def is_passed(self, call: Call) -> bool:
        """Whether client and backend speak the same dialect."""
        return self.dialect is call.front

    @property
    def counts_tokens(self) -> bool:
        return "count_tokens" in self.dialect.paths and self.dialect.counts_tokens(self.options)

    def write(self, request: Request, kind: Kind = "messages") -> WrittenRequest:
        """Raises Unrepresentable, RequestInvalid."""
        native = request.source.native
        if native is not None and native.demand is not None and native.dialect != self.dialect.name:
            raise RequestInvalid(f"{native.demand.path}: {native.demand.why}", path=native.demand.path)
        write = self.dialect.write_count_request if kind == "count_tokens" else None
        return (write or self.dialect.write_request)(request, self.options)

    def answer_stream(
        self,
        call: Call,
        view: ClientView,
        context: AnswerContext,
        *,
        keep: bool,
        blocks: bool,
        report: ReportBlock | None = None,
        seal: SealText | None = None,
    ) -> AnswerStream:
        """For a streamed answer; with `seal`, for a summary in its place."""
        rules = self.dialect.passthrough(self.options) if self.is_passed(call) and seal is None else None
        if rules is not None:
            return PassedAnswer(view, rules, keep=keep, blocks=blocks)
        reader = self.dialect.stream_reader(context, self.options)
        if report is not None:
            reader = TracedReader(reader, report)
        if seal is not None:
            reader = SummaryReader(reader, seal)
        writer, pair = call.front.stream_writer(context), self.dialect.passed_deltas if self.is_passed(call) else None
        passed = pair(reader, writer) if pair else None
        return TranslatedAnswer(view, reader, writer, passed=passed, keep=keep, blocks=blocks)

    def read_answer(self, raw: bytes, call: Call, context: AnswerContext) -> JsonObject | Refused | None:
        """An answer in one piece; the refusal in its place; None if it is no answer at all."""
        found = self.dialect.read_answer(raw, call.kind, context, self.options)
        if not isinstance(found, StreamFailed):
            return found
        return None if found.broken else refused_with(found)

    def explain(self, refused: Refused) -> Refused:
        """The refusal in the words that clients read."""
        if refused.is_canonical or refused.status < 400:
            return refused
        read: BackendRefusal = self.dialect.read_error(refused.status, refused.headers, refused.body, self.options)
        headers = _with_wait(refused.headers, read.wait)
        return Refused(read.status, read.body, headers, read.is_canonical)

    # Repairs.

    def repair(self, refused: Refused, going: Request, sent: bytes) -> RepairedDialect | None:
        """What to try after this refusal. A repair that changes nothing here would be refused again, and is skipped."""
        repairs = self.dialect.repairs
        if repairs is None:
            return None
        words, tried = refused.body.decode("utf-8", "replace"), self.repaired
        while found := repairs.repair(self.options, refused.status, words, tried):
            weaker = structs.replace(self, options=found.options, repaired=(*self.repaired, found.name))
            if weaker.write(going).body != sent:
                return RepairedDialect(weaker, Change("heal", found.path, cast("What", found.what), found.why))
            tried = (*tried, found.name)
        return None

    def leaving_out(self) -> BackendDialect:
        """The same after thinking was left out because it was refused."""
        return structs.replace(self, has_left_out=True) if self.marks_strands and self.dialect.repairs is None else self

    def recalled(self, row: Container[bytes], in_loop: bool, of_account: Sequence[str] = ()) -> RecalledDialect | None:
        """As the answer with this strand was asked for, if that was in a weaker form; `in_loop`: its loop goes on.
        `of_account` are repairs that hold for the account."""
        repairs = self.dialect.repairs
        if repairs is None:  # what is left out, and why, the projection itself says
            return RecalledDialect(self.leaving_out(), ()) if LEFT_OUT in row else None
        here = repairs_in((*repairs.lasting, *repairs.loop_long) if in_loop else repairs.lasting, row)
        names = tuple(dict.fromkeys([*here, *of_account]))
        found = repairs.repeat(self.options, names)
        if not found:
            return None
        weaker = structs.replace(self, options=found[-1].options, repaired_before=names)
        words = [f"{_AS_BEFORE if each.name in here else _AS_ELSEWHERE}{each.why}" for each in found]
        return RecalledDialect(weaker, tuple([Change("heal", "messages", "replaced", why) for why in words]))

    @property
    def learnt(self) -> tuple[str, ...]:
        """The repairs of this exchange that hold for the account."""
        repairs = self.dialect.repairs
        return tuple([name for name in self.repaired if name in repairs.account_long]) if repairs else ()

    def remembered(self, going: Request) -> RememberedRequest:
        """What of `going` the backend could read in the end, and how it was written."""
        repairs = self.dialect.repairs
        if repairs is None:
            return RememberedRequest(going, (LEFT_OUT,) if self.has_left_out else ())
        names = (*self.repaired_before, *self.repaired)
        marks = tuple(repair_mark(name) for name in (*repairs.lasting, *repairs.loop_long) if name in names)
        read = reduce_thoughts(going) if repairs.reducing in names else going
        return RememberedRequest(read, marks, tuple([key for block in reduced_thoughts(read) if (key := key_of(block))]))


def backend_dialect(backend: Backend, model: str) -> BackendDialect:
    """How to talk to this backend about this model of its own. Raises SettingsInvalid for an unknown dialect."""
    dialect = DIALECTS.get(backend.dialect)
    if dialect is None:
        known = ", ".join(DIALECTS)
        raise SettingsInvalid(
            f"{backend.name}: there is no dialect {backend.dialect!r}; there are: {known}", key=backend.name
        )
    return BackendDialect(
        dialect=dialect,
        options=dialect.options_of(facts_of(backend, model)),
        own_path=backend.path,
        marks_strands=backend.realm != ANTHROPIC,
    )


def refused_with(failed: StreamFailed) -> Refused:
    """The refusal that an error reports which came inside a 200."""
    body = msgspec.json.encode({"type": "error", "error": failed.error})
    if failed.status:
        return Refused(failed.status, body, _with_wait((), failed.wait), is_canonical=True)
    kind = failed.error.get("type")
    if isinstance(kind, str) and kind in _STATUSES:
        return Refused(_STATUSES[kind], body)
    failure = failure_in({"error": failed.error})  # a type that is not one of Anthropic's: by what else it says
    return Refused(failure.status if failure else 500, body)


def _with_wait(headers: Headers, wait: Wait) -> Headers:
    """The headers with the wait that a body asks for, if they name none that can be read."""
    seconds = wait.seconds if wait.seconds is not None else wait.until
    if seconds is None or retry_after_of(headers, wall=0.0) is not None:
        return headers
    rest = (header for header in headers if header[0].lower() != _RETRY_AFTER)
    return (*rest, (_RETRY_AFTER, str(ceil(seconds)).encode()))
