"""Whether a test that says `public("library")` uses only what the library offers, read from its source.

`hidden_names` follows a test through its own file: the names that it uses, the functions, fixtures and values of the file behind
them, and so on. It does not follow into other files: what the helpers of `tests` use is not read.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import clew

OFFERED_MODULES = ("clew.errors", "clew.testing")
"""What docs/reference/python.md names beside `clew` itself."""


def hidden_names(path: Path, test: str) -> list[str]:
    """The names of clew's inside that `test` (`name`, or `Class::name`) of the file at `path` uses, as `module.name`."""
    hidden, definitions, tests = _read(path)
    used: set[str] = set()
    read: set[str] = set()
    to_read: list[ast.AST] = [tests[test]]
    nested: set[str] = set()
    while to_read:
        node = to_read.pop()
        names, fixtures = _names_in(node)
        used |= names
        nested |= {module for _, module in _imports(node)}
        new = ((names | fixtures) & definitions.keys()) - read
        read |= new
        to_read += [definitions[name] for name in new]
    return sorted({hidden[name] for name in used if name in hidden} | nested)


@cache
def _read(path: Path) -> tuple[dict[str, str], dict[str, ast.AST], dict[str, ast.AST]]:
    """Of one file: what its head imports from inside clew, what it defines, and its tests by name."""
    tree = ast.parse(path.read_text())
    definitions: dict[str, ast.AST] = {}
    tests: dict[str, ast.AST] = {}
    for node in tree.body:
        definitions |= dict.fromkeys(_defined_by(node), node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            tests[node.name] = node
        if isinstance(node, ast.ClassDef):
            tests |= {f"{node.name}::{each.name}": each for each in node.body if isinstance(each, ast.FunctionDef)}
    head = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return dict(each for node in head for each in _imports(node)), definitions, tests


def _defined_by(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            pass


def _names_in(node: ast.AST) -> tuple[set[str], set[str]]:
    """The names of the file that it uses, and its parameters: a fixture is asked for by its name. A name that it gives to a
    value of its own is not the file's."""
    walked = list(ast.walk(node))
    parameters = {each.arg for each in walked if isinstance(each, ast.arg)}
    names = [each for each in walked if isinstance(each, ast.Name)]
    own = {each.id for each in names if not isinstance(each.ctx, ast.Load)}
    return {each.id for each in names} - own - parameters, parameters


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Each name that is imported below `node` from inside clew, and what it is there."""
    for each in ast.walk(node):
        if isinstance(each, ast.ImportFrom) and each.module is not None and not _is_offered(each.module):
            yield from ((alias.asname or alias.name, f"{each.module}.{alias.name}") for alias in each.names)
        if isinstance(each, ast.ImportFrom) and each.module == "clew":
            yield from ((a.asname or a.name, f"clew.{a.name}") for a in each.names if a.name not in clew.__all__)
        if isinstance(each, ast.Import):
            yield from ((a.asname or "clew", a.name) for a in each.names if a.name != "clew" and not _is_offered(a.name))


def _is_offered(module: str) -> bool:
    """Modules outside clew, and those that users have."""
    return not module.startswith("clew.") or module.startswith(OFFERED_MODULES)
