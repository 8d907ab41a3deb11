"""Parameters that do not go with the model, or with each other."""

from tests.build import Json
from tests.conversations.asked import OLDER
from tests.conversations.mutations.moves import Catalogue, Move

steps = Catalogue()

LEVELS = ("low", "medium", "high", "xhigh", "max")
FORMAT: Json = {"type": "json_schema", "schema": {"type": "object"}}
CONTEXT = "context-management-2025-06-27"


# ── output size


@steps.breaks("R7.over-cap", fits=lambda facts: facts.max_tokens, counting=False)
def ask_for_too_much(move: Move) -> None:
    move.body["max_tokens"] = move.pick(move.profile.max_tokens + 1, 10**30)


def _warm_up(rule: str, name: str, field: Json) -> None:
    def warm(move: Move) -> None:
        move.body |= {"max_tokens": 0} | field

    warm.__name__ = f"warm_a_cache_with_{name}"
    steps.breaks(rule, counting=False)(warm)


_warm_up("R7.zero-with-stream", "stream", {"stream": True})
_warm_up("R7.zero-with-manual-thinking", "manual_thinking", {"thinking": {"type": "enabled", "budget_tokens": 1024}})
_warm_up("R7.zero-with-format", "format", {"output_config": {"format": FORMAT}})
_warm_up("R7.zero-with-forced-tool", "a_forced_tool", {"tool_choice": {"type": "any"}})


# ── thinking


def _mode(rule: str, mode: str, **more: int) -> None:
    def switch(move: Move) -> None:
        move.body["thinking"] = {"type": mode, **more}

    switch.__name__ = f"switch_to_{mode}_for_{rule.partition('.')[2].replace('-', '_')}"
    steps.breaks(rule, fits=lambda facts: mode not in facts.thinking)(switch)


_mode("R10.enabled-unsupported", "enabled", budget_tokens=1024)
_mode("R10.disabled-unsupported", "disabled")
_mode("R10.between-tools-unsupported", "between_tools")
_mode("R10.adaptive-unsupported", "adaptive")


@steps.breaks("R10.disabled-use-between-tools", fits=lambda facts: "between_tools" in facts.thinking)
def disable_what_has_between_tools(move: Move) -> None:
    move.body["thinking"] = {"type": "disabled"}


@steps.breaks("R10.disabled-use-manual", fits=lambda facts: "enabled" in facts.thinking and "disabled" not in facts.thinking)
def disable_what_has_manual_mode(move: Move) -> None:
    move.body["thinking"] = {"type": "disabled"}


@steps.breaks("R10.type-unknown")
def invent_a_mode(move: Move) -> None:
    move.body["thinking"] = {"type": move.pick("auto", "on", "")}


@steps.breaks("R9.display-unknown", mode="adaptive")
def invent_a_display(move: Move) -> None:
    move.body["thinking"]["display"] = move.pick("full", "")


@steps.breaks("R9.display-updates-gated", mode="adaptive")
def lock_updates(move: Move) -> None:
    move.body["thinking"]["display"] = "updates"
    move.drop_beta("thinking-display-updates-2026-08-18")


@steps.breaks("R9.block-binding-gated", mode="adaptive")
def lock_the_binding(move: Move) -> None:
    move.body["thinking"]["block_binding"] = move.pick({}, {"prefix_mismatch_behavior": 1}, 5)
    move.drop_beta("thinking-binding-controls-2026-08-01")


@steps.breaks("R9.mismatch-behavior-unknown", mode="adaptive")
def invent_a_binding(move: Move) -> None:
    move.body["thinking"]["block_binding"] = {"prefix_mismatch_behavior": "drop"}
    move.set_beta("thinking-binding-controls-2026-08-01")


@steps.breaks("R9.binding-key-aws", mode="adaptive")
def bind_as_on_aws(move: Move) -> None:
    move.body["thinking"]["block_binding"] = {move.pick("mismatch_behavior", "bind_to_end_user"): "x"}
    move.set_beta("thinking-binding-controls-2026-08-01")


@steps.breaks("R9.disabled-display", mode="disabled")
def show_what_is_off(move: Move) -> None:
    move.body["thinking"]["display"] = move.pick("omitted", None)


@steps.breaks("R9.between-tools-extra", mode="between_tools")
def ask_more_of_between_tools(move: Move) -> None:
    move.body["thinking"][move.pick("display", "budget_tokens", "block_binding")] = None


@steps.breaks("R11.budget-minimum", mode="enabled")
def think_too_little(move: Move) -> None:
    move.body["thinking"]["budget_tokens"] = move.pick(1023, 0, -1)


@steps.breaks("R11.budget-not-below-max", mode="enabled", counting=False)
def think_more_than_may_be_said(move: Move) -> None:
    move.body["max_tokens"] = move.body["thinking"]["budget_tokens"] - move.pick(0, 1)


# ── effort


@steps.breaks("R12.effort-unsupported", fits=lambda facts: not facts.effort)
def ask_for_effort(move: Move) -> None:
    move.body.setdefault("output_config", {})["effort"] = move.pick(*LEVELS)


@steps.breaks("R12.effort-level", fits=lambda facts: 0 < len(facts.effort) < len(LEVELS))
def ask_for_too_much_effort(move: Move) -> None:
    unknown = [level for level in LEVELS if level not in move.profile.effort]
    move.body.setdefault("output_config", {})["effort"] = move.pick(*unknown)


