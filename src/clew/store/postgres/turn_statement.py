"""The statement that keeps a turn, and a turn as its parameters.

Parameters stand in the order of their types, so they have names here and numbers only in the text that the server gets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Final

import msgspec

from clew.model.turn import Charge, TurnRecord
from clew.store.deletion_notes import NO_HASHES, deletion_hashes
from clew.store.postgres.parameters import (
    BYTES,
    FLOAT,
    INTEGER,
    TEXT,
    array_text,
    bytes_array_text,
    clean_texts,
    encode_parameters,
)
from clew.store.postgres.row_pipeline import RowStatement
from clew.store.rows import COLUMNS, columns_of, marks_of, pack, pack_changes, sum_of

_SAID: Final = [f"said_{name}" for name in COLUMNS.split(", ")]
"""Of the recording; without the prefix, of the exchange."""
_NOTHING_SAID: Final[tuple[None, ...]] = (None,) * len(_SAID)
_SAID_TEXTS, _SAID_WHOLE = 11, 11
"""How many of its columns are texts, the first ones; and the place of the one that is a number."""
_TEXTS: Final = (
    *("principal", "id", "thread", "asked_model", "backend", "model", "session", "agent", "outcome", "kind", "stop_reason"),
    *(
        "request_id",
        "recording",
        "process",
        "betas",
        "dialect",
        "client",
        "title",
        "key_name",
        "team_name",
        "charges",
        "shard",
    ),
    *("mark_kinds", "mark_hashes", "keys"),
    *_SAID[:_SAID_TEXTS],
)
_INTEGERS: Final = (
    *("status", "attempts", "streamed", "heals", "kept", "readable", "weight", "is_charged"),
    *("input", "output", "cache_read", "cache_written", "estimated", "thinking", "micro_usd"),
    _SAID[_SAID_WHOLE],
)
_FLOATS: Final = ("started", "ended", "first_byte", "created")
_BYTES: Final = ("changes", "tries", "asked", "thread_hash", "session_hash", *_SAID[_SAID_WHOLE + 1 :], "said_sum")
_TYPES: Final = (
    *(TEXT for _ in _TEXTS),
    *(INTEGER for _ in _INTEGERS),
    *(FLOAT for _ in _FLOATS),
    *(BYTES for _ in _BYTES),
)
_NUMBERS: Final[Mapping[str, str]] = {
    name: f"${number}" for number, name in zip(count(1), (*_TEXTS, *_INTEGERS, *_FLOATS, *_BYTES), strict=False)
}
_EXCHANGE: Final = (
    *("principal", "id", "thread", "started", "ended", "asked_model", "backend", "model", "session", "agent", "outcome"),
    *("status", "first_byte", "attempts", "changes", "kind", "streamed", "stop_reason", "request_id", "heals", "kept"),
    *("tries", "recording", "asked", "readable", "process", "betas", "dialect", "client"),
)
_USAGE: Final = ("input", "output", "cache_read", "cache_written", "estimated", "thinking", "micro_usd")
_TYPE_NAMES: Final = {INTEGER: "bigint", BYTES: "bytea", TEXT: "text"}
_SAID_VALUES: Final = ", ".join(
    f"{_NUMBERS[name]}::{_TYPE_NAMES[_TYPES[int(_NUMBERS[name][1:]) - 1]]}" for name in (*_SAID, "said_sum")
)
_TEXT: Final = f"""
WITH exchange AS (
    INSERT INTO clew.exchanges ({", ".join(_EXCHANGE)}) SELECT {", ".join(_NUMBERS[name] for name in _EXCHANGE)}
    WHERE NOT EXISTS (SELECT 1 FROM clew.forgotten WHERE hash IN ({{thread_hash}}, {{session_hash}}) AND at >= {{started}})
    ON CONFLICT (principal, id) DO NOTHING RETURNING 1
), thread AS (
    INSERT INTO clew.threads (principal, id, session, agent, title, created, used)
    SELECT {{principal}}, {{thread}}, {{session}}, {{agent}}, {{title}}, {{created}}, {{ended}}
    FROM exchange WHERE {{kind}} = 'messages'
    ON CONFLICT (principal, id) DO UPDATE SET used = greatest(threads.used, excluded.used),
        title = CASE threads.title WHEN '' THEN excluded.title ELSE threads.title END
), used AS (
    INSERT INTO clew.usage (principal, exchange, at, backend, model, key_name, thread_id, agent_id, team_name,
        client_name, {", ".join(_USAGE)})
    SELECT {{principal}}, {{id}}, {{ended}}, {{backend}}, {{model}}, {{key_name}}, {{thread}}, {{agent}}, {{team_name}},
        {{client}}, {", ".join(_NUMBERS[name] for name in _USAGE)}
    FROM exchange WHERE {{input}} IS NOT NULL
    ON CONFLICT (principal, exchange, at) DO UPDATE SET backend = excluded.backend, model = excluded.model,
        key_name = excluded.key_name, thread_id = excluded.thread_id, agent_id = excluded.agent_id,
        team_name = excluded.team_name, client_name = excluded.client_name,
        {", ".join(f"{name} = excluded.{name}" for name in _USAGE)}
), charged AS (
    INSERT INTO clew.spent (scope, seconds, start, shard, micro_usd, tokens, requests)
    SELECT charge.scope, charge.seconds, charge.start, {{shard}}, charge.micro_usd, charge.tokens, charge.requests
    FROM exchange, json_to_recordset({{charges}}::json) AS charge
        (scope text, seconds bigint, start bigint, micro_usd bigint, tokens bigint, requests bigint)
    ON CONFLICT (scope, seconds, start, shard) DO UPDATE SET micro_usd = spent.micro_usd + excluded.micro_usd,
        tokens = spent.tokens + excluded.tokens, requests = spent.requests + excluded.requests
), settled AS (
    DELETE FROM clew.reservations USING exchange WHERE {{is_charged}} > 0 AND reservations.exchange = {{id}}
), recording AS (
    INSERT INTO clew.recordings ({COLUMNS}, sum, created)
    SELECT {_SAID_VALUES}, {{ended}} FROM exchange WHERE {{said_id}} IS NOT NULL RETURNING seq
), use AS (
    INSERT INTO clew.uses (seq, used, bytes) SELECT seq, {{ended}}, {{weight}} FROM recording
), marked AS (
    INSERT INTO clew.marks (principal, kind, hash, recording, backend, made)
    SELECT {{principal}}, mark.kind, mark.hash, recording.seq, CASE mark.kind WHEN 'key' THEN {{said_backend}} END,
        CASE mark.kind WHEN 'key' THEN {{ended}} END
    FROM recording, unnest({{mark_kinds}}::text[], {{mark_hashes}}::bytea[]) AS mark (kind, hash)
), known AS (
    DELETE FROM clew.strangers USING recording WHERE strangers.principal = {{principal}} AND key = ANY ({{keys}}::bytea[])
)
SELECT count(*) FROM exchange
"""  # noqa: S608  (names of columns, and numbers)
TURN: Final = RowStatement(b"clew_turn", _TEXT.format_map(_NUMBERS).encode(), _TYPES)


def turn_values(turn: TurnRecord, process: str, shard: str, *, readable: bool, is_new: bool) -> list[bytes | None]:
    """The parameters of TURN. `process` answers an open turn. `shard`: under which its charges are added up. `readable`:
    it is kept for people to read. One that is not `is_new` restores a deleted thread."""
    exchange, recording = turn.exchange, turn.recording
    said: tuple[Any, ...] = _NOTHING_SAID
    weight, kinds, hashes, keys = 0, "{}", "{}", "{}"
    if recording is not None:
        columns: tuple[Any, ...] = columns_of(recording)
        marks = [*marks_of(recording)]
        said = (*clean_texts(columns[:_SAID_TEXTS]), *columns[_SAID_TEXTS:])
        weight = sum(map(len, recording.blocks)) + sum(map(len, turn.asked))
        kinds, hashes = array_text([kind for kind, _ in marks]), bytes_array_text([hash for _, hash in marks])
        keys = bytes_array_text(recording.keys)
    texts = (
        *(exchange.principal, exchange.id, exchange.thread, exchange.asked_model, exchange.backend, exchange.model),
        *(exchange.session, exchange.agent, exchange.outcome, exchange.kind, exchange.stop_reason, exchange.request_id),
        *(recording.id if recording else None, process, ",".join(exchange.betas), exchange.dialect, exchange.client),
        *(turn.title, exchange.key, exchange.team, _charges(turn.charges), shard),
    )
    return encode_parameters(
        (*clean_texts(texts), kinds, hashes, keys, *said[:_SAID_TEXTS]),
        (
            *(exchange.status, exchange.attempts, exchange.streamed, exchange.heals, exchange.kept, readable, weight),
            *(bool(turn.charges), *_usage(turn), said[_SAID_WHOLE]),
        ),
        (exchange.started, exchange.ended, exchange.first_byte, exchange.started if turn.created is None else turn.created),
        (
            *(pack_changes(exchange.changes), msgspec.json.encode(exchange.tries), pack(turn.asked)),
            *(deletion_hashes(exchange) if is_new else NO_HASHES),
            *(*said[_SAID_WHOLE + 1 :], sum_of(said) if recording else None),
        ),
    )


def _usage(turn: TurnRecord) -> Sequence[int | None]:
    usage = turn.exchange.usage
    if usage is None:
        return (None,) * len(_USAGE)
    counts = usage.input, usage.output, usage.cache_read, usage.cache_written
    return *counts, usage.estimated, usage.thinking, usage.micro_usd


def _charges(charges: tuple[Charge, ...]) -> str:
    return msgspec.json.encode([charge._asdict() for charge in charges]).decode() if charges else "[]"
