"""What a model is told of a tool, from docstrings of every custom."""

import pytest

from clew.chat.agent.schema import ParsedDocstring, parse_docstring

GOOGLE = """Tells the weather.

    For places on land, and
    for the next days.

    Args:
        city (str): Where: a name
            in English.
        days: How many.

            Ten at most.

    Returns:
        Words.

    Raises:
        KeyError: if there is none.
    """
NUMPY = """Tells the weather.

    For places on land, and
    for the next days.

    Parameters
    ----------
    city : str
        Where: a name
        in English.
    days : int, optional
        How many.

        Ten at most.

    Returns
    -------
    str
    """
SPHINX = """Tells the weather.

    For places on land, and
    for the next days.

    :param str city: Where: a name
        in English.
    :param days: How many. Ten at most.
    :returns: words
    :raises KeyError: if there is none
    """
SUMMARY = "Tells the weather.\n\nFor places on land, and for the next days."


@pytest.mark.parametrize(
    ("docstring", "days"),
    [(GOOGLE, "How many.\n\nTen at most."), (NUMPY, "How many.\n\nTen at most."), (SPHINX, "How many. Ten at most.")],
    ids=["google", "numpy", "sphinx"],
)
def test_the_three_customs_say_the_same(docstring: str, days: str) -> None:
    assert parse_docstring(docstring) == ParsedDocstring(SUMMARY, {"city": "Where: a name in English.", "days": days})


@pytest.mark.parametrize(
    ("docstring", "doc"),
    [
        (None, ParsedDocstring()),
        ("", ParsedDocstring()),
        ("One line.", ParsedDocstring("One line.")),
        ("Note: this is\nno section.", ParsedDocstring("Note: this is no section.")),
        ("Reads.\n\nArgs:\n", ParsedDocstring("Reads.")),
        ("Args:\n    a: One.\n", ParsedDocstring("", {"a": "One."})),
        (
            "Takes all.\n\nArgs:\n    *args: Many.\n    **more: Named.\n",
            ParsedDocstring("Takes all.", {"args": "Many.", "more": "Named."}),
        ),
        (
            "Two at once.\n\nParameters\n----------\nx, y : int\n    Where.\n",
            ParsedDocstring("Two at once.", {"x": "Where.", "y": "Where."}),
        ),
        ("Says.\n\nExample:\n    city: no parameter\n", ParsedDocstring("Says.")),
    ],
    ids=["none", "empty", "line", "prose", "no entries", "no summary", "stars", "two names", "another section"],
)
def test_what_is_not_there_is_not_made_up(docstring: str | None, doc: ParsedDocstring) -> None:
    assert parse_docstring(docstring) == doc
