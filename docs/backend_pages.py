"""A page for each preset: how to set it up, what it does with reasoning, its known limits, and where its row is from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import structs

from clew.backends.presets import Preset, presets
from clew.settings.backend_rows import OPTION_TABLES
from clew.settings.schema import meanings_of, toml_value

HEAD = """# Backends

A page for each vendor and local server that `preset` can name: how to set it up, what it does with reasoning, and its known
limits. [Add a backend](../howto/add-a-backend.md) is for any other; [the reference](../reference/backends.md) has all rows.

| backend | preset | speaks |
| --- | --- | --- |
"""
BACK: Final = {
    "anthropic": {
        True: "Thinking goes back as signed blocks, byte for byte.",
        False: "Thinking goes back as blocks; signatures are not checked.",
    },
    "openai-responses": {
        True: "Reasoning goes back as the items that came, with `encrypted_content`.",
        False: "Reasoning goes back as items with plain text.",
    },
}


def backend_pages() -> dict[str, str]:
    """Each page by its name in the docs."""
    listed = "".join(f"| [{row.title}]({name}.md) | `{name}` | {_dialects(row)} |\n" for name, row in presets().items())
    made = {f"backends/{name}.md": "\n".join(_page(row)).strip() + "\n" for name, row in presets().items()}
    return {"backends/README.md": HEAD + listed, **made}


def _dialects(row: Preset) -> str:
    return ", ".join(f"`{each.dialect}`" for each in _endpoints(row))


def _endpoints(row: Preset) -> list[Preset]:
    return [row, *row.others.values()]


def _page(row: Preset) -> Iterator[str]:
    yield f"# {row.title}\n"
    yield from _setup(row)
    yield "## Endpoints\n\n| dialect | url | images | tools | counts tokens |\n| --- | --- | --- | --- | --- |"
    for each in _endpoints(row):
        counts = "yes" if each.count_tokens else "unknown"
        yield f"| `{each.dialect}` | {each.url or 'your own'} | {each.vision} | {each.tools} | {counts} |"
    yield "\nclew uses the first one, unless `dialect` names another.\n"
    yield "## Reasoning\n"
    yield "\n".join(f"- `{each.dialect}`: {_reasoning(each)}" for each in _endpoints(row)) + "\n"
    yield from _limits(row)
    yield "## Tested\n"
    yield f"clew's tests call `clew sim --kind {row.simulator}`, a strict copy of this API, as far as it is known."
    yield f"No test calls the vendor. Source of this page: {row.source}, as of {row.date}."
    yield f"`clew backends test {row.backend}` calls the backend itself, with your key, and shows what differs.\n"
    yield "[All keys of a backend](../reference/config.md#backendsname) ·"
    yield "[Switch the backend](../howto/switch-the-backend.md) · [Symptoms](../symptoms/README.md)"


def _setup(row: Preset) -> Iterator[str]:
    key = row.variables[0].name if row.variables and not row.keyless else ""
    needs_model = not (row.model or row.models) and row.realm != "anthropic"
    options = (["--url https://RESOURCE.example/…"] if not row.url else []) + (["--model MODEL"] if needs_model else [])
    options += [] if row.keyless or key else ["--key '${MY_KEY}'"]
    yield "## Set it up\n\n```console"
    if key:
        yield f"export {key}=…"
    yield " ".join(["clew backends add", row.name, *options])
    yield f"clew use {row.backend}\n```\n"
    yield "Or in `clew.toml`:\n"
    yield "```toml\n" + "\n".join(_table(row, key, needs_model)) + "\n```\n"
    if key and len(row.variables) > 1:
        others = ", ".join(f"`{each.name}`" for each in row.variables[1:])
        yield f"Without a settings file, the key is found in `{key}`, or else in {others}.\n"
    if row.models or row.model:
        named = [f"`{model}` for names with *{family}*" for family, model in row.models.items()]
        every = ", ".join([*named, f"`{row.model}` for every other name"])
        if row.own_models:
            own = ", ".join(f"`{pattern}`" for pattern in row.own_models)
            yield f"A client that asks for one of the vendor's own model names ({own}) gets that model."
            yield f"For other names, clew asks for {every}."
        else:
            yield f"clew replaces the model name that a client asks for: {every}."
        yield "The settings `model` and `models` change that.\n"
    elif needs_model:
        yield "Set `model`: this backend does not know the model names that clients ask for.\n"


def _table(row: Preset, key: str, needs_model: bool) -> Iterator[str]:
    yield f"[backends.{row.backend}]"
    yield f'preset = "{row.name}"'
    if not row.url:
        yield 'url = "https://RESOURCE.example/openai/v1"'
    if not row.keyless:
        yield f'key = "${{{key or "MY_KEY"}}}"'
    if needs_model:
        yield 'model = "MODEL"'


def _reasoning(row: Preset) -> str:
    if row.dialect == "anthropic":
        return BACK[row.dialect][row.quirks.signed]
    if row.dialect == "openai-responses":
        return BACK[row.dialect][row.responses.encrypted]
    field = row.wire.reasoning
    return (
        f"Reasoning goes back in the field `{field}`."
        if field
        else "It accepts no reasoning back. clew keeps the reasoning and shows it to you."
    )


def _limits(row: Preset) -> Iterator[str]:
    found = [f"- `{each.dialect}`: {each.hidden}." for each in _endpoints(row) if each.hidden]
    differs = [line for each in _endpoints(row) for line in _differences(each)]
    if found:
        yield "## Known limits\n\n" + "\n".join(found) + "\n"
    if differs:
        yield "## What differs from other backends\n"
        yield "clew sets these by itself. You can override each of them in your settings.\n"
        yield "| dialect | setting | means |\n| --- | --- | --- |\n" + "\n".join(differs) + "\n"


def _differences(row: Preset) -> Iterator[str]:
    for part in OPTION_TABLES:
        value: Any = getattr(row, part)
        usual, meanings = structs.asdict(type(value)()), meanings_of(type(value))
        for name, given in structs.asdict(value).items():
            if given != usual[name]:
                plain = toml_value(sorted(given) if isinstance(given, frozenset) else msgspec.to_builtins(given))
                means = " ".join(meanings.get(name, "").split())
                yield f"| `{row.dialect}` | `{part}.{name} = {plain}` | {means} |"
