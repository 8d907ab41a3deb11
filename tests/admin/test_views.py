"""What the routes show, and what they change."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from msgspec import structs

from clew.errors import StoreError
from clew.model.change import Change
from clew.model.turn import Bodies, Exchange, TurnRecord
from clew.settings.processes import RegisteredGateway, register
from clew.store.values import Health
from tests.admin.booth import Booth
from tests.build import GLM
from tests.store.turns import NOON, conversation, recorded, turn
from tests.waiting import until

pytestmark = pytest.mark.slow

ONE_THING = "name a backend or `reset`, and at most one of thread, gateway, family, agents"


def record(booth: Booth, *turns: TurnRecord) -> None:
    assert booth.store is not None
    for each in turns:
        booth.store.record(each).result()


def test_the_config_that_is_checked_is_this_gateways_own(booth: Booth, tmp_path: Path) -> None:
    """`--config` may have named a file to which nothing else leads."""
    file = tmp_path / "mine.toml"
    file.write_text("nonsense = 1\n")
    booth.current.loaded = structs.replace(booth.current.loaded, file=file)
    found = {check["name"]: check for check in booth.ask("/api/doctor").json["checks"]}
    assert found["config"]["findings"][0]["says"].startswith(f"{file}:1: nonsense: there is no such key")


def test_the_status_says_what_is_active_and_what_there_is(booth: Booth) -> None:
    """Design §6: /api/status."""
    answer = recorded("r")
    record(booth, turn(answer))
    register(booth.home, RegisteredGateway(pid=1, url="http://127.0.0.1:2539", name="one"))
    told = booth.ask("/api/status").json
    assert {name: told[name] for name in ("active", "active_from", "failover", "rules", "policy", "settings_problem")} == {
        "active": "claude",
        "active_from": "the settings",
        "failover": [],
        "rules": [],
        "policy": "origin",
        "settings_problem": "",
    }
    assert [(row["name"], row["realm"], row["auth"], row["keys"], row["active"]) for row in told["backends"]] == [
        ("claude", "anthropic", "passthrough", 0, True),
        ("glm", "glm", "key", 1, False),
    ]
    assert told["store"]["state"] == "ok"
    assert {name: told["thinking"][name] for name in ("total", "confirmed", "current_session")} == {
        "total": 1,
        "confirmed": 0,
        "current_session": 1,
    }
    assert [gateway["name"] for gateway in told["gateways"]] == ["one"]


def test_the_status_of_a_gateway_whose_database_is_away_says_so(booth: Booth, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on, and so does its status: with how many turns wait on this machine."""
    monkeypatch.setattr(booth.store, "gateways", Mock(side_effect=StoreError("the database cannot be reached")))
    monkeypatch.setattr(booth.store, "health", lambda: Health(state="degraded", local=3))
    status = booth.ask("/api/status")
    assert (status.status, status.json["thinking"], status.json["shared"]) == (200, None, [])
    assert (status.json["store"]["state"], status.json["store"]["local"]) == ("degraded", 3)


def test_a_switch_holds_at_once_and_is_kept_for_every_other_gateway(booth: Booth) -> None:
    """Design §6: `clew use`."""
    reply = booth.ask("/api/use", method="POST", body={"backend": "glm"})
    assert (reply.status, reply.json) == (
        200,
        {
            "backend": "glm",
            "thread": "",
            "gateway": "",
            "family": "",
            "agents": False,
            "followed": {"gateways": 0, "behind": []},
        },
    )
    assert booth.store is not None
    assert dict(booth.store.settings()) == {"active": "glm"}
    status = booth.ask("/api/status").json
    assert (status["active"], status["active_from"]) == ("glm", "clew use")
    booth.ask("/api/use", method="POST", body={"reset": True})
    assert (booth.ask("/api/status").json["active"], dict(booth.store.settings())) == ("claude", {})


def test_a_switch_for_one_gateway_is_kept_under_its_name(booth: Booth) -> None:
    booth.ask("/api/use", method="POST", body={"backend": "glm", "gateway": "other"})
    assert booth.store is not None
    assert (dict(booth.store.settings()), dict(booth.store.settings("other"))) == ({}, {"active": "glm"})
    assert booth.ask("/api/status").json["active"] == "claude"


