"""What the simulator's two halves promise each other.

The *shell* (server, routes, scenarios, faults, journal) speaks HTTP, knows accounts and says the answer. The *judge*
(`clew.simulator.anthropic.judge`) knows the vendor's rules: it decides whether a request is legal, what the model would see
of it, and it signs new thinking. They meet only here, as values: the shell calls one `Judge`, gets a `Verdict`, and asks
the verdict's `Signer` for each signature. Neither half reads the other's modules.

Who checks what. The shell: authentication (R1, C-1), the size of the body (R62), unknown paths, and how an answer is
streamed (R65–R72, C-11). The judge: everything that the headers and the body decide, R2–R64 without R55–R57, in the
order of R63. Both count tokens with `clew.simulator.tokens`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from clew.model.facts import ModelFacts
from clew.model.json import JsonObject

__all__ = [
    "Account",
    "BlockFate",
    "Books",
    "Display",
    "Grade",
    "Judge",
    "Kind",
    "Prompt",
    "Signer",
    "Stance",
    "ThinkingMode",
    "Verdict",
    "Violation",
]

Kind: TypeAlias = str
"""Which vendor is simulated: a row of `vendors.toml`, or of `chat/vendors.toml`. `compat` speaks the Anthropic dialect, but
signs with its own key, takes any model name, and refuses every thinking block that it did not make
(R33.invalid-signature)."""

Grade: TypeAlias = Literal["A", "B", "C", "D"]
"""How sure a rule is: A documented, B measured, C reported, D inferred."""

ThinkingMode: TypeAlias = Literal["off", "enabled", "adaptive", "between_tools"]
Display: TypeAlias = Literal["summarized", "omitted", "updates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Who calls: an organization. Blocks of account-bound models work only in the account that got them (R45)."""

    name: str
    created_after_binding: bool = True
    """Created on or after 2026-08-31: prefix binding is enforced by default (R44)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stance:
    """What the simulator does where the sources disagree, and how strict it is.

    Made by `clew.simulator.stances.stance(...)`, which knows the questions, the values and the defaults from the table
    `stances.toml` of the facts. `stance["C-7"]` is the value in force, one of that table's.
    """

    choices: Mapping[str, str]
    """By conflict, all of them: `{"C-7": "accept", …}`."""
    without_grades: frozenset[Grade] = frozenset()
    """Rules of these grades refuse nothing."""
    predecessor: Literal["sent", "read"] = "sent"
    """Which block precedes a thinking block: the last one that was sent, or the last that the model could read."""
    prefix_enforcement: Literal["default", "on", "off"] = "default"
    """R44: by the account's age and the request's setting; or for everyone; or for nobody who did not ask for it."""
    streams: Literal["asked", "always", "never"] = "asked"
    """Whether answers are streams: as each request asks, or whatever it asks, as some servers have it."""
    without_rules: frozenset[str] = frozenset()
    """These refuse nothing: a vendor of another kind does not have them."""
    models: Mapping[str, ModelFacts] | None = field(default=None, repr=False)
    """What is known of each model; None: the table of facts. An operator may know more."""

    def __getitem__(self, conflict: str) -> str:
        return self.choices[conflict]

    def answers_in_stream(self, request: JsonObject) -> bool:
        """Whether the answer to this request is a stream."""
        return self.streams == "always" or (self.streams == "asked" and request.get("stream") is True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """The first rule that a request broke."""

    rule: str
    """`R33.empty-signature`: the rule's number, and which of its cases. Goes out as `x-sim-rule`."""
    grade: Grade
    status: int
    error_type: str
    message: str
    """The vendor's words, with the vendor's path in front where it puts one."""
    path: str = ""
    """Where in the client's request, `messages.3.content.0.signature`; "" for the whole of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockFate:
    """What became of one thinking or redacted_thinking block that came back."""

    path: str
    """`messages.3.content.0`, an index into the request as the client sent it."""
    maker: str
    """The model that made it; "" if the signature is not ours."""
    fate: Literal["kept", "dropped", "stripped", "refused"]
    """`kept`: the model reads it. `dropped`: by a binding (R43–R45). `stripped`: no error and not reported, e.g. an
    older turn on a model that reads only the last one (R39), thinking off (R50), a context edit (R52). `refused`: named
    by the violation."""
    reason: str = ""
    """For `dropped`: `model_binding_mismatch` and its sisters. For others: free words."""
    whose: Literal["own", "foreign", "unknown"] = "unknown"
    """`own`: the signature is ours, or it is in our books. `foreign`: it has a signature that is not. `unknown`: it has
    none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The request as the model would get it."""

    thinking: ThinkingMode = "off"
    """The effective mode: what was asked for, or the model's own default, or off if the open tool loop makes it so."""
    display: Display = "summarized"
    """Asked for, or the model's default. Without effect when thinking is off."""
    interleaved: bool = False
    """May the model think between tool calls (R40)?"""
    blocks: tuple[BlockFate, ...] = ()
    """Every thinking and redacted_thinking block of the request, in order."""
    transformations: tuple[JsonObject, ...] | None = None
    """R46, as it goes out; None without the beta header: then the field is absent."""
    applied_edits: tuple[JsonObject, ...] | None = None
    """R52, R53, as they go out in `context_management.applied_edits`; None if the request has no such field."""
    input_tokens: int = 0
    """What the model reads: without the thinking that was dropped or stripped (R43, R74), and without what was cleared."""
    cache_minimum: int = 1024
    """The fewest tokens that a cache entry holds on this model (R58)."""


class Signer(Protocol):
    """Signs what the model says in answer to one judged request.

    A signature is bound to the full text, the model, the account, the prefix (the judged request, then what the answer
    said so far) and the thinking block before it (`Stance.predecessor` says which), and not to how much of it is shown
    (R41). Same input, same signature.
    """

    def sign(self, text: str, *, answer: Sequence[JsonObject]) -> str | None:
        """The `signature` of a thinking block; None if this vendor's blocks have no such key.

        `text` is what the model thought; `answer` the blocks of this answer before this one, as the client gets them,
        their signatures included.
        """
        ...

    def redact(self, text: str, *, answer: Sequence[JsonObject]) -> str:
        """The `data` of a redacted_thinking block, bound in the same way."""
        ...


@dataclass(frozen=True, slots=True)
class Books:
    """What the simulator remembers of the thinking that it gave out: by signature, or by text where there is none."""

    given: AbstractSet[str] = frozenset()
    omitted: AbstractSet[str] = frozenset()
    """Given without its text, and never with it: what a client puts there is ignored (R34)."""


def _no_request() -> JsonObject:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the judge found. Legal if `violation` is None; then `signer` is there."""

    violation: Violation | None = None
    request: JsonObject = field(default_factory=_no_request)
    """The body as parsed; empty if it is no JSON object."""
    prompt: Prompt = Prompt()
    """Whole when legal. In a refusal, what was found before it, so that the journal can name the block."""
    signer: Signer | None = None


class Judge(Protocol):
    """One pure call: same arguments, same verdict. It never raises for what a client can send."""

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
    ) -> Verdict:
        """Judge one request.

        `headers` have lower-case names; repeated ones are joined with a comma, in order. `realm` makes the signing key,
        or without one the kind and the seed: simulators of one realm know each other's signatures, others refuse them.
        """
        ...
