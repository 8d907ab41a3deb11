"""Form: what was decided about a request, for all others that are like it but for the question they ask.

The body of a request is its list of messages and what stands around it. A client sends the same around its messages again
and again: the model, the parameters, its system prompt and its tools. Where the messages are one question in words, nothing
that is decided depends on which words (`projector.is_question`), so all of it follows from the head, from those bytes, and
from the snapshot: the way, the changes, the bytes around the messages on their way out, and all that is said about them.
So a form may only skip what was decided before about the same bytes. A property test holds it to that.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clew.dialects.anthropic.requests import around_messages
from clew.engine.call import Call
from clew.engine.dialects import Hints
from clew.engine.heads import heads_of
from clew.engine.hearing import LIMITS
from clew.engine.outgoing import outgoing, place_of
from clew.engine.parts import Parts
from clew.engine.reply_head import who_headers
from clew.engine.rote.question import question_in
from clew.engine.route import Way
from clew.engine.snapshot import Snapshot
from clew.engine.story import Story
from clew.engine.turns import origin_of
from clew.errors import RequestInvalid
from clew.http.client.lent import Terms
from clew.http.client.message import ClientRequest
from clew.http.client.mould import Mould
from clew.http.responder import lines_of
from clew.model.origin import Origin
from clew.pipeline.projector import is_question
from clew.pipeline.stream.dress import Wear
from clew.store.values import Exchange, Heads
from clew.thinking.recognise import Context
from clew.upstream.endpoint import Endpoint
from clew.upstream.stock import Stock

__all__ = ["Form", "known_form", "learn"]

LONGEST = 8192
"""Bytes around the messages that are worth remembering."""
MOST = 4
"""Forms for each head; a client has a handful of heads, and a form or two for each."""


class Form(Struct, frozen=True, kw_only=True, eq=False):
    """All that such requests have in common."""

    snapshot: Snapshot
    before: bytes
    """What stands before the messages, as it comes, and after them."""
    after: bytes
    sent_before: bytes
    """The same as it goes out; in another dialect, what stands around the question itself, as JSON writes it."""
    sent_after: bytes
    is_untouched: bool
    way: Way
    endpoint: Endpoint
    stock: Stock
    """Where connections to the backend rest."""
    request: ClientRequest
    """What goes out, without its body."""
    terms: Terms
    model: str
    """The name that the client asked for."""
    told: Exchange
    """What is told of every exchange of this form; what is another one's each time is left open."""
    context: Context
    origin: Origin
    """Who answers."""
    heads: Heads
    """All but what comes back, for whoever keeps bodies."""
    has_one_way: bool
    """Nobody else can answer."""
    streams: bool
    translates: bool
    """It goes out in another dialect."""
    wear: Wear
    """What its answer wears. Under a seal also the id of its exchange, which is left open."""
    hints: Hints
    """What its answer must know in another dialect. The exchange and its size are left open."""
    who: tuple[tuple[str, str], ...]
    """Headers of an answer that are the same each time: who answered, and what became of the thinking."""
    lines: bytes
    """The same, written out."""
    moulds: list[Mould]
    """Of the heads of its answers: how they looked until now."""
    messages: slice
    """Where the messages of such a body stand."""


def known_form(call: Call, snapshot: Snapshot, body: bytes) -> Form | None:
    """The form that this body has, if there was one like it."""
    for form in call.forms:
        if form.snapshot is snapshot and body.startswith(form.before) and body.endswith(form.after):
            return form
    return None


def learn(call: Call, story: Story, parts: Parts) -> None:
    """From a request that is about to be sent, if its kind can be remembered and is not known yet."""
    if not _is_like_others(call, story) or known_form(call, story.asking.snapshot, call.body):
        return
    if parts.store is not None and (story.dialect.translates or call.context.session):
        return  # what a session did before is in the store; and what a seal is put on is read event by event
    form = _form(call, story, parts)
    if form is None:
        return
    others = [each for each in call.forms if each.snapshot is form.snapshot][-(MOST - 1) :]
    call.forms[:] = [*others, form]


def _is_like_others(call: Call, story: Story) -> bool:
    asks = call.kind == "messages" and call.entry is None and not story.asking.is_title
    if not asks or not story.way.projector.is_about_form or not is_question(story.asking.request.messages):
        return False
    return story.asking.streams if story.dialect.translates else story.dress().wear.is_plain


def _form(call: Call, story: Story, parts: Parts) -> Form | None:
    try:
        came = around_messages(call.body)
        sent = _sent_around(story, came.messages)
    except RequestInvalid:  # a key that is there twice
        return None
    if sent is None or len(came.before) + len(came.after) > LONGEST:
        return None
    way, who = story.way, tuple(who_headers(story.way, str(story.counts())))
    endpoint = place_of(way.backend.url).endpoint
    return Form(
        snapshot=story.asking.snapshot,
        before=came.before,
        after=came.after,
        sent_before=sent[0],
        sent_after=sent[1],
        is_untouched=story.sent == call.body,
        way=way,
        endpoint=endpoint,
        stock=parts.pool.stock(endpoint),
        request=outgoing(call, way, story.going, b""),
        terms=(story.asking.patience_with(way), LIMITS),
        model=story.asking.request.body.model,
        told=replace(story.exchange("whole", None, 0.0), status=200),
        context=call.context,
        origin=origin_of(way),
        heads=heads_of(call, way, story.going, None),
        has_one_way=story.asking.has_one_way,
        streams=story.asking.streams,
        translates=story.dialect.translates,
        wear=story.dress().wear,
        hints=_hints(story, call.with_body(b"%b[]%b" % (came.before, came.after))),
        who=who,
        lines=lines_of(who).encode("latin-1"),
        moulds=[],
        messages=slice(len(came.before), -len(came.after)),
    )


def _sent_around(story: Story, messages: bytes) -> tuple[bytes, bytes] | None:
    """What stands around the messages on their way out, or in another dialect around the question; None if they are not as
    they came."""
    went = around_messages(story.sent)
    if not story.dialect.translates:
        return (went.before, went.after) if went.messages == messages else None
    question = msgspec.json.encode(question_in(messages, alone=True))
    if not went.messages.endswith(b'{"role":"user","content":%b}]' % question):
        return None
    start = len(went.before) + len(went.messages) - len(question) - len(b"}]")
    return story.sent[:start], b"}]" + went.after


def _hints(story: Story, call: Call) -> Hints:
    """`call` has what stands around its messages, which is all that an answer looks for."""
    return replace(story.hints(), call=call, keep=False, blocks=False, unsaid=str)
