"""No requirement without a test, and no test for something that nobody asked for.

`known` reads every id from where it is defined: requirements, faults and answers from requirements.toml beside this file,
rules and stances from the tables of facts. `problems` compares them with the marks that the tests carry, in both directions.
`public_problems` asks for more: that users can see it. Each requirement has a test that goes through one of their surfaces, or
a decision says why it is refused.
"""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import has_nothing
from tests.surfaces import hidden_names

ROOT = Path(__file__).parent.parent
FACTS = ROOT / "src/clew/model/facts"
BOOKS = {
    "chat": ROOT / "src/clew/simulator/openai_chat/judge/rules.toml",
    "responses": ROOT / "src/clew/simulator/openai_responses/judge/rules.toml",
}

ANY = ("proves", "accepts", "refuses")
ACCEPTED = ("accepts", "proves")

Marks = Mapping[str, Mapping[str, list[str]]]


class Known(NamedTuple):
    """An id. Each entry of `needs` is a choice of marks, one of which must be there; a `deferred` id may have none.
    `refused` is the decision that says why the way of the document is not taken, and what users get instead."""

    needs: tuple[tuple[str, ...], ...] = ()
    deferred: str = ""
    refused: str = ""


def known() -> dict[str, Known]:
    listed = _toml(ROOT / "tests/requirements.toml")
    ids = {f"req:{name}": _listed(entry, ANY) for name, entry in listed["req"].items()}
    ids |= {f"rule:{name}": _listed(entry, ACCEPTED) for name, entry in listed["rule"].items()}
    ids |= {f"fault:{name}": _listed(entry, ANY) for name, entry in listed["fault"].items()}
    ids |= {f"case:{name}": _listed(entry, ANY) for name, entry in listed["case"].items()}
    ids |= {f"conflict:{name}": Known((ANY,)) for name in _toml(FACTS / "stances.toml")}
    ids |= {f"rule:{row['id']}": _rule(row) for row in _toml(FACTS / "rules.toml")["rule"]}
    for dialect, book in BOOKS.items():
        ids |= {f"rule:{dialect}.{name}": _vendor_rule(name, row) for name, row in _toml(book)[dialect].items()}
    return ids


def _vendor_rule(name: str, row: dict) -> Known:
    """As `_rule`. What happens to a request on demand is no rule about it."""
    return Known() if name.startswith("status-") else _rule({"grade": "B", **row})


def _toml(path: Path) -> dict:
    return tomllib.loads(path.read_text())


def _listed(entry: str | dict[str, str], marks: tuple[str, ...]) -> Known:
    if isinstance(entry, str) or "deferred" not in entry or "now" in entry:
        return Known((marks,), refused="" if isinstance(entry, str) else entry.get("refused", ""))
    return Known(deferred=entry["deferred"])


def _rule(row: dict) -> Known:
    """Grades A to C in force need both sides; what is inferred, or not in force, may be shown and need not be."""
    sure = row["grade"] in "ABC" and row.get("enforced", True)
    return Known((("accepts",), ("refuses",)) if sure else ())


def problems(ids: Mapping[str, Known], marks: Marks) -> list[str]:
    return [*_unknown(ids, marks), *_missing(ids, marks), *_stale(ids, marks)]


def _unknown(ids: Mapping[str, Known], marks: Marks) -> Iterable[str]:
    for name in sorted(set(marks) - set(ids)):
        tests = sorted(test for each in marks[name].values() for test in each)
        yield f"{name}: named by {tests[0]}, but there is no such id"


def _missing(ids: Mapping[str, Known], marks: Marks) -> Iterable[str]:
    for name, entry in ids.items():
        for choice in entry.needs:
            if not any(mark in marks.get(name, {}) for mark in choice):
                yield f"{name}: no test has the mark {' or '.join(choice)}"


def _stale(ids: Mapping[str, Known], marks: Marks) -> Iterable[str]:
    for name, entry in ids.items():
        if entry.deferred and name in marks:
            yield f"{name}: deferred to {entry.deferred!r}, but a test names it; say what is proved `now`"


