"""The bench's tables, plot and goals: what is measured first, what is divided by what, and where it is kept."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

GOALS = {
    "session": 5,
    "json-many": 10,
    "stream": 6,
    "translated": 8,
    "big": 6,
    "big-known": 2.5,
    "paced": 1.6,
    "translated-paced": 1.7,
}
GOALS_OFF = {"json-many": 4, "stream": 4, "translated": 7, "big-known": 2, "paced": 1.5}


def _figures(bench: dict[str, ModuleType]) -> Any:
    figures = bench["figures"]
    base = [10.0, 20.0, 10.0]
    case = figures.Row(
        "stream",
        "a <stream>",
        (figures.cost([30.0, 50.0, 40.0], base, 2), figures.cost(base, None), figures.cost([15.0, 30.0, 30.0], base, 2)),
    )
    extra = figures.Row(
        "at rest",
        "at rest",
        (figures.Cell("30 MB", 30, 80, " MB"), figures.Cell("9 MB", 9), figures.Cell("99 MB", 99, 80, " MB")),
    )
    return figures.Figures(("clew", "nginx", "clew, store off"), (case,), (extra,), "3 rounds.")


def test_each_round_is_divided_by_nginx_in_that_round_and_the_spread_is_told(bench: dict[str, ModuleType]) -> None:
    """The medians of clew and of nginx are 40 and 10, and yet it is three times as much."""
    assert bench["figures"].markdown(_figures(bench)).splitlines() == [
        "| CPU for one request | clew | goal | nginx | clew, store off | goal |",
        "| --- | --- | --- | --- | --- | --- |",
        "| a <stream> | 3.00× (2.50–4.00), 40 µs | ≤ 2×: missed | 10 µs | 1.50× (1.50–3.00), 30 µs | ≤ 2×: met |",
        "",
        "|  | clew | goal | nginx | clew, store off | goal |",
        "| --- | --- | --- | --- | --- | --- |",
        "| at rest | 30 MB | ≤ 80 MB: met | 9 MB | 99 MB | ≤ 80 MB: missed |",
        "",
        "3 rounds.",
    ]


def test_without_nginx_there_are_no_ratios_and_no_verdicts(bench: dict[str, ModuleType]) -> None:
    gateway = bench["gateway"]
    there = SimpleNamespace(targets=[SimpleNamespace(name="clew"), SimpleNamespace(name="clew, store off")])
    case = next(case for case in bench["cases"].CASES if case.key == "stream")

    row = gateway.case_row(there, case, {"clew": [25.0], "clew, store off": []}.__getitem__)
    assert [(cell.text, cell.verdict) for cell in row.cells] == [("25 µs", ""), ("", "")]


def test_the_plot_has_a_bar_for_each_ratio(bench: dict[str, ModuleType]) -> None:
    drawn = bench["plot"].drawn(_figures(bench))

    texts = [element.text for element in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["clew", "clew, store off", "1×", "2×", "a <stream>", "3.0", "1.5"]


def test_the_goals_are_those_of_default_settings_and_of_a_store_that_is_off(bench: dict[str, ModuleType]) -> None:
    cases = [bench["cases"].SESSION, *bench["cases"].CASES]

    assert {case.key: case.goal for case in cases if case.goal} == GOALS
    assert {case.key: case.goal_off for case in cases if case.goal_off} == GOALS_OFF


def test_the_first_column_is_clew_with_backends_and_nothing_else_in_its_config(
    bench: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the last is clew with its store off, which is all that its file says more."""
    monkeypatch.setattr(bench["gateway"], "Bench", _StandIn)
    monkeypatch.setattr(bench["gateway"], "_nginx", lambda: Path("/usr/sbin/nginx"))
    given = bench["gateway"].gateways(tmp_path, [])

    first, last = given.targets[0], given.targets[-1]
    configs = [tomllib.loads((target.folder / "clew.toml").read_text()) for target in (first, last)]
    assert [target.name for target in given.targets] == ["clew", "nginx", "clew, store off"]
    assert set(configs[0]) == {"backends"}
    assert configs[1] == {**configs[0], "store": {"url": "off"}}


class _StandIn:
    """As a bench, without anything that is compiled."""

    def __init__(self, folder: Path, nginx: Path | None) -> None:
        self.nginx = nginx
        self.backend = import_module("backend").Backend(1, 2)
        self.targets: list[Any] = []


