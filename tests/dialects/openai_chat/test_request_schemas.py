"""Tool schemas in the words that a backend's own check lets pass."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai.schemas import fit_schema
from clew.errors import RequestInvalid, SettingsInvalid
from clew.model.facts.chat_backends import validator, validators
from tests.build import Json, request, user
from tests.counts import examples
from tests.dialects.openai_chat.encoding import body, changes, told
from tests.dialects.openai_chat.test_request_prefix import CAPTURES, SEARCH, capture


def about(inner: Json, **more: Any) -> Json:
    """An input with one property."""
    return {"type": "object", "properties": {"p": inner}, **more}


def property_in(name: str, inner: Json, **more: Any) -> Json:
    done: Any = fit_schema(about(inner, **more), validator(name)).schema
    return done["properties"]["p"]


def altered(name: str, schema: Json) -> tuple[str, ...]:
    return fit_schema(schema, validator(name)).altered


@pytest.mark.parametrize("name", validators())
def test_every_check_has_a_source_and_something_to_do(name: str) -> None:
    row = validator(name)

    assert row.sources
    assert row.keeps or row.drops or row.rewrites


GEMINI: list[tuple[str, Json, Json]] = [
    ("a keyword it does not know", {"type": "string", "contentEncoding": "x", "$comment": "c"}, {"type": "string"}),
    ("formats it does not know", {"type": "string", "format": "uri"}, {"type": "string"}),
    ("formats it knows", {"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
    ("a closed object", about({"type": "string"}, additionalProperties=False), about({"type": "string"})),
    ("a constant", {"const": "a"}, {"type": "string", "enum": ["a"]}),
    ("a constant that is no text", {"const": 5}, {"type": "integer"}),
    ("an enum of numbers", {"type": "integer", "enum": [1, 2]}, {"type": "integer"}),
    ("an empty text among others", {"type": "string", "enum": ["", "a"]}, {"type": "string", "enum": ["a"]}),
    ("an exclusive bound", {"type": "number", "exclusiveMinimum": 0}, {"type": "number", "minimum": 0}),
    ("of whole numbers", {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9}, {"type": "integer", "minimum": 1, "maximum": 8}),
    ("of an older draft", {"type": "integer", "minimum": 0, "exclusiveMinimum": True}, {"type": "integer", "minimum": 1}),
    ("that is not exclusive", {"type": "integer", "minimum": 0, "exclusiveMinimum": False}, {"type": "integer", "minimum": 0}),
    ("a type or null", {"type": ["string", "null"]}, {"type": "string", "nullable": True}),
    ("several types", {"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    ("a union with null", {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "d"}, {"type": "string", "description": "d", "nullable": True}),
    ("one of", {"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    ("all of", {"allOf": [about({"type": "string"}, required=["p"]), {"description": "d"}]}, {**about({"type": "string"}, required=["p"]), "description": "d"}),
    ("an array of anything", {"type": "array"}, {"type": "array", "items": {"type": "string"}}),
    ("positions", {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}),
    ("one position", {"type": "array", "items": [{"type": "string"}]}, {"type": "array", "items": {"type": "string"}}),
    ("required but unknown", about({"type": "string"}, required=["p", "q"]), about({"type": "string"}, required=["p"])),
    ("nothing known", {"type": "object", "required": ["q"]}, {"type": "object"}),
    ("no properties", {"type": "object", "properties": {}}, {"type": "object"}),
]  # fmt: skip


@pytest.mark.parametrize(("given_", "expected"), [row[1:] for row in GEMINI], ids=[row[0] for row in GEMINI])
def test_gemini_gets_the_subset_that_it_knows(given_: Json, expected: Json) -> None:
    """Anything else is an unknown name, and fails the whole request."""
    assert property_in("gemini", given_) == expected


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    odd = {"type": "object", "properties": {"$schema": {"type": "string"}, "const": {"type": "string", "format": "uri"}}}

    assert fit_schema(odd, validator("gemini")).schema == {
        "type": "object",
        "properties": {"$schema": {"type": "string"}, "const": {"type": "string"}},
    }


POINT: Json = {"type": "object", "properties": {"x": {"type": "number"}}}


def test_references_become_what_they_refer_to() -> None:
    defs = {"$defs": {"Point": POINT, "Alias": {"$ref": "#/$defs/Point"}, "a/b": {"type": "string"}}}

    assert property_in("gemini", {"$ref": "#/$defs/Point", "description": "d"}, **defs) == {**POINT, "description": "d"}
    assert property_in("gemini", {"$ref": "#/$defs/Alias"}, **defs) == POINT
    assert property_in("gemini", {"$ref": "#/$defs/a~1b"}, **defs) == {"type": "string"}
    assert property_in("gemini", {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]}, **defs) == {
        **POINT,
        "nullable": True,
    }
    assert property_in("gemini", {"allOf": [{"$ref": "#/$defs/Point"}], "title": "t"}, **defs) == {**POINT, "title": "t"}


@pytest.mark.parametrize("name", ["#/$defs/Gone", "https://example.org/schema", ""])
def test_a_reference_that_leads_nowhere_is_any_object(name: str) -> None:
    assert property_in("gemini", {"$ref": name}) == {"type": "object"}


def test_a_circle_ends_where_it_closes() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "v": {"type": "string"}}}

    assert property_in("gemini", {"$ref": "#/$defs/Node"}, **{"$defs": {"Node": node}}) == {
        "type": "object",
        "properties": {"next": {"type": "object"}, "v": {"type": "string"}},
    }


def test_references_that_multiply_are_cut_off() -> None:
    """A few lines could be millions of schemas."""
    two = lambda name: {"type": "object", "properties": {key: {"$ref": f"#/$defs/{name}"} for key in "ab"}}  # noqa: E731
    defs = {f"d{level}": two(f"d{level + 1}") for level in range(40)}

    done = fit_schema(about({"$ref": "#/$defs/d0"}, **{"$defs": defs}), validator("gemini"))

    assert len(json.dumps(done.schema)) < 300_000


def test_a_union_at_the_root_becomes_an_object_with_the_properties_of_its_members() -> None:
    """OpenAI, Gemini, Kimi and Mistral want an object there."""
    union = {"anyOf": [about({"type": "string"}), {"type": "object", "properties": {"q": {"type": "string"}}}]}
    plain = {"type": "object", "properties": {"p": {"type": "string"}, "q": {"type": "string"}}}

    for name in ("openai", "gemini", "mistral"):
        assert fit_schema(union, validator(name)).schema == plain
    assert altered("openai", union) == ("anyOf",)


def test_kimi_wants_a_type_everywhere_and_in_the_members_of_a_union() -> None:
    """earendil-works/pi#4138, pi-subagents#127, kimi-code#1610."""
    assert property_in("kimi", {"description": "d"}) == {"type": "string", "description": "d"}
    assert property_in("kimi", {"enum": [1, 2]}) == {"type": "integer", "enum": [1, 2]}
    assert property_in("kimi", {"properties": {}}) == {"type": "object", "properties": {}}
    assert property_in("kimi", {"type": "object", "anyOf": [{"required": ["a"]}, {"type": "string"}]}) == {
        "anyOf": [{"type": "object"}, {"type": "string"}]
    }
    assert property_in("kimi", {"$ref": "#/x"}) == {"$ref": "#/x"}