@steps.breaks("R12.effort-unknown")
def invent_an_effort(move: Move) -> None:
    move.body.setdefault("output_config", {})["effort"] = move.pick("ultra", "", "High")


@steps.breaks("R10.disabled-effort", mode="disabled", fits=lambda facts: facts.disabled_max_effort)
def strain_without_thinking(move: Move) -> None:
    move.body.setdefault("output_config", {})["effort"] = move.pick("xhigh", "max")


@steps.breaks("R10.between-tools-effort", mode="between_tools")
def strain_between_tools(move: Move) -> None:
    move.body.setdefault("output_config", {})["effort"] = move.pick("xhigh", "max")


@steps.breaks("R10.between-tools-message-effort", mode="between_tools")
def change_effort_between_tools(move: Move) -> None:
    move.pick(*move.spoken_by("system"))["output_config"] = {"effort": move.pick("low", "medium", "high")}
    move.set_beta("mid-conversation-output-config-2026-07-01")


# ── format


@steps.breaks("R12.format-with-citations")
def format_and_cite(move: Move) -> None:
    move.need(any("'citations': {'enabled': True}" in str(message) for message in move.messages))
    move.body.setdefault("output_config", {})["format"] = dict(FORMAT)


@steps.breaks("R12.format-with-prefill", fits=lambda facts: facts.prefill)
def format_and_prefill(move: Move) -> None:
    move.need(move.messages[-1]["role"] == "assistant")
    move.body.setdefault("output_config", {})["format"] = dict(FORMAT)


# ── sampling


def _samples(rule: str, sampling: str, mode: str, name: str, *fields: Json) -> None:
    def sample(move: Move) -> None:
        move.body |= move.pick(*fields)

    sample.__name__ = f"sample_{name}"
    steps.breaks(rule, fits=lambda facts: facts.sampling == sampling, mode=mode, version=OLDER, counting=False)(sample)


_samples(
    "R13.temperature-with-thinking", "accept", "enabled", "coldly_while_thinking", {"temperature": 0}, {"temperature": 0.5}
)
_samples("R13.top-p-with-thinking", "accept", "adaptive", "narrowly_while_thinking", {"top_p": 0.94}, {"top_p": 0})
_samples("R13.top-k-with-thinking", "accept", "enabled", "few_while_thinking", {"top_k": 5}, {"top_k": 0})
_samples("R14.temperature-deprecated", "reject", "", "coldly_on_a_newer_model", {"temperature": 0}, {"temperature": 0.99})
_samples("R14.top-p-deprecated", "reject", "", "narrowly_on_a_newer_model", {"top_p": 0.99}, {"top_p": 0})
_samples("R14.top-k-deprecated", "reject", "", "few_on_a_newer_model", {"top_k": 5}, {"top_k": 0})
_samples("R14.temperature-and-top-p", "accept", "", "in_two_ways", {"temperature": 1, "top_p": 1})
_samples("R13.temperature-range", "accept", "", "hotly", {"temperature": 1.01}, {"temperature": -1}, {"temperature": 2})


# ── the rest


@steps.breaks("R15.stop-sequence-blank", counting=False)
def stop_at_nothing(move: Move) -> None:
    move.body["stop_sequences"] = ["stop", move.pick("", " ", "\n\t")]


@steps.breaks("R17.mcp-unpaired")
def connect_without_a_toolset(move: Move) -> None:
    move.body["mcp_servers"] = [{"type": "url", "name": "wiki", "url": "https://wiki.example"}]
    move.drop_beta("mcp-client-2025-04-04")
    move.set_beta("mcp-client-2025-11-20")


@steps.breaks("R17.compaction-with-edits")
def compact_and_edit(move: Move) -> None:
    move.body |= {"compaction": {"type": "summarize"}, "context_management": {"edits": []}}
    move.set_beta("compact-2026-09-04", CONTEXT)


@steps.breaks("R52.thinking-required")
def clear_thinking_that_is_off(move: Move) -> None:
    off = move.profile.thinking_default == "off" if not move.mode else move.mode in ("disabled", "between_tools")
    move.need(off)
    move.body["context_management"] = {"edits": [{"type": "clear_thinking_20251015"}]}
    move.set_beta(CONTEXT)


@steps.breaks("R51.edits-order")
def clear_thinking_last(move: Move) -> None:
    move.body["context_management"] = {"edits": [{"type": "clear_tool_uses_20250919"}, {"type": "clear_thinking_20251015"}]}
    move.set_beta(CONTEXT)


@steps.breaks("R52.keep-not-positive")
def keep_no_turn(move: Move) -> None:
    keep = {"type": "thinking_turns", "value": move.pick(0, -3)}
    move.body["context_management"] = {"edits": [{"type": "clear_thinking_20251015", "keep": keep}]}
    move.set_beta(CONTEXT)


@steps.breaks("R54.trigger-minimum")
def compact_too_early(move: Move) -> None:
    trigger = {"type": "input_tokens", "value": 49_999}
    move.body["context_management"] = {"edits": [{"type": "compact_20260112", "trigger": trigger}]}
    move.set_beta("compact-2026-01-12")


@steps.breaks("R32.role-unsupported", fits=lambda facts: not facts.system_messages)
def speak_as_the_system(move: Move) -> None:
    move.messages.append({"role": "system", "content": "now"})


MUTATIONS = tuple(steps.mutations)
