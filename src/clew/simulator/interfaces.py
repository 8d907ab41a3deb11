"""What the parts of the simulator exchange.

A vendor's *server* speaks HTTP, knows accounts, plays the model and keeps the journal. Its *judge* knows the vendor's
rules: it decides whether a request is legal and what the model would see of it, and it signs new thinking. They exchange
only the values of this file: the server calls a `Judge`, gets a `JudgeVerdict`, and asks the verdict's `Signer` for each
signature.

For the Messages API, the server checks authentication (R1, C-1), the size of the body (R62), unknown paths, and how an
answer is streamed (R65–R72, C-11). The judge checks everything that the headers and the body decide, R2–R64 without
R55–R57, in the order of R63. Both count tokens with `clew.simulator.values`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from clew.model.facts import ModelFacts
from clew.model.json import JsonObject, JsonValue

if TYPE_CHECKING:
    from clew.simulator.steps import Steps

Kind: TypeAlias = str
"""Which vendor is simulated: a row of the table `vendors.toml` of a dialect."""

Grade: TypeAlias = Literal["A", "B", "C", "D"]
"""How sure a rule is: A documented, B measured, C reported, D inferred."""

ThinkingMode: TypeAlias = Literal["off", "enabled", "adaptive", "between_tools"]
Display: TypeAlias = Literal["summarized", "omitted", "updates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The organization that sends a request. Blocks of account-bound models work only in the account that got them (R45)."""

    name: str
    created_after_binding: bool = True
    """Created on or after 2026-08-31: prefix binding is enforced by default (R44)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stance:
    """What the simulator does where the sources disagree, and how strict it is.

    Made by `clew.simulator.server.stance(...)`, which knows the questions, the values and the defaults from the table
    `stances.toml` of the facts. `stance["C-7"]` is the value in force, one of that table's.
    """

    choices: Mapping[str, str]
    """By conflict, all of them: `{"C-7": "accept", …}`."""
    without_grades: frozenset[Grade] = frozenset()
    """Rules of these grades refuse nothing."""
    predecessor: Literal["sent", "read"] = "sent"
    """Which block precedes a thinking block: the last one that was sent, or the last that the model could read."""
    prefix_enforcement: Literal["default", "on", "off"] = "default"
    """R44: by the account's age and the request's setting; or for all requests; or only for those that ask for it."""
    streams: Literal["asked", "always", "never"] = "asked"
    """Whether answers are streams: as each request asks, or always, or never, as some servers do."""
    without_rules: frozenset[str] = frozenset()
    """These rules refuse nothing, because the vendor does not have them."""
    models: Mapping[str, ModelFacts] | None = field(default=None, repr=False)
    """The known models; None: the table of facts. An operator may know more."""

    def __getitem__(self, conflict: str) -> str:
        return self.choices[conflict]

    def answers_in_stream(self, request: JsonObject) -> bool:
        """Whether the answer to this request is a stream."""
        return self.streams == "always" or (self.streams == "asked" and request.get("stream") is True)


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorRefusal:
    """A refusal in the vendor's words, for the first rule that a request broke."""

    rule: str
    """`R33.empty-signature`: the rule's number, and which of its cases. Goes out as `x-sim-rule`."""
    grade: Grade
    status: int
    error_type: str
    message: str
    """The vendor's words, with the vendor's path in front where it puts one."""
    path: str = ""
    """Where in the client's request, `messages.3.content.0.signature`; "" for the whole of it."""
    code: str = ""
    param: str = ""
    """For vendors whose errors have these fields; "" is null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockFate:
    """What the judge decided about one thinking or redacted_thinking block of the request."""

    path: str
    """`messages.3.content.0`, an index into the request as the client sent it."""
    maker: str
    """The model that made it; "" if the signature is not from this realm."""
    fate: Literal["kept", "dropped", "stripped", "refused"]
    """`kept`: the model reads it. `dropped`: by a binding (R43–R45). `stripped`: no error and not reported, e.g. an
    older turn on a model that reads only the last one (R39), thinking off (R50), a context edit (R52). `refused`: the
    refusal names it."""
    reason: str = ""
    """For `dropped`: `model_binding_mismatch` and the like. For others: a free text."""
    whose: Literal["own", "foreign", "unknown"] = "unknown"
    """`own`: the signature is from this realm, or in the simulator's books. `foreign`: it is not. `unknown`: there is no
    signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The request as the model would get it."""

    thinking: ThinkingMode = "off"
    """The effective mode: what was asked for, or the model's own default, or off if the open tool loop makes it so."""
    display: Display = "summarized"
    """Asked for, or the model's default. Without effect when thinking is off."""
    interleaved: bool = False
    """Whether the model may think between tool calls (R40)."""
    blocks: tuple[BlockFate, ...] = ()
    """Every thinking and redacted_thinking block of the request, in order."""
    transformations: tuple[JsonObject, ...] | None = None
    """R46, as it goes out; None without the beta header: then the field is absent."""
    applied_edits: tuple[JsonObject, ...] | None = None
    """R52, R53, as they go out in `context_management.applied_edits`; None if the request has no such field."""
    input_tokens: int = 0
    """What the model reads: without dropped or stripped thinking (R43, R74), and without cleared content."""
    cache_minimum: int = 1024
    """The fewest tokens that a cache entry holds on this model (R58)."""