@pytest.mark.parametrize(
    ("pattern", "stays"),
    [("^a+$", True), ("^[a-z-]+$", True), (r"^\.x$", True), ("a", False), (r"^\d+$", False), (r"\S", False)],
)
def test_llamacpp_gets_only_patterns_that_its_grammars_know(pattern: str, stays: bool) -> None:
    """ggml-org/llama.cpp#26930 and #27580: one such pattern fails the whole request."""
    assert ("pattern" in property_in("llamacpp", {"type": "string", "pattern": pattern})) is stays


def test_what_was_altered_is_named_once_in_order() -> None:
    schema = {"$schema": "s", **about({"type": "string", "format": "uri"}, additionalProperties=False), "$id": "i"}

    assert altered("gemini", schema) == ("$schema", "additionalProperties", "$id", "format")
    assert altered("mistral", schema) == ("$schema", "$id")


def test_a_schema_that_passes_goes_as_the_bytes_that_came() -> None:
    schema = about({"type": "string"})

    assert fit_schema(schema, validator("gemini")) == fit_schema(schema, validator("gemini"))
    assert altered("gemini", schema) == ()


# ───────────────────────────────────────────── in a request


def tool(schema: Any) -> Any:
    return request(user("go"), tools=[{"name": "T", "input_schema": schema}])


def test_a_tools_schema_is_fitted_and_that_is_one_change() -> None:
    asked = tool({"$schema": "x", **about({"type": "string", "format": "uri"})})

    assert body(asked, validator="gemini")["tools"][0]["function"]["parameters"] == about({"type": "string"})
    (change,) = changes(asked, validator="gemini")
    assert (change.path, change.what) == ("tools.0.input_schema", "replaced")
    assert change.why.endswith(": $schema, format")
    assert told(asked) == []


