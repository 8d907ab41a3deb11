"""The shape of the code: sizes, docstrings, forbidden words, public names. Each test names what breaks its rule."""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import clew

SOURCE = Path(__file__).parent.parent / "src/clew"

parsed = cache(ast.parse)
"""Several rules look at each file."""


@cache
def nodes(source: str) -> list[ast.AST]:
    """Everything in a file, in the order of `ast.walk`."""
    return [*ast.walk(parsed(source))]


@cache
def sources() -> dict[Path, str]:
    """The text of each source file."""
    found = {path: path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    assert len(found) > 50, "the sources are not where they were"
    return found


MOST_LINES = 350
MOST_FUNCTION_LINES = 50
MOST_IN_REAL_TIME = 40

LATER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
DATABASE = re.compile("sqlite|apsw", re.IGNORECASE)
VAGUE = re.compile(r"(Manager|Helper|Handler|Processor|Util|Utils|Impl)$")
UNEXPLAINED = re.compile(r"(type|pyright): ignore|noqa(:\s*[A-Z0-9, ]+)?\s*$")
"""A check that is switched off: for types never, for style only with a reason behind it."""

PUBLIC = [
    "Agent",
    "Assembler",
    "AsyncAgent",
    "AsyncConversation",
    "AsyncRun",
    "Budget",
    "BudgetEvent",
    "BudgetRules",
    "BudgetWish",
    "BuiltRequest",
    "CacheRules",
    "CacheStats",
    "CallApproved",
    "CallDenied",
    "CallProposed",
    "CallSuspended",
    "Change",
    "ClewError",
    "Compacted",
    "Conversation",
    "Denied",
    "Ended",
    "Estimate",
    "Facts",
    "Formatted",
    "FromAgent",
    "Later",
    "LimitReached",
    "Limits",
    "Message",
    "Options",
    "Origin",
    "OutputRejected",
    "Projection",
    "Recording",
    "RegistryEntry",
    "RequestParts",
    "Result",
    "Run",
    "RunEnded",
    "Sealer",
    "Shelf",
    "StepFinished",
    "StepRetried",
    "StepStarted",
    "StreamAssembler",
    "StructureError",
    "Target",
    "TextDelta",
    "ThinkingDelta",
    "ThinkingParameters",
    "ThinkingRegistry",
    "ThinkingTokens",
    "Tool",
    "ToolCall",
    "ToolFailed",
    "ToolFinished",
    "ToolStarted",
    "TrailingThinking",
    "Translator",
    "Turn",
    "UiAsked",
    "Violation",
    "api_messages",
    "asking_for",
    "budget_for",
    "build_request",
    "cache_efficiency",
    "check",
    "context_management",
    "convert_reasoning_to_thinking",
    "document",
    "ensure_thinking_block_compliance",
    "ensure_tool_message_structure",
    "ensure_uuid_ids",
    "exact_block_key",
    "extract_thinking_blocks",
    "fast_hash",
    "filter_trailing_thinking",
    "format_messages",
    "format_response",
    "format_system",
    "formatted",
    "image",
    "is_budget_keyword",
    "is_thinking_block",
    "lacks_leading_thinking",
    "log_thinking_metrics",
    "mark_messages",
    "normalise_messages",
    "parse_budget_wish",
    "profile_for",
    "project",
    "recovered",
    "thinking_report",
    "thinking_tokens",
    "tool",
    "ui_asked",
    "ui_frames",
    "ui_headers",
    "ui_stream",
    "validate_tool_message_structure",
]
"""What `from clew import …` offers. A change here is a change of the product's surface."""


def offences(find: Callable[[str], Iterator[str]]) -> list[str]:
    """What the rule finds in each source file, with the file's name."""
    return [f"{path.relative_to(SOURCE)}: {offence}" for path, text in sources().items() for offence in find(text)]


def test_a_file_holds_one_concept_in_at_most_350_lines() -> None:
    assert offences(too_long) == []


def too_long(source: str) -> Iterator[str]:
    if (lines := source.count("\n")) > MOST_LINES:
        yield f"{lines} lines"


def test_a_function_has_at_most_50_lines() -> None:
    assert offences(long_functions) == []


def long_functions(source: str) -> Iterator[str]:
    for node in nodes(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            if lines > MOST_FUNCTION_LINES:
                yield f"{node.name} has {lines} lines"


def test_a_module_says_in_its_docstring_what_it_is_for() -> None:
    assert offences(undocumented) == []


def undocumented(source: str) -> Iterator[str]:
    if not ast.get_docstring(parsed(source)):
        yield "no docstring"


def test_a_package_speaks_of_what_is_in_it() -> None:
    """Its docstring is a map. What stands there in backticks, in small letters, is one of its modules, or a name in one."""
    assert [
        f"{path.parent.relative_to(SOURCE)}: {name}" for path in SOURCE.rglob("__init__.py") for name in not_there(path)
    ] == []


def not_there(init: Path) -> Iterator[str]:
    package, tree = init.parent, parsed(init.read_text())
    modules = {path.stem for path in package.iterdir()} | {f"{path.name}/" for path in package.iterdir()}
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    words = {word for path in package.rglob("*.py") if path != init for word in re.findall(r"\w+", path.read_text())}
    named = re.findall(r"`([a-z_]+/?)`", ast.get_docstring(tree) or "")
    yield from (name for name in named if name not in modules | own | words)


def test_only_the_store_knows_what_it_is_made_of() -> None:
    """No name and no string outside `store/` says which database it is. Docstrings may: they are for people."""
    assert [each for each in offences(databases_named) if not each.startswith("store/")] == []


def databases_named(source: str) -> Iterator[str]:
    if not DATABASE.search(source):
        return
    prose = {id(node.value) for node in nodes(source) if isinstance(node, ast.Expr)}
    for node in nodes(source):
        words = [getattr(node, field, None) for field in ("id", "attr", "name", "arg", "module")]
        if isinstance(node, ast.Constant) and id(node) not in prose:
            words.append(node.value)
        yield from (word for word in words if isinstance(word, str) and DATABASE.search(word))


def test_no_file_leaves_work_for_later() -> None:
    assert offences(lambda source: (match[0] for match in LATER.finditer(source))) == []


def test_no_class_has_a_name_that_says_nothing() -> None:
    assert offences(vague_classes) == []


def vague_classes(source: str) -> Iterator[str]:
    classes = [node.name for node in nodes(source) if isinstance(node, ast.ClassDef)]
    yield from filter(VAGUE.search, classes)


def test_a_check_is_switched_off_only_with_a_reason() -> None:
    assert offences(unexplained) == []


def unexplained(source: str) -> Iterator[str]:
    if not re.search("ignore|noqa", source):  # most files, and to read their tokens takes long
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and UNEXPLAINED.search(token.string):
            yield f"{token.start[0]}: {token.string}"


def test_what_is_imported_is_declared_and_what_is_declared_is_imported() -> None:
    """But for pytest: anyone who uses the plugin has it."""
    project = tomllib.loads((SOURCE.parent.parent / "pyproject.toml").read_text())["project"]
    rows = [*project["dependencies"], *(row for extra in project["optional-dependencies"].values() for row in extra)]
    declared = {re.split(r"[^\w.-]", row)[0] for row in rows}
    packages = packages_distributions()
    assert {packages[name][0].lower().replace("_", "-") for name in foreign_modules()} - {"pytest"} == declared


def foreign_modules() -> set[str]:
    everything = [node for source in sources().values() for node in nodes(source)]
    plain = {name.name for node in everything if isinstance(node, ast.Import) for name in node.names}
    modules = plain | {str(node.module) for node in everything if isinstance(node, ast.ImportFrom)}
    return {module.partition(".")[0] for module in modules} - sys.stdlib_module_names - {"clew"}


def test_at_most_forty_tests_wait_for_real_time() -> None:
    """Each names itself: a mark on a whole module would let in more."""
    texts = [path.read_text() for path in Path(__file__).parent.rglob("test_*.py")]
    marked = sum(len(re.findall(r"^ *@pytest\.mark\.real_time$", text, re.MULTILINE)) for text in texts)
    everywhere = sum(text.count("mark." + "real_time") for text in texts)
    assert 0 < marked == everywhere <= MOST_IN_REAL_TIME


def test_the_public_names_are_the_frozen_list() -> None:
    assert clew.__all__ == dir(clew) == PUBLIC
    assert [name for name in PUBLIC if not getattr(clew, name).__doc__] == []


def test_each_rule_finds_what_it_is_for() -> None:
    """The rules above pass on a clean tree whatever they look for, so they are shown a dirty one."""
    dirty = (
        "class RowManager:\n    pass  # noqa\n\n\ndef f():\n" + "    1\n" * 60 + "# TODO: x  # type: ignore\n" + "\n" * 300
    )
    found = [list(rule(dirty)) for rule in (too_long, long_functions, undocumented, vague_classes, unexplained)]
    assert found == [
        ["366 lines"],
        ["f has 61 lines"],
        ["no docstring"],
        ["RowManager"],
        ["2: # noqa", "66: # TODO: x  # type: ignore"],
    ]
    assert LATER.findall(dirty) == ["TODO"]


def test_a_public_class_name_exists_once() -> None:
    """Two classes of one name are told apart only by their imports."""
    places: dict[str, list[str]] = {}
    for path, text in sources().items():
        for node in parsed(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
