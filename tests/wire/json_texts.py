"""JSON texts in every spelling: white space, escapes, number forms and doubled keys at random.

A document is drawn as a tree, and then spelled at random. In the tree an object is `("object", [(key, value), …])`, so that a
key can be doubled; a list is an array, everything else a scalar.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(10**30, 10**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(["", '"', "\\", '\\"', "}", "]", ",", "{", "\u2028", "😀", '","a":1', "\x00\x1f"]),
)
KEYS = st.one_of(st.sampled_from(["a", "b", "c", "", "é", 'q"', "\\", "😀"]), st.text(max_size=3))


def trees(*, unique: bool = True) -> st.SearchStrategy[Any]:
    by_key: Any = (lambda pair: pair[0]) if unique else None

    def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        pairs = st.lists(st.tuples(KEYS, inner), max_size=4, unique_by=by_key)
        return st.one_of(st.lists(inner, max_size=4), pairs.map(lambda each: ("object", each)))

    return st.recursive(SCALARS, grown, max_leaves=12)


def objects(*, unique: bool = True) -> st.SearchStrategy[Any]:
    by_key: Any = (lambda pair: pair[0]) if unique else None
    pairs = st.lists(st.tuples(KEYS, trees(unique=unique)), max_size=5, unique_by=by_key)
    return pairs.map(lambda each: ("object", each))


def arrays() -> st.SearchStrategy[list[Any]]:
    return st.lists(trees(), max_size=6)


def plain(tree: Any) -> Any:
    """The Python value; of a doubled key the last counts."""
    if isinstance(tree, tuple):
        return {key: plain(value) for key, value in tree[1]}
    return [plain(each) for each in tree] if isinstance(tree, list) else tree


def spelled(tree: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> bytes:
    """One of the many texts of the tree."""
    return _spell(tree, draw(st.randoms(use_true_random=False))).encode()


def _spell(tree: Any, chance: Any) -> str:
    def space() -> str:
        return "".join(chance.choices(" \t\n\r", k=chance.choice([0, 0, 0, 1, 3])))

    if isinstance(tree, tuple):
        members = [f"{space()}{_string(k, chance)}{space()}:{space()}{_spell(v, chance)}{space()}" for k, v in tree[1]]
        return "{" + (",".join(members) or space()) + "}"
    if isinstance(tree, list):
        return "[" + (",".join(f"{space()}{_spell(each, chance)}{space()}" for each in tree) or space()) + "]"
    return _scalar(tree, chance)


def _scalar(value: Any, chance: Any) -> str:
    if isinstance(value, str):
        return _string(value, chance)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def _string(value: str, chance: Any) -> str:
    return '"' + "".join(_character(each, chance) for each in value) + '"'


def _character(character: str, chance: Any) -> str:
    if character in '"\\' and chance.random() < 0.5:
        return "\\" + character
    if character in '"\\' or ord(character) < 0x20 or chance.random() < 0.1:
        units = character.encode("utf-16-be")
        return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
    return character