def test_a_tool_without_parameters_has_none_where_an_empty_object_is_refused() -> None:
    asked = tool({"type": "object", "properties": {}})

    assert body(asked, validator="gemini")["tools"][0]["function"] == {"name": "T"}
    assert [(each.path, each.what) for each in changes(asked, validator="gemini")] == [("tools.0.input_schema", "left out")]
    assert body(asked)["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}


def test_the_schema_of_an_answer_is_fitted_too() -> None:
    form = {"type": "json_schema", "schema": about({"type": "string"}, required=["p"], additionalProperties=False)}
    asked = request(user("go"), output_config={"format": form})

    sent = body(asked, validator="gemini")["response_format"]["json_schema"]
    assert (sent["schema"], sent["strict"]) == (about({"type": "string"}, required=["p"]), True)


def test_a_schema_that_is_none_is_named_by_its_place() -> None:
    with pytest.raises(RequestInvalid) as refusal:
        body(tool([1]), validator="gemini")

    assert refusal.value.path == "tools.0.input_schema"


def test_an_unknown_check_is_an_error_of_the_settings() -> None:
    with pytest.raises(SettingsInvalid, match="no validator 'nope'; there are gemini, "):
        body(tool({}), validator="nope")


@pytest.mark.parametrize("name", validators())
@pytest.mark.parametrize("file", sorted(path.name for path in CAPTURES.glob("cc_*.json") if path.name != SEARCH))
def test_the_tools_of_claude_code_pass_every_check(name: str, file: str) -> None:
    for each in body(capture(file), validator=name, knob="deepseek").get("tools", []):
        parameters = each["function"].get("parameters")
        assert parameters is None or not altered(name, parameters)


names = st.sampled_from(["p", "q", "type", "$ref", "enum"])
scalars = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
keywords = st.fixed_dictionaries(
    {},
    optional={
        "type": scalars | st.lists(scalars, max_size=3),
        "description": st.just("d"),
        "format": st.sampled_from(["uri", "date-time"]),
        "enum": st.lists(st.sampled_from(["a", "", 1, None]), max_size=3),
        "const": st.sampled_from(["a", 1, None, True]),
        "exclusiveMinimum": st.sampled_from([0, 1.5, True, False]),
        "minimum": st.integers(0, 3),
        "pattern": st.sampled_from(["^a$", r"\d", "a"]),
        "required": st.lists(names, max_size=3),
        "$ref": st.sampled_from(["#/$defs/A", "#/$defs/B", "#", "#/nowhere"]),
        "$schema": st.just("s"),
        "additionalProperties": st.booleans(),
    },
)


def nested(inner: Any) -> Any:
    more = st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(names, inner, max_size=2),
            "items": inner | st.lists(inner, max_size=2),
            "prefixItems": st.lists(inner, max_size=2),
            "anyOf": st.lists(inner, max_size=3),
            "oneOf": st.lists(inner, max_size=2),
            "allOf": st.lists(inner, max_size=2),
            "not": inner,
        },
    )
    return st.builds(lambda one, two: {**one, **two}, keywords, more)


inner_schemas = st.recursive(keywords, nested, max_leaves=6)
schemas = st.builds(
    lambda top, a, b: {**top, "$defs": {"A": a, "B": b}}, nested(inner_schemas), inner_schemas, inner_schemas
)


@settings(max_examples=examples(25, soak=1200), deadline=None)
@given(schemas, st.sampled_from(sorted(validators())))
def test_a_schema_that_was_fitted_passes(schema: Json, name: str) -> None:
    """Doing it twice is doing it once, and the given one is left alone."""
    check, before = validator(name), json.dumps(schema)
    once = fit_schema(schema, check)

    assert fit_schema(once.schema, check).schema == once.schema
    assert fit_schema(once.schema, check).altered == ()
    assert json.dumps(schema) == before


@settings(max_examples=examples(25, soak=1200), deadline=None)
@given(schemas)
def test_nothing_that_gemini_does_not_know_is_left(schema: Json) -> None:
    _check(fit_schema(schema, validator("gemini")).schema)


def _check(node: Any) -> None:
    known = validator("gemini").keeps
    assert set(node) <= known
    assert isinstance(node.get("type", ""), str)
    below = [*node.get("properties", {}).values(), *node.get("anyOf", []), *([node["items"]] if "items" in node else [])]
    for each in below:
        _check(each)