def test_a_switch_for_a_part_is_a_rule_until_it_is_taken_back(booth: Booth) -> None:
    """A family of models, or all sub-agents."""
    for part, kept in (({"family": "haiku"}, "active.family.haiku"), ({"agents": True}, "active.agents")):
        booth.ask("/api/use", method="POST", body={"backend": "glm", **part})
        assert booth.store is not None
        assert dict(booth.store.settings()) == {kept: "glm"}
        status = booth.ask("/api/status").json
        assert (status["active"], [rule["backend"] for rule in status["chosen"]]) == ("claude", ["glm"])
        assert booth.ask("/api/use", method="POST", body={"reset": True, **part}).json["backend"] == ""
        assert (booth.ask("/api/status").json["chosen"], dict(booth.store.settings())) == ([], {})


def test_a_thread_is_pinned_and_let_go(booth: Booth) -> None:
    record(booth, turn(recorded("r")))
    assert booth.store is not None
    assert booth.ask("/api/use", method="POST", body={"backend": "glm", "thread": "t"}).status == 200
    assert booth.store.pin_of("local", "t") == "glm"
    booth.ask("/api/use", method="POST", body={"reset": True, "thread": "t"})
    assert booth.store.pin_of("local", "t") == ""


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        ({"backend": "gml"}, 404, "there are: claude, glm"),
        ({}, 400, ONE_THING),
        ({"backend": "glm", "reset": True}, 400, ONE_THING),
        ({"backend": "glm", "agents": True, "family": "opus"}, 400, ONE_THING),
        ({"backend": "glm", "family": "gpt"}, 404, "there are: opus, sonnet, haiku, fable, mythos"),
        ({"backend": "glm", "thread": "nothing"}, 404, "it may have been deleted"),
    ],
)
def test_a_switch_that_leads_nowhere_says_what_there_is(
    booth: Booth, body: dict[str, object], status: int, why: str
) -> None:
    """Errors say what, why, next."""
    reply = booth.ask("/api/use", method="POST", body=body)
    assert (reply.status, reply.why) == (status, why)


def test_exchanges_are_listed_newest_first_and_followed_oldest_first(booth: Booth) -> None:
    answers = conversation(3)
    record(booth, *(turn(answer, at=NOON + number) for number, answer in enumerate(answers)))

    def ids(query: str = "") -> list[str]:
        return [row["id"] for row in booth.ask(f"/api/exchanges{query}").json["exchanges"]]

    assert ids() == ["x-r2", "x-r1", "x-r0"]
    assert ids("?limit=1") == ["x-r2"]
    assert ids("?after=x-r0") == ["x-r1", "x-r2"]
    assert (ids("?thread=t"), ids("?thread=other"), ids("?principal=other")) == (["x-r2", "x-r1", "x-r0"], [], [])


def test_an_exchange_says_everything_that_happened_to_it(booth: Booth) -> None:
    answer = recorded("r")
    told = turn(answer, bodies=Bodies(asked=b'{"a":1}', sent=b'{"b":2}', answered=b"data: \xff"))
    record(booth, told)
    page = until(lambda: (page := booth.ask("/api/exchanges/x-r").json)["bodies"] and page)
    assert page["exchange"]["changes"] == [
        {"step": "thinking", "path": "messages.1.content.0", "what": "left out", "why": "made by glm"}
    ]
    assert page["bodies"] == {"asked": '{"a":1}', "sent": '{"b":2}', "answered": "data: �"}
    assert page["note"] == ""


def test_an_exchange_without_bodies_says_how_to_keep_them(booth: Booth) -> None:
    record(booth, turn(recorded("r")))
    page = booth.ask("/api/exchanges/x-r").json
    assert page["bodies"] is None
    assert page["note"].startswith("the bodies of this exchange are not kept; `[store] bodies")
    assert booth.ask("/api/exchanges/nothing").status == 404


def test_a_thread_is_shown_as_it_was_said(booth: Booth) -> None:
    """Law 1: the maker's own blocks, in their order."""
    first, second = conversation(2)
    record(booth, turn(first), turn(second, at=NOON + 1))
    assert [row["id"] for row in booth.ask("/api/threads").json["threads"]] == ["t"]
    page = booth.ask("/api/threads/t").json
    assert [each["exchange"] for each in page["turns"]] == ["x-r0", "x-r1"]
    assert page["turns"][1]["asked"] == [{"role": "user", "content": "secret question"}]
    assert [block["type"] for block in page["turns"][1]["answer"]] == ["thinking", "text", "tool_use"]
    assert page["turns"][1]["origin"]["backend"] == "claude"
    assert page["turns"][1]["followed"] == "r0"


