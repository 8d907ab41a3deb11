"""Missing keys, wrong kinds, unknown values, gates."""

from clew.model.facts import blocks
from tests.build import Json, text
from tests.conversations.asked import NEWER
from tests.conversations.mutations.moves import Catalogue, Move

steps = Catalogue()

MARKS = {"type": "ephemeral"}
BAD_TTL = {"type": "ephemeral", "ttl": "1d"}


# ── missing


def _forget(rule: str, key: str, *kinds: str) -> None:
    def forget(move: Move) -> None:
        del move.a_block(*kinds)[key]

    forget.__name__ = f"forget_{key}_of_{kinds[0]}"
    steps.breaks(rule)(forget)


_forget("R33.signature-missing", "signature", "thinking")
_forget("R33.thinking-missing", "thinking", "thinking")
_forget("R28.tool-use-id-required", "tool_use_id", "tool_result")
_forget("R4.field-required", "data", "redacted_thinking")
_forget("R4.field-required", "source", "image", "document", "search_result")
_forget("R4.field-required", "tool_use_id", "web_search_tool_result", "code_execution_tool_result", "mcp_tool_result")
_forget("R4.field-required", "type", "text", "thinking", "tool_use", "tool_result")


@steps.breaks("R4.model-required")
def forget_the_model(move: Move) -> None:
    del move.body["model"]


@steps.breaks("R4.messages-required")
def forget_the_messages(move: Move) -> None:
    del move.body["messages"]


@steps.breaks("R4.max-tokens-required", counting=False)
def forget_max_tokens(move: Move) -> None:
    del move.body["max_tokens"]


@steps.breaks("R4.field-required")
def forget_a_role(move: Move) -> None:
    del move.pick(*move.messages)["role"]


@steps.breaks("R4.field-required")
def forget_the_content(move: Move) -> None:
    del move.pick(*move.spoken_by("user", "assistant"))["content"]


# ── wrong kinds and values


@steps.breaks("R4.wrong-type")
def give_a_field_another_kind(move: Move) -> None:
    key = move.pick(*move.body)
    move.body[key] = move.pick(1.5, "x", None, True, [], {}, 7)


@steps.breaks("R33.signature-not-string")
def spoil_the_signatures_kind(move: Move) -> None:
    move.a_block("thinking")["signature"] = move.pick(None, 1, ["s"], {})


@steps.breaks("R24.input-not-object")
def send_the_input_as_text(move: Move) -> None:
    move.a_block("tool_use")["input"] = move.pick("{}", None, [], 1)


@steps.breaks("R23.role-unknown")
def invent_a_role(move: Move) -> None:
    move.pick(*move.messages)["role"] = move.pick("tool", "developer", "")


@steps.breaks("R23.block-unknown")
def invent_a_block(move: Move) -> None:
    message = move.pick(*move.listed("user", "assistant", "system"))
    strange: Json = {"type": move.pick("input_text", "tool_reference", "browser_state", "reasoning"), "text": "a"}
    message["content"].insert(move.pick(0, len(message["content"])), strange)


@steps.breaks("R23.block-unknown")
def nest_what_may_not_nest(move: Move) -> None:
    result = move.a_block("tool_result")
    result["content"] = [
        move.pick({"type": "thinking", "thinking": "", "signature": "s"}, {"type": "tool_result"}, {"type": "x"})
    ]


@steps.breaks("R23.block-gated")
def lock_a_block(move: Move) -> None:
    block = move.pick(*(each for each in move.all_blocks() if blocks()[each["type"]].beta))
    move.drop_beta(*blocks()[block["type"]].beta)


@steps.breaks("R24.id-pattern")
def spoil_a_call_id(move: Move) -> None:
    call = move.a_block("tool_use")
    spoiled = move.pick("functions.Bash:3", "", "a b", "a\n", "ü")
    for answer in move.blocks("tool_result"):
        if answer["tool_use_id"] == call["id"]:
            answer["tool_use_id"] = spoiled
    call["id"] = spoiled


@steps.breaks("R24.server-id-pattern")
def spoil_a_server_call_id(move: Move) -> None:
    move.a_block("server_tool_use")["id"] = move.pick("toolu_1", "srvtoolu_", "srvtoolu_a-b", "srvtoolu_1\n")


@steps.breaks("R58.ttl-unknown")
def invent_a_lifetime(move: Move) -> None:
    move.a_block("text", "tool_use", "tool_result", "image")["cache_control"] = dict(BAD_TTL)


@steps.breaks("R33.cache-control")
def mark_thinking(move: Move) -> None:
    move.a_block("thinking", "redacted_thinking")["cache_control"] = move.pick(dict(MARKS), None)