class Signer(Protocol):
    """Signs the thinking in the answer to one judged request.

    A signature is bound to the full text, the model, the account, the prefix (the judged request, then the answer so far)
    and the thinking block before it (`Stance.predecessor` says which), but not to how much of the text is shown (R41). Same
    input, same signature.
    """

    def sign(self, text: str, *, answer: Sequence[JsonObject]) -> str | None:
        """The `signature` of a thinking block; None if this vendor's blocks have no such key.

        `text` is the whole thought. `answer` has the blocks of this answer before this one, as the client gets them, with
        their signatures.
        """
        ...

    def redact(self, text: str, *, answer: Sequence[JsonObject]) -> str:
        """The `data` of a redacted_thinking block, bound in the same way."""
        ...


@dataclass(frozen=True, slots=True)
class Books:
    """The thinking that the simulator has given out: by signature, or by text where there is none."""

    given: AbstractSet[str] = frozenset()
    omitted: AbstractSet[str] = frozenset()
    """Given without its text, and never with it: the text that a client puts there is ignored (R34)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVerdict:
    """What the judge decided. The request is legal if `violation` is None; then there is a `signer`."""

    violation: VendorRefusal | None = None
    request: JsonObject = field(default_factory=dict[str, JsonValue])
    """The parsed body; empty if it is not a JSON object."""
    prompt: Prompt = Prompt()
    """Complete if the request is legal. In a refusal, the fates up to the refused block, for the journal."""
    signer: Signer | None = None


class Judge(Protocol):
    """The judge of a dialect. It is pure (same arguments, same verdict) and never raises, whatever a client sends."""

    def __call__(
        self,
        body: bytes,
        headers: Mapping[str, str],
        *,
        kind: Kind,
        account: Account,
        stance: Stance,
        path: Literal["/v1/messages", "/v1/messages/count_tokens"],
        seed: int,
        realm: str,
        books: Books,
    ) -> JudgeVerdict:
        """The verdict on a request.

        `headers` have lower-case names; repeated ones are joined with a comma, in order. The signing key comes from
        `realm`, or else from the kind and the seed: simulators with the same key accept each other's signatures.
        """
        ...


class VendorErrors(Protocol):
    """How a vendor writes the errors of faults on demand, and its pings."""

    @property
    def ping(self) -> bytes:
        """The bytes of a keep-alive inside a stream."""
        ...

    def body(self, fault: str, message: str, status: int, request_id: str) -> bytes:
        """An error as the whole body; `fault` and `message` may be empty."""
        ...

    def event(self, fault: str, message: str, form: str = "", before: Steps = ()) -> bytes:
        """An error inside a stream that began with `before`; `form` is one of the vendor's, "" its usual one."""
        ...

    def status(self, fault: str) -> int:
        """The status of an error of this type."""
        ...