def test_a_thread_that_is_deleted_is_gone(booth: Booth) -> None:
    record(booth, turn(recorded("r")))
    assert booth.ask("/api/threads/t", method="DELETE").json == {"forgotten": "t"}
    assert booth.ask("/api/threads/t").status == 404
    assert booth.ask("/api/threads/t", method="DELETE").status == 404


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=x", "limit=-1", "limit=" + "9" * 5000, "limit=0000000011001"]
)
def test_a_limit_that_cannot_be_used_is_refused(booth: Booth, query: str) -> None:
    assert booth.ask(f"/api/exchanges?{query}").status == 400


def test_without_a_store_the_admin_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Booth(tmp_path_factory.mktemp("off") / "h", store=False) as booth:
        assert booth.ask("/api/status").json["store"] is None
        for path in ("/api/exchanges", "/api/threads", "/api/threads/t"):
            reply = booth.ask(path)
            assert (reply.status, reply.json["error"]["what"]) == (409, "there is no store")


def test_metrics_count_what_became_of_each_exchange(booth: Booth) -> None:
    """Design §6: /metrics; no label holds what a client wrote."""
    exchange = turn(recorded("r", origin=GLM), kept=2, changes=(*CHANGES, ELSEWHERE)).exchange
    booth.publish("exchange", exchange)
    booth.publish("exchange", exchange)
    booth.publish("exchange", other(exchange, backend="evil\n{}"))
    text = booth.ask("/metrics").raw.decode().splitlines()
    assert 'clew_requests_total{backend="glm",kind="messages",outcome="whole",status="2xx"} 1.0' in text
    assert 'clew_requests_total{backend="other",kind="messages",outcome="whole",status="2xx"} 1.0' in text
    assert 'clew_tokens_total{backend="glm",kind="cache_read"} 30.0' in text
    for action, count in {"kept": 2, "restored": 1, "left_out": 1, "healed": 1}.items():
        assert f'clew_thinking_blocks_total{{action="{action}",backend="glm"}} {count}.0' in text
    assert 'clew_first_byte_seconds_bucket{backend="glm",le="0.5"} 1.0' in text
    assert 'clew_store_state{state="ok"} 1.0' in text
    assert "clew_open_streams 0.0" in text
    assert not [line for line in text if "_created" in line]


CHANGES = (
    Change("thinking", "messages.1.content.0", "left out", "made by claude"),
    Change("thinking", "messages.3.content.0", "restored", "the client had left it out"),
    Change("heal", "messages.5.content.0", "healed", "refused (R33)"),
)
ELSEWHERE = Change("tool_structure", "messages.7.content.0", "left out", "answers the same call again")


def other(exchange: Exchange, **more: str) -> Exchange:
    fields = {name: getattr(exchange, name) for name in exchange.__struct_fields__}
    return Exchange(**(fields | {"id": "x-other", **more}))


def test_threads_are_found_by_words(booth: Booth) -> None:
    record(
        booth, turn(recorded("a", words="A heron"), at=NOON), turn(recorded("b", words="An egret", thread="u"), at=NOON + 1)
    )
    told = booth.ask("/api/threads?q=HERO").json
    assert [(each["id"], each["turns"]) for each in told["threads"]] == [("t", 1)]
    assert [(hit["exchange"], hit["snippet"], hit["marks"]) for hit in told["hits"]] == [("x-a", "A heron", [[2, 7]])]
    assert booth.ask("/api/threads?q=nowhere").json == {"threads": [], "hits": []}
    assert booth.ask("/api/threads?q=heron&principal=other").json == {"threads": [], "hits": []}
    assert booth.ask("/api/threads?q=%22%28*NEAR").status == 200


def test_a_thread_has_its_tree(booth: Booth) -> None:
    answers = conversation(2)
    record(booth, *(turn(each) for each in (*answers, recorded("fork", before=(answers[0],)))))
    tree = booth.ask("/api/threads/t").json["tree"]
    assert [(each["after"], each["exchanges"]) for each in tree] == [
        ("", ["x-r0"]),
        ("x-r0", ["x-r1"]),
        ("x-r0", ["x-fork"]),
    ]
