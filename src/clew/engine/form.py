"""Form: what was decided about a request, for all others that are like it but for the question they ask.

The body of a request is its list of messages and what stands around it. A client sends the same around its messages again
and again: the model, the parameters, its system prompt and its tools. Where the messages are one question in words, nothing
that is decided depends on which words (`projector.is_question`), so all of it follows from the head, from those bytes, and
from the snapshot: the way, the changes, the bytes around the messages on their way out, and all that is said about them.
So a form may only skip what was decided before about the same bytes. A property test holds it to that.
"""

from __future__ import annotations

from msgspec import Struct

from clew.dialects.anthropic.requests import around_messages
from clew.engine.call import Call
from clew.engine.outgoing import outgoing, place_of
from clew.engine.reply_head import who_headers
from clew.engine.route import Way
from clew.engine.snapshot import Snapshot
from clew.engine.story import Story
from clew.errors import RequestInvalid
from clew.http.client_message import ClientRequest
from clew.http.responder import lines_of
from clew.pipeline.projector import is_question
from clew.pipeline.stream.dress import Wear
from clew.store.values import Exchange
from clew.upstream.endpoint import Endpoint
from clew.upstream.pool import Pool, Shelf

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
    """The same as it goes out."""
    sent_after: bytes
    is_untouched: bool
    way: Way
    endpoint: Endpoint
    shelf: Shelf
    """Where connections to the backend rest."""
    request: ClientRequest
    """What goes out, without its body."""
    model: str
    """The name that the client asked for."""
    told: Exchange
    """What is told of every exchange of this form; what is another one's each time is left open."""
    streams: bool
    wear: Wear
    """What its answer wears."""
    who: tuple[tuple[str, str], ...]
    """Headers of an answer that are the same each time: who answered, and what became of the thinking."""
    lines: str
    """The same, written out."""
    start: int
    """How many bytes stand before the messages, and after them."""
    rest: int


def known_form(call: Call, snapshot: Snapshot, body: bytes) -> Form | None:
    """The form that this body has, if there was one like it."""
    for form in call.forms:
        if form.snapshot is snapshot and body.startswith(form.before) and body.endswith(form.after):
            return form
    return None


def learn(call: Call, story: Story, pool: Pool) -> None:
    """From a request that is about to be sent, if its kind can be remembered and is not known yet."""
    if not _is_like_others(call, story) or known_form(call, story.asking.snapshot, call.body):
        return
    form = _form(call, story, pool)
    if form is None:
        return
    others = [each for each in call.forms if each.snapshot is form.snapshot][-(MOST - 1) :]
    call.forms[:] = [*others, form]


def _is_like_others(call: Call, story: Story) -> bool:
    asks = call.kind == "messages" and call.entry is None
    if not asks or not story.way.projector.is_about_form or not is_question(story.asking.request.messages):
        return False
    return not story.by_sessions and not story.dialect.translates and story.dress().wear.is_plain


def _form(call: Call, story: Story, pool: Pool) -> Form | None:
    try:
        came, went = around_messages(call.body), around_messages(story.sent)
    except RequestInvalid:  # a key that is there twice
        return None
    if came.messages != went.messages or len(came.before) + len(came.after) > LONGEST:
        return None
    way, who = story.way, tuple(who_headers(story.way, str(story.counts())))
    endpoint = place_of(way.backend.url).endpoint
    return Form(
        snapshot=story.asking.snapshot,
        before=came.before,
        after=came.after,
        sent_before=went.before,
        sent_after=went.after,
        is_untouched=story.sent == call.body,
        way=way,
        endpoint=endpoint,
        shelf=pool.shelf(endpoint),
        request=outgoing(call, way, story.going, b""),
        model=story.asking.request.body.model,
        told=story.exchange("whole", None, 0.0),
        streams=story.asking.streams,
        wear=story.dress().wear,
        who=who,
        lines=lines_of(who),
        start=len(came.before),
        rest=len(came.after),
    )