@steps.breaks("R4.key-unknown")
def add_a_key_to_a_block(move: Move) -> None:
    move.pick(*(each for each in move.all_blocks()))["id_"] = 1


@steps.breaks("R4.key-unknown")
def add_a_key_to_a_message(move: Move) -> None:
    message = move.pick(*move.messages)
    message |= move.pick({"name": "n"}, {"id": "m"}, {"output_config": {}}, {"clear_at": None}, {"cache_control": None})


@steps.breaks("R4.field-unknown")
def add_a_field(move: Move) -> None:
    move.body[move.pick("n", "seed", "user_profile", "Model")] = 1


@steps.breaks("R4.field-not-counted", counting=True)
def count_too_much(move: Move) -> None:
    move.body |= move.pick({"max_tokens": 5}, {"stream": True}, {"metadata": {}}, {"temperature": 1}, {"stop_sequences": []})


@steps.breaks("R4.value-unknown")
def choose_what_is_not_offered(move: Move) -> None:
    move.body |= move.pick({"service_tier": "best"}, {"speed": "slow"}, {"cache_control": {"type": "persistent"}})


@steps.breaks("R4.tag-unknown")
def invent_a_source(move: Move) -> None:
    move.a_block("image", "document")["source"] = {"type": "magic"}


@steps.breaks("R4.out-of-range")
def ask_for_less_than_nothing(move: Move) -> None:
    move.body["max_tokens"] = -1


@steps.breaks("R17.too-many-messages")
def talk_for_ever(move: Move) -> None:
    move.body["messages"] = [{"role": "user", "content": "x"}] * 100_001


# ── gates of the version


@steps.breaks("R2.document-in-assistant", version=NEWER)
def let_the_assistant_show_a_paper(move: Move) -> None:
    paper: Json = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}
    move.pick(*move.listed("assistant"))["content"].append(paper)


@steps.breaks("R2.citations-in-user", version=NEWER)
def let_the_user_cite(move: Move) -> None:
    cited = text("a", citations=[{"type": "char_location", "cited_text": "x"}])
    move.as_list(move.pick(*move.spoken_by("user"))).append(cited)


def _newer_has_no(key: str, rule: str) -> None:
    def add(move: Move) -> None:
        move.body[key] = move.pick(1, None, "x")

    add.__name__ = f"add_{key}_under_the_newer_version"
    steps.breaks(rule, version=NEWER)(add)


_newer_has_no("temperature", "R2.temperature")
_newer_has_no("top_p", "R2.top-p")
_newer_has_no("top_k", "R2.top-k")


# ── gates of betas


def _locks(rule: str, name: str, field: Json, *betas: str) -> None:
    def lock(move: Move) -> None:
        move.body |= field
        move.drop_beta(*betas)

    lock.__name__ = f"lock_{name}"
    steps.breaks(rule)(lock)


CONTEXT = ("context-management-2025-06-27", "compact-2026-01-12")
_locks("R51.gated", "context_edits", {"context_management": {"edits": [{"type": "what"}]}}, *CONTEXT)
_locks("R3.field-gated", "safeguards", {"safeguards": "x"}, "dangerous-tool-use-2026-09-03")
_locks("R3.field-gated", "thread", {"thread": {"type": "create"}}, "message-threads-2026-08-12")


@steps.breaks("R51.compact-gated")
def lock_compaction(move: Move) -> None:
    move.body["context_management"] = {"edits": [{"type": "compact_20260112", "trigger": 5}]}
    move.drop_beta("compact-2026-01-12")
    move.set_beta("context-management-2025-06-27")


@steps.breaks("R12.task-budget-gated")
def lock_the_task_budget(move: Move) -> None:
    move.body.setdefault("output_config", {})["task_budget"] = {"type": "tokens"}
    move.drop_beta("task-budgets-2026-03-13")


@steps.breaks("R32.output-config-gated", fits=lambda facts: facts.system_messages)
def lock_a_messages_output(move: Move) -> None:
    move.pick(*move.spoken_by("system"))["output_config"] = {"effort": "low"}
    move.drop_beta("mid-conversation-output-config-2026-07-01", "per-turn-control-2026-07-01")


@steps.breaks("R32.clear-at-gated", fits=lambda facts: facts.system_messages)
def lock_clear_at(move: Move) -> None:
    move.pick(*move.spoken_by("system"))["clear_at"] = "never"
    move.drop_beta("mid-conversation-system-clear-at-2026-08-21")


MUTATIONS = tuple(steps.mutations)