def test_a_session_is_the_first_row(bench: dict[str, ModuleType]) -> None:
    sessions = bench["sessions"].Sessions.__new__(bench["sessions"].Sessions)
    sessions._turns = {"clew": [[4.0] * 39 + [8.0]], "nginx": [[1.0] * 40], "clew, store off": [[2.0] * 40]}
    names = [SimpleNamespace(name=name) for name in sessions._turns]

    whole, growth = bench["gateway"].session_rows(SimpleNamespace(targets=names), sessions)
    assert [cell.text for cell in whole.cells] == ["4.10× (4.10–4.10), 164 µs", "40 µs", "2.00× (2.00–2.00), 80 µs"]
    assert whole.cells[0].verdict == "≤ 5×: met"
    assert [cell.text for cell in growth.cells] == ["2.00×", "1.00×", "1.00×"]
    assert [cell.verdict for cell in growth.cells] == ["≤ 1.3×: missed", "", "≤ 1.3×: met"]


def test_two_commits_are_divided_round_by_round(bench: dict[str, ModuleType]) -> None:
    """One commit twice shows the spread of noise."""
    compare, targets = bench["compare"], [SimpleNamespace(name=name) for name in ("A", "B", "nginx")]
    spent = {"A": [10.0, 40.0, 20.0], "B": [11.0, 38.0, 20.0], "nginx": [5.0, 10.0, 5.0]}

    row = compare.row(SimpleNamespace(targets=targets), bench["cases"].SESSION, [("A", "B")], spent.__getitem__)
    assert [cell.text for cell in row.cells] == [
        "4.00× (2.00–4.00), 20 µs",
        "3.80× (2.20–4.00), 20 µs",
        "1.00× (0.95–1.10)",
        "5 µs",
    ]


def test_both_commits_run_as_they_come_and_on_request_with_their_stores_off(
    bench: dict[str, ModuleType], tmp_path: Path
) -> None:
    given = _StandIn(tmp_path, None)
    pairs = bench["compare"].targets(given, tmp_path, {"A": tmp_path / "a", "B": tmp_path / "b"}, off=True)

    configs = {target.name: tomllib.loads((target.folder / "clew.toml").read_text()) for target in given.targets}
    assert pairs == [("A", "B"), ("A, store off", "B, store off")]
    assert {name: config.get("store") for name, config in configs.items()} == {
        "A": None,
        "B": None,
        "A, store off": {"url": "off"},
        "B, store off": {"url": "off"},
    }
    sources = [target.env["PYTHONPATH"] for target in given.targets]
    assert sources == [str(tmp_path / side / "src") for side in ("a", "b", "a", "b")]


def test_tables_are_kept_between_their_marks(bench: dict[str, ModuleType], tmp_path: Path) -> None:
    figures, page = bench["figures"], tmp_path / "page.md"
    begin = figures.BEGIN.format("x.py --keep")
    page.write_text(f"before\n{begin}\nold\n\n{figures.END}after\n")

    figures.keep("| new |\n", "x.py --keep", page)
    assert page.read_text() == f"before\n{begin}\n| new |\n\n{figures.END}after\n"


def test_the_pages_have_a_place_for_all_that_is_kept(bench: dict[str, ModuleType]) -> None:
    figures, compare = bench["figures"], bench["compare"]
    kept = ["gateway.py --keep", "peers.py --keep", compare.TWICE, compare.TWO]

    page, readme = figures.PAGE.read_text(), bench["readme"].README.read_text()
    assert [script for script in kept if page.count(figures.BEGIN.format(script)) != 1] == []
    assert readme.count(figures.BEGIN.format("gateway.py --keep")) == 1
    assert page.count(figures.END) == len(kept)


def test_the_readme_quotes_default_settings_first(bench: dict[str, ModuleType]) -> None:
    figures, readme = bench["figures"], bench["readme"]
    ratio, delay = figures.Cell("15.63× (15.00–16.00), 9 µs", 15.63, 5, "×"), figures.Cell("0.58 ms", 0.58, 1, " ms")
    off = figures.Cell("3.14× (3.00–3.20), 2 µs", 3.14, 4, "×")
    cases = tuple(figures.Row(key, f"the {key}", (ratio, figures.Cell("1 µs"), off)) for key in readme.ROWS[:-1])
    extra = figures.Row(readme.ROWS[-1], "first content", (delay, figures.Cell(), delay))

    told = readme.quoted(figures.Figures(("clew", "nginx", "clew, store off"), cases, (extra,), "5 rounds.")).splitlines()
    assert told[0] == "| CPU in times of nginx's | default settings | store off |"
    assert told[2] == "| the session | 15.6× | 3.1× |"
    assert told[-3:] == ["| first content | 0.58 ms | 0.58 ms |", "", "5 rounds."]


def test_a_run_on_a_busy_machine_says_that_it_is_a_trial(bench: dict[str, ModuleType]) -> None:
    quiet, busy = (bench["gateway"].remark(5, share) for share in (0.02, 0.3))

    assert quiet.startswith("5 rounds; others used 2% of the ")
    assert "busy" not in quiet
    assert "**The machine was busy: this is a trial, and no figure of it can be relied on.**" in busy
