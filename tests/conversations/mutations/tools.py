"""Tools, the choice among them, cache marks."""

from tests.build import Json, text
from tests.conversations.marks import places
from tests.conversations.mutations.moves import Catalogue, Move

steps = Catalogue()

SCHEMA: Json = {"type": "object"}


def _tool(rule: str, name: str, *tools: Json) -> None:
    def add(move: Move) -> None:
        move.body.setdefault("tools", []).append(dict(move.pick(*tools)))

    add.__name__ = f"add_a_tool_{name}"
    steps.breaks(rule)(add)


_tool("R59.schema-required", "without_a_schema", {"name": "f"}, {"type": "custom", "name": "f"})
_tool("R59.description-not-string", "with_a_null_description", {"name": "f", "input_schema": SCHEMA, "description": None})
_tool(
    "R59.name-pattern",
    "with_a_bad_name",
    {"name": "", "input_schema": SCHEMA},
    {"name": "a.b", "input_schema": SCHEMA},
    {"name": "n" * 129, "input_schema": SCHEMA},
)
_tool("R4.value-unknown", "that_takes_no_object", {"name": "f", "input_schema": {"type": "array"}})
_tool(
    "R4.tag-unknown", "of_an_unknown_type", {"type": "function", "name": "f"}, {"type": "web_search", "name": "web_search"}
)
_tool("R4.wrong-type", "of_no_type", {"type": 1, "name": "f"})
_tool(
    "R59.strict-open-object",
    "that_is_strict_and_open",
    {"name": "f", "strict": True, "input_schema": SCHEMA},
    {"name": "f", "strict": True, "input_schema": {"type": "object", "additionalProperties": False, "items": [SCHEMA]}},
)


@steps.breaks("R59.names-not-unique")
def name_two_tools_alike(move: Move) -> None:
    named = [tool for tool in move.body.get("tools", []) if "name" in tool]
    move.body.get("tools", []).append({"name": move.pick(*named)["name"], "input_schema": SCHEMA})


@steps.breaks("R59.all-deferred")
def defer_every_tool(move: Move) -> None:
    move.need(move.body.get("tools"))
    for tool in move.body["tools"]:
        tool["defer_loading"] = True


@steps.breaks("R61.tool-types-unsupported", fits=lambda facts: facts.tools_unsupported)
def add_a_computer(move: Move) -> None:
    move.body.setdefault("tools", []).append({"type": move.pick(*move.profile.tools_unsupported), "name": "computer"})


# ── the choice


@steps.breaks("R60.choice-not-object")
def choose_by_a_word(move: Move) -> None:
    move.body["tool_choice"] = move.pick("auto", None, [])


@steps.breaks("R60.choice-unknown")
def choose_as_elsewhere(move: Move) -> None:
    move.body["tool_choice"] = {"type": move.pick("required", "function")}


@steps.breaks("R60.choice-without-tools")
def choose_from_nothing(move: Move) -> None:
    move.body["tool_choice"] = {"type": move.pick("auto", "none")}
    move.body.pop("tools", None)


@steps.breaks("R60.choice-name-unknown")
def choose_what_is_not_there(move: Move) -> None:
    move.need(move.body.get("tools"))
    move.body["tool_choice"] = {"type": "tool", "name": "nothing"}


@steps.breaks("R49.forced-tool-unsupported", fits=lambda facts: facts.forced_tools == "reject")
def force_a_tool_on_a_newer_model(move: Move) -> None:
    move.need(move.body.get("tools"))
    move.body["tool_choice"] = {"type": "any"}


@steps.breaks("R49.forced-tool-with-manual-thinking", mode="enabled")
def force_a_tool_while_thinking(move: Move) -> None:
    move.need(move.body.get("tools"))
    move.body["tool_choice"] = {"type": "any"}


# ── cache marks


@steps.breaks("R58.too-many-marks")
def mark_five(move: Move) -> None:
    able = list(places(move.body))
    move.need(len(able) > 4)
    for place in able[: move.pick(5, len(able))]:
        place["cache_control"] = {"type": "ephemeral"}


@steps.breaks("R58.too-many-marks")
def mark_five_system_texts(move: Move) -> None:
    move.body["system"] = [text(f"{n}", cache_control={"type": "ephemeral"}) for n in range(5)]


@steps.breaks("R58.automatic-fifth")
def mark_a_fifth_automatically(move: Move) -> None:
    move.body["system"] = [text(f"{n}", cache_control={"type": "ephemeral"}) for n in range(4)]
    move.body["cache_control"] = {"type": "ephemeral"}


@steps.breaks("R58.automatic-ttl")
def mark_automatically_for_another_time(move: Move) -> None:
    able = list(places(move.body))
    move.pick(*able)["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    move.body["cache_control"] = {"type": "ephemeral", **move.pick({}, {"ttl": "5m"}, {"ttl": "1h"})}


@steps.breaks("R58.ttl-order")
def mark_short_before_long(move: Move) -> None:
    able = list(places(move.body))
    move.need(len(able) > 1)
    first = move.pick(*range(len(able) - 1))
    able[first]["cache_control"] = {"type": "ephemeral"}
    able[move.pick(*range(first + 1, len(able)))]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}


MUTATIONS = tuple(steps.mutations)
