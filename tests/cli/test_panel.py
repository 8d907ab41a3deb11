"""The panel of `clew run`, without a terminal: what is typed, what the client wrote, what is drawn."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.cli.panel.modes import ScreenModes
from clew.cli.panel.typed import SwitchKey, TypedReader, first_key, switch_key
from clew.cli.panel.view import PanelBackend, PanelFacts, PanelSwitch, SwitchPanel

KEY = SwitchKey("]")
PRESSED = [b"\x1d", b"\x1b[93;5u", b"\x1b[93;5:1u", b"\x1b[93;69u", b"\x1b[93:125;5u", b"\x1b[27;5;93~"]
"""Ctrl-] as terminals send it: one byte, kitty's protocol (with the kind of event, with caps lock, with the shifted key), xterm's."""
TYPED = st.lists(
    st.sampled_from(
        [
            *PRESSED,
            b"a",
            b"\x1b",
            b"\x1b[A",
            b"\x1bOB",
            b"\x1b[200~",
            b"\x1b[201~",
            b"\x1b[<0;10;5M",
            b"\xc3\xa9",
            b"\r",
            b"]",
        ]
    ),
    max_size=12,
).map(b"".join)


def pieces(data: bytes, sizes: list[int]) -> list[bytes]:
    ends = [0, *accumulate(sizes)]
    return [data[a:b] for a, b in pairwise(ends)] + [data[ends[-1] :]]


def read(*data: bytes) -> list[tuple[bytes, bool]]:
    reader = TypedReader(KEY)
    tokens = [(token.data, token.is_switch_key) for piece in data for token in reader.feed(piece)]
    return [*tokens, (reader.flush(), False)]


@pytest.mark.parametrize("pressed", PRESSED)
def test_the_key_is_known_however_the_terminal_sends_it(pressed: bytes) -> None:
    assert (pressed, True) in read(b"a" + pressed + b"b")


@pytest.mark.parametrize("other", [b"]", b"\x1b[93u", b"\x1b[93;6u", b"\x1b[94;5u", b"\x1b[27;6;93~", b"\x1b]", b"\x1c"])
def test_other_keys_are_not_it(other: bytes) -> None:
    assert not any(is_key for _, is_key in read(other))


def test_a_key_that_is_let_go_is_the_key_and_no_press() -> None:
    [token] = TypedReader(KEY).feed(b"\x1b[93;5:3u")
    assert token.is_switch_key and token.is_release


def test_what_is_pasted_is_no_key() -> None:
    assert not any(is_key for _, is_key in read(b"\x1b[200~a\x1db\x1b[201~"))
    assert read(b"\x1b[200~a\x1d\x1b[20", b"1~\x1d")[-2:] == [(b"\x1d", True), (b"", False)]


@given(TYPED, st.lists(st.integers(1, 6), max_size=8))
def test_every_byte_is_passed_on_in_its_order_at_any_cut(data: bytes, sizes: list[int]) -> None:
    assert b"".join(token for token, _ in read(*pieces(data, sizes))) == data


def test_a_single_escape_does_not_wait() -> None:
    reader = TypedReader(KEY)
    assert [token.data for token in reader.feed(b"\x1b")] == [b"\x1b"]
    assert list(reader.feed(b"\x1b[")) == [] and reader.held == b"\x1b["


@pytest.mark.parametrize(
    ("typed", "key", "rest"),
    [
        (b"\x1b[A", "up", b""),
        (b"\x1bOB", "down", b""),
        (b"\r", "enter", b""),
        (b"\x1b[27u", "escape", b""),
        (b"12", "1", b"2"),
        (b"\xc3\xa9\xff", "é", b"\xff"),
        (b"\x1b[<0;1;1M", "", b""),
        (b"\x1b[57441u", "\ue061", b""),
    ],
)
def test_the_panel_knows_its_keys_by_name(typed: bytes, key: str, rest: bytes) -> None:
    assert first_key(typed) == (key, rest)


def test_a_key_has_a_name_for_people_and_off_is_none() -> None:
    assert (KEY.shown, SwitchKey("g").shown, switch_key("ctrl-g"), switch_key("off")) == (
        "Ctrl-]",
        "Ctrl-G",
        SwitchKey("g"),
        None,
    )


# What the client writes.

WRITTEN = st.lists(
    st.sampled_from(
        [
            b"text",
            b"\x1b[?1049h",
            b"\x1b[?25;1049l",
            b"\x1b[31m",
            b"\x1b]0;title\x07",
            b"\x1b]8;;x\x1b\\",
            b"\x1b(B",
            b"\x1b7",
        ]
    ),
    max_size=12,
).map(b"".join)


@given(WRITTEN, st.lists(st.integers(1, 6), max_size=10))
def test_what_a_client_writes_goes_on_whole_and_never_ends_inside_a_sequence(data: bytes, sizes: list[int]) -> None:
    cut, whole = ScreenModes(), ScreenModes()
    assert b"".join(cut.feed(piece) for piece in pieces(data, sizes)) == whole.feed(data) == data
    assert (cut.on_second_screen, cut.shows_cursor) == (whole.on_second_screen, whole.shows_cursor)


def test_the_screen_and_the_cursor_are_followed() -> None:
    modes = ScreenModes()
    assert modes.feed(b"a\x1b[?104") == b"a"
    assert not modes.on_second_screen
    assert modes.feed(b"9h\x1b[?25l") == b"\x1b[?1049h\x1b[?25l"
    assert modes.on_second_screen and not modes.shows_cursor
    modes.feed(b"\x1b[?25;1049l\x1b[?25h")
    assert not modes.on_second_screen and modes.shows_cursor


def test_a_sequence_without_an_end_waits_until_the_client_is_over_or_it_is_too_long() -> None:
    modes = ScreenModes()
    assert (modes.feed(b"\x1b]0;half"), modes.flush(), modes.flush()) == (b"", b"\x1b]0;half", b"")
    long = b"\x1b]52;c;" + b"A" * 70_000
    assert modes.feed(long) == long


# What the panel shows.


def facts(**given: object) -> PanelFacts:
    backends = (
        PanelBackend(name="claude"),
        PanelBackend(name="glm", model="glm-5"),
        PanelBackend(name="x", disabled="x is disabled"),
    )
    return PanelFacts(**{"gateway": "run-1", "active": "claude", "backends": backends, **given})  # pyright: ignore[reportArgumentType]


def drawn(panel: SwitchPanel, width: int = 80, height: int = 24) -> list[str]:
    text = panel.draw(width, height).removeprefix("\x1b[H\x1b[2J")
    for style in ("\x1b[0m", "\x1b[1m", "\x1b[2m"):
        text = text.replace(style, "")
    return text.replace("\x1b[7m", "> ").split("\r\n")


def test_the_panel_shows_backends_switches_and_thinking() -> None:
    panel = SwitchPanel(
        facts(switches=(PanelSwitch(at=0.0, before="glm", after="claude"),), thinking="2 blocks kept"), "Ctrl-]"
    )
    assert drawn(panel)[:5] == [
        "clew · run-1",
        "",
        "> → 1  claude  model as asked  active",
        "  2  glm     glm-5",
        "  3  x       model as asked  x is disabled",
    ]
    assert any(line.endswith("glm → claude") for line in drawn(panel))
    assert drawn(panel)[-1] == "  2 blocks kept"


def test_before_anything_happened_the_panel_says_so() -> None:
    assert {"  None yet.", "  No request yet."} <= set(drawn(SwitchPanel(facts(), "Ctrl-]")))


def test_keys_move_choose_and_close() -> None:
    panel = SwitchPanel(facts(), "Ctrl-]")
    assert (panel.press("down"), panel.press("enter"), panel.press("1"), panel.press("9")) == (None, "glm", "claude", None)
    assert (panel.press("up"), panel.press("enter"), panel.message) == (None, None, "x is disabled")
    assert panel.is_open
    panel.press("escape")
    assert not panel.is_open


@pytest.mark.parametrize(("width", "height"), [(1, 1), (10, 3), (200, 60)])
def test_the_panel_fits_any_terminal(width: int, height: int) -> None:
    lines = drawn(SwitchPanel(facts(backends=(PanelBackend(name="n" * 300, model="\x1b[31m"),)), "Ctrl-]"), width, height)
    assert len(lines) <= height and all(len(line.removeprefix("> ")) <= width for line in lines)
    assert not any("\x1b" in line for line in lines)
