"""Now: what is active, the switches, what happens."""

import os
import re
import time

import pytest
from msgspec import structs

from clew.limits.limit import DAY, window_at
from clew.model.change import Change
from clew.model.turn import Charge, TokenUsage, Try
from clew.settings.processes import AppliedSettings, ProcessReport, RegisteredGateway, register, write_report
from clew.store.values import Health
from tests.admin.booth import Booth
from tests.store.turns import recorded, turn

pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror=alert(1)>"


def text(booth: Booth, path: str = "/") -> str:
    reply = booth.ask(path)
    assert reply.status == 200
    return reply.raw.decode()


def test_the_empty_page_teaches_how_to_connect(kept_booth: Booth) -> None:
    page = text(kept_booth)
    assert "Nothing yet. Connect a client:" in page and "clew run -- claude" in page
    assert '<div id="none">' in page


def test_the_switches_show_what_was_chosen_and_what_the_config_says(booth: Booth) -> None:
    for wish in ({"backend": "glm"}, {"backend": "glm", "family": "haiku"}):
        assert booth.ask("/api/use", method="POST", body=wish).status == 200
    page = text(booth)
    assert re.search(r'data-use="glm" [^>]*aria-pressed="true"', page)
    assert re.search(r'data-use="claude" [^>]*aria-pressed="false"', page)
    assert "chosen on this page, or with <code>clew use</code>" in page and "Use the settings again" in page
    haiku = page.partition('data-family="haiku"')[2].partition("</select>")[0]
    assert '<option value="glm" selected>' in haiku


@pytest.mark.parametrize(("backends", "does"), [(("claude",), "sends to claude"), ((), "answers 503")])
def test_a_process_that_sends_elsewhere_is_named(booth: Booth, backends: tuple[str, ...], does: str) -> None:
    """One that hangs, for example, or whose environment lacks the key of the backend that was chosen."""
    pid = os.getpid()
    register(booth.home, RegisteredGateway(pid=pid, url="http://127.0.0.1:9", name="gw"))
    applied = AppliedSettings(active="claude", backends=backends)
    write_report(booth.home, ProcessReport(gateway="gw", pid=pid, applied=applied))
    said = f"Not everything: gateway gw (pid {pid}) {does}."
    assert (said in text(booth)) == (not backends)
    assert booth.ask("/api/use", method="POST", body={"backend": "glm"}).status == 200
    for path in ("/", "/now/top"):
        assert said in text(booth, path)


def test_turns_that_are_on_this_machine_alone_are_told(booth: Booth, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "data-store" not in text(booth)
    assert booth.store is not None
    waiting = Health(state="degraded", why=f"db cannot be reached {HOSTILE}", local=1200)
    monkeypatch.setattr(booth.store, "health", lambda: waiting)
    for path in ("/", "/now/top"):
        said = text(booth, path).partition("data-store>")[2].partition("</p>")[0]
        assert said.startswith("Answers go on, but the store is degraded: db cannot be reached &lt;img")
        assert said.endswith("1,200 turns are on this machine alone, and sent to the database when it takes them.")
    metrics = booth.ask("/metrics").raw.decode()
    assert "clew_store_local_turns 1200.0" in metrics
    assert booth.ask("/api/status").json["store"]["local"] == 1200


def test_a_pinned_thread_is_named_with_what_unpins_it(booth: Booth) -> None:
    """However long ago it was used: it does not follow what everything goes to."""
    assert booth.store is not None
    for number in range(12):
        booth.store.record(
            structs.replace(turn(recorded(f"r{number}", thread=f"t{number}")), title=f"Talk {number}")
        ).result()
    assert "data-release" not in text(booth)
    booth.store.pin("local", "t0", "glm").result()
    for path in ("/", "/now/top"):
        page = text(booth, path)
        assert '<a href="/threads/t0">Talk 0</a> stays with <strong>glm</strong>' in page
        assert 'data-release="t0"' in page and "clew use --reset --thread t0" in page


def test_each_limit_says_how_much_is_left_and_when_its_window_ends(booth: Booth) -> None:
    for scope, amount in ((f"key:{HOSTILE}", "2requests/30d"), ("team:a", "3parallel"), ("principal:local", "5usd/30d")):
        assert booth.ask("/api/limits", method="PUT", body={"scope": scope, "amount": amount}).status == 200
    assert booth.store is not None
    used = Charge(f"key:{HOSTILE}", 30 * DAY, window_at(time.time(), 30 * DAY).start, 0, 0, 2)
    made = turn(recorded("r"))
    booth.store.record(structs.replace(made, charges=(used,))).result()
    for path in ("/", "/now/top"):
        rows = text(booth, path).partition('<table class="limits')[2].partition("</table>")[0].split("<tr>")[2:]
        assert "&lt;img" in rows[0] and "100%" in rows[0] and 'class="bad"' in rows[0] and ">in " in rows[0]
        assert "$5.00 per 30d" in rows[1] and 'data-label="left">$5.00' in rows[1]
        assert "3 parallel requests" in rows[2] and "each gateway counts for itself" in rows[2]


def test_the_gateways_that_follow_are_counted_and_named(booth: Booth) -> None:
    assert "this choice" not in text(booth)
    for name, active in (("one", "claude"), ("two", "glm")):
        register(booth.home, RegisteredGateway(pid=os.getpid(), url=f"http://127.0.0.1:9/{name}", name=name))
        applied = AppliedSettings(active=active, backends=(active,))
        write_report(booth.home, ProcessReport(gateway=name, pid=os.getpid(), applied=applied))
    page = text(booth)
    assert "1 of 2 gateways follows this choice" in page and "http://127.0.0.1:9/two" in page
    assert booth.ask("/api/use", method="POST", body={"backend": "glm"}).status == 200
    assert "1 of 2 gateways follows this choice" in text(booth, "/now/top")


def test_a_request_is_a_row_and_nothing_in_it_is_believed(booth: Booth) -> None:
    """X9: model ids, agents, reasons, titles."""
    made = turn(recorded("r"))
    hostile = structs.replace(
        made.exchange,
        asked_model=HOSTILE,
        model=HOSTILE,
        agent=f'"{HOSTILE}',
        changes=(Change("thinking", HOSTILE, "left out", HOSTILE),),
        stop_reason=HOSTILE,
    )
    assert booth.store is not None
    booth.store.record(structs.replace(made, exchange=hostile, title=HOSTILE)).result()
    for path in ("/", "/now/rows", "/now/top"):
        page = text(booth, path)
        assert "<img src=x" not in page, path
    assert text(booth, "/now/rows").count("&lt;img src=x onerror=alert(1)&gt;") >= 4
    assert '<div id="none" hidden>' in text(booth)


def test_of_an_answer_that_was_cut_the_tokens_out_are_the_estimate(booth: Booth) -> None:
    """The prompt was counted before it began; and what is said of a backend is not said twice."""
    assert booth.store is not None
    usage = TokenUsage(input=9, output=3, estimated=True)
    tries = (Try(backend="claude", status=401, why="refused (401)"),)
    booth.store.record(turn(recorded("r", whole=False), outcome="cut", usage=usage, tries=tries)).result()
    rows = text(booth, "/now/rows")
    assert '<td class="number" data-label="in">9</td>' in rows
    assert '<td class="number" data-label="out">≈3</td>' in rows
    assert text(booth, "/now/top").count("refused (401)") == 1


def test_without_a_store_the_page_says_so(tmp_path) -> None:
    with Booth(tmp_path / "h", store=False) as booth:
        assert "Nothing is kept" in text(booth)
