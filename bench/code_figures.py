"""Figures of the code: its size, its functions and names, and what one request passes through.

    python bench/code_figures.py [--source CHECKOUT] [--static] [--hops] [--once]

`CHECKOUT` is another checkout of clew to count, for example a worktree of an older commit. With `--static` nothing is run.
`--hops` names the functions that a reader of one request goes through, `--once` the private functions that are used once.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

sys.path.insert(0, str(Path(__file__).parent))

from hops import measured

ROOT = Path(__file__).parent.parent

SHARED = ("failures", "openai")
"""Folders beside the dialects' own, which several dialects use."""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file of the source."""

    path: Path
    lines: int
    tree: ast.Module

    @property
    def functions(self) -> list[Function]:
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]

    @property
    def public_classes(self) -> list[str]:
        """Those at the top of the file."""
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]

    @property
    def imported(self) -> set[str]:
        """The names of the modules that it imports."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
        return found


def modules_of(source: Path) -> list[Module]:
    texts = ((path, path.read_text("utf-8")) for path in sorted((source / "src/clew").rglob("*.py")))
    return [Module(path.relative_to(source / "src"), text.count("\n"), ast.parse(text)) for path, text in texts]


def length_of(function: Function) -> int:
    """The lines of a body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def private_functions(module: Module) -> list[Function]:
    return [function for function in module.functions if is_private(function.name)]


def used_once(module: Module) -> list[Function]:
    """Private functions and methods that their own file names exactly once."""
    uses = Counter(name_of(node) for node in ast.walk(module.tree))
    return [function for function in private_functions(module) if uses[function.name] == 1]


def called_once(module: Module) -> list[Function]:
    """Those of them whose one use is a call: the others are handed on as values, entries of tables or callbacks."""
    called = {name_of(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)}
    return [function for function in used_once(module) if function.name in called]


def name_of(node: ast.AST) -> str:
    """The name that an expression ends with."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def lines_about_once_used(module: Module) -> Iterator[str]:
    """Where each of them is, its lines, and the function that uses it with its own: together they may be one."""
    holders = {
        name_of(node): function
        for function in module.functions  # outer ones first, so the innermost counts
        for node in ast.walk(function)
        if node is not function
    }
    for function in used_once(module):
        holder = holders.get(function.name)
        user = f"{holder.name} ({length_of(holder)})" if holder else "the module"
        yield f"{module.path}:{function.lineno}  {function.name} ({length_of(function)}) in {user}"


def repeated_classes(modules: Sequence[Module]) -> dict[str, list[str]]:
    """Public class names that exist in several files, with the files."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for module in modules:
        for name in module.public_classes:
            places[name].append(str(module.path))
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def across_dialects(modules: Sequence[Module]) -> list[str]:
    """Imports of one dialect's folder from another's."""
    found: list[str] = []
    for module in modules:
        parts = module.path.parts
        if parts[:2] == ("clew", "dialects") and len(parts) > 3:
            own = f"clew.dialects.{parts[2]}"
            folders = {
                path.parts[2]
                for path in (each.path for each in modules)
                if path.parts[:2] == parts[:2] and len(path.parts) > 3 and path.parts[2] not in SHARED
            }
            others = {f"clew.dialects.{folder}" for folder in folders} - {own}
            found += [
                f"{module.path} -> {name}" for name in sorted(module.imported) if ".".join(name.split(".")[:3]) in others
            ]
    return found


def static_figures(source: Path) -> Iterator[str]:
    modules = modules_of(source)
    functions = [function for module in modules for function in module.functions]
    lengths = sorted(map(length_of, functions))
    private, once, called = (
        sum(len(of(module)) for module in modules) for of in (private_functions, used_once, called_once)
    )
    repeated, across = repeated_classes(modules), across_dialects(modules)
    yield f"files                                   {len(modules):,}"
    yield f"lines                                   {sum(module.lines for module in modules):,}"
    yield f"functions                               {len(functions):,}"
    yield (
        f"lines of a function, without docstring  median {statistics.median(lengths):g}, "
        f"p90 {lengths[int(len(lengths) * 0.9)]}, longest {lengths[-1]}"
    )
    yield f"private functions                       {private:,}, of them used exactly once {once:,}, by a call {called:,}"
    yield f"public class names that repeat          {len(repeated)}, for {sum(map(len, repeated.values()))} classes"
    yield from (f"    {name} x{len(places)}: {', '.join(places)}" for name, places in repeated.items())
    yield f"imports between dialect folders         {len(across)}"
    yield from (f"    {line}" for line in across)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=ROOT, help="another checkout to count")
    parser.add_argument("--static", action="store_true", help="run nothing")
    parser.add_argument("--hops", action="store_true", help="name the functions that a reader of one request goes through")
    parser.add_argument("--once", action="store_true", help="name the private functions that are used once, and where")
    given = parser.parse_args()
    for line in static_figures(given.source):
        print(line)
    if given.once:
        for module in modules_of(given.source):
            print(*lines_about_once_used(module), sep="\n", end="\n" if used_once(module) else "")
    if not given.static:
        print(measured(given.source, names_hops=given.hops))


if __name__ == "__main__":
    main()