def public_problems(ids: Mapping[str, Known], marks: Marks) -> list[str]:
    """What is wrong with the requirements that users must be able to see."""
    through = {test for tests in marks.get("public", {}).values() for test in tests}
    return [problem for name in ids if name.startswith("req:") for problem in _unseen(name, ids[name], marks, through)]


def _unseen(name: str, entry: Known, marks: Marks, through: set[str]) -> Iterable[str]:
    seen = not through.isdisjoint(marks.get(name, {}).get("proves", []))
    if seen and entry.refused:
        yield f"{name}: refused by {entry.refused}, but a public test proves it"
    if entry.refused and not (ROOT / entry.refused).is_file():
        yield f"{name}: there is no {entry.refused}"
    if not seen and not entry.refused:
        yield f"{name}: no test has both marks proves and public, and no decision refuses it"


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Marks:
    """What `tests.collecting` finds in the whole suite, in a process of its own."""
    out = tmp_path_factory.mktemp("manifest") / "marks.json"
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-qq",
        "-p",
        "tests.collecting",
        "-p",
        "no:cacheprovider",
        "tests",
    ]
    ran = subprocess.run(command, cwd=ROOT, env=env | {"CLEW_MARKS": str(out)}, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
    return json.loads(out.read_text())


@pytest.mark.slow
def test_every_id_is_proved_and_every_mark_is_an_id(collected: Marks) -> None:
    found = problems(known(), {name: tests for name, tests in collected.items() if name not in ("slow", "public")})
    assert not found, f"{len(found)} problems:\n" + "\n".join(found)


@pytest.mark.slow
def test_every_requirement_can_be_seen_by_users_or_is_refused_by_a_decision(collected: Marks) -> None:
    found = public_problems(known(), collected)
    assert not found, f"{len(found)} problems:\n" + "\n".join(found)


@pytest.mark.slow
def test_what_says_that_it_uses_the_library_alone_uses_no_other_name(collected: Marks) -> None:
    public = collected["public"]
    elsewhere = {test for surface, tests in public.items() if surface != "library" for test in tests}
    tests = {test.partition("[")[0] for test in public["library"] if test not in elsewhere}
    wrong = {test: hidden for test in sorted(tests) if (hidden := _hidden(test))}
    assert wrong == {}


def _hidden(test: str) -> list[str]:
    file, _, name = test.partition("::")
    return hidden_names(ROOT / file, name)


@pytest.mark.slow
def test_no_file_is_left_out_that_has_tests_for_a_run(collected: Marks) -> None:
    """Every test is either slow or not, and the run that is for it reads its file."""
    files = {kind: {test.partition("::")[0] for test in collected["slow"][kind]} for kind in ("slow", "fast")}
    texts = {file: (ROOT / file).read_text() for file in files["slow"] | files["fast"]}
    assert [file for file in sorted(files["slow"]) if has_nothing(texts[file], "slow")] == []
    assert [file for file in sorted(files["fast"]) if has_nothing(texts[file], "not slow")] == []


def test_every_listed_id_says_what_it_means_and_which_part_it_belongs_to() -> None:
    listed = _toml(ROOT / "tests/requirements.toml")
    parts = listed.pop("parts")
    entries = [(f"{space}:{name}", entry) for space, table in listed.items() for name, entry in table.items()]
    wrong = [
        name
        for name, entry in entries
        if isinstance(entry, dict)
        and not (set(entry) <= {"is", "deferred", "now", "refused"} and entry.get("deferred", "core") in parts)
    ]
    sentences = [entry if isinstance(entry, str) else entry["is"] for _, entry in entries]
    assert wrong == []
    assert [each for each in sentences if not each.endswith(".")] == []


def test_the_lists_have_no_gap() -> None:
    """S0-1 … S0-52, S1 to S4 likewise, C1 … C35; cases 1 … 131, 161 … 163; R1 … R85 with rows or as listed entries; C-1 … C-17."""
    ids = known()
    for letter, last in {"S0-": 52, "S1-": 53, "S2-": 42, "S3-": 43, "S4-": 33, "C": 35}.items():
        assert {f"req:{letter}{n}" for n in range(1, last + 1)} <= set(ids)
    cases = {f"case:{n}" for n in [*range(1, 132), "57b", "65b", "65c", "67r", 161, 162, 163]}
    assert cases == {name for name in ids if name.startswith("case:")}
    numbers = {name.removeprefix("rule:R").partition(".")[0] for name in ids if name.startswith("rule:R")}
    assert numbers == {str(n) for n in range(1, 86)}
    assert [name for name in ids if name.startswith("conflict:")] == [f"conflict:C-{n}" for n in range(1, 18)]


SURVIVED = {"U": range(1, 20), "C": range(1, 11), "P": range(1, 8), "S": range(1, 5), "X": (1, 2, 3, 4, 8, 12)}
"""What the gateway must survive, by letter and number."""


def test_no_fault_that_the_gateway_must_survive_is_put_off() -> None:
    """Each needs a test now; the rest of the catalogue may wait for its part."""
    ids = known()
    faults = [f"fault:{letter}{number}" for letter, numbers in SURVIVED.items() for number in numbers]
    assert [name for name in faults if not ids[name].needs] == []


IDS = {
    "req:A": Known((ANY,)),
    "rule:B": Known((("accepts",), ("refuses",))),
    "rule:C": Known(),
    "req:D": Known(deferred="ui"),
}
WHOLE = {"req:A": {"proves": ["t1"]}, "rule:B": {"accepts": ["t2"], "refuses": ["t3"]}}


def test_a_suite_that_proves_each_id_has_no_problem() -> None:
    assert problems(IDS, WHOLE) == []
    assert problems(IDS, WHOLE | {"rule:C": {"refuses": ["t4"]}}) == []


@pytest.mark.parametrize(
    ("marks", "problem"),
    [
        ({"rule:B": WHOLE["rule:B"]}, "req:A: no test has the mark proves or accepts or refuses"),
        (WHOLE | {"rule:B": {"accepts": ["t2"]}}, "rule:B: no test has the mark refuses"),
        (WHOLE | {"rule:B": {"refuses": ["t2"]}}, "rule:B: no test has the mark accepts"),
        (WHOLE | {"req:X": {"proves": ["t5"]}}, "req:X: named by t5, but there is no such id"),
        (
            WHOLE | {"req:D": {"proves": ["t6"]}},
            "req:D: deferred to 'ui', but a test names it; say what is proved `now`",
        ),
    ],
)
def test_a_gap_in_either_direction_is_named(marks: Marks, problem: str) -> None:
    assert problems(IDS, marks) == [problem]


SEEN = {"req:A": {"proves": ["t1"]}, "public": {"cli": ["t1"]}}
DECISION = "docs/decisions/2026-11-16-tie-every-requirement-to-a-test.md"


@pytest.mark.parametrize(
    ("entry", "marks", "problems"),
    [
        (Known((ANY,)), SEEN, []),
        (Known((ANY,), refused=DECISION), {"req:A": {"proves": ["t1"]}}, []),
        (
            Known((ANY,)),
            {"req:A": {"proves": ["t1"]}, "public": {"cli": ["t2"]}},
            ["req:A: no test has both marks proves and public, and no decision refuses it"],
        ),
        (Known((ANY,), refused=DECISION), SEEN, [f"req:A: refused by {DECISION}, but a public test proves it"]),
        (Known((ANY,), refused="docs/decisions/none.md"), {}, ["req:A: there is no docs/decisions/none.md"]),
    ],
)
def test_a_requirement_that_users_cannot_see_is_named(entry: Known, marks: Marks, problems: list[str]) -> None:
    assert public_problems({"req:A": entry, "rule:B": Known()}, marks) == problems
