"""A backend whose variable is not set where the gateway runs: it alone is out, and nobody else answers in its place."""

import json
from collections.abc import Iterator

import pytest

from clew.testing import Simulator
from tests.admin.booth import Unix
from tests.gateway.served import Served, backend
from tests.waiting import until

pytestmark = pytest.mark.slow

HEAD = 'active = "%s"\nfailover = ["glm", "here"]\n[gateway]\nadmin_port = 0\ndrain_seconds = 1\n'
GLM = '\n[backends.glm]\npreset = "zai"\nkey = "${ZAI_API_KEY}"\n'
RULE = '\n[[rules]]\nfamily = "haiku"\nbackend = "glm"\n'


def config(vendor: Simulator, active: str = "here") -> str:
    return HEAD % active + backend("here", vendor.url, 'realm = "anthropic"\n') + GLM + RULE


@pytest.fixture
def vendor() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


def asked(gateway: Served, model: str = "claude-opus-5-5") -> tuple[int, str, str]:
    """The status, the backend, and what was said where it failed."""
    status, headers, body = gateway.ask(model=model, stream=False).response()
    said = json.loads(body).get("error", {}).get("message", "")
    if status == 503:
        assert headers["x-should-retry"] == "false"
    return status, headers.get("x-clew-backend", ""), said


def explains(said: str, gateway: Served) -> bool:
    return all(each in said for each in ("glm", "ZAI_API_KEY is not set", f"{gateway.config}:15", "`clew use NAME`"))


def test_the_others_answer_and_a_request_for_it_says_what_is_missing(vendor: Simulator) -> None:
    with Served(config(vendor)) as gateway:
        assert asked(gateway) == (200, "here", "")
        for model in ("claude-haiku-5-5", "anthropic/glm"):  # by a rule, and by its name
            status, _, said = asked(gateway, model)
            assert (status, explains(said, gateway)) == (503, True), said
        assert asked(gateway) == (200, "here", "")
        assert len(vendor.journal()) == 2


def test_an_active_backend_that_is_disabled_is_not_replaced_by_another(vendor: Simulator) -> None:
    with Served(config(vendor, active="glm")) as gateway:
        status, _, said = asked(gateway)
        assert (status, explains(said, gateway)) == (503, True), said
        assert vendor.journal() == []
        gateway.config.write_text(config(vendor))
        until(lambda: asked(gateway)[:2] == (200, "here"))


def test_a_reload_that_disables_a_backend_takes_the_rest(vendor: Simulator) -> None:
    with Served(HEAD.replace('"glm", ', "") % "here" + backend("here", vendor.url, 'realm = "anthropic"\n')) as gateway:
        gateway.config.write_text(config(vendor))
        until(lambda: asked(gateway, "claude-haiku-5-5")[0] == 503)
        assert asked(gateway)[:2] == (200, "here")
        until(lambda: "glm is disabled: the variable ZAI_API_KEY is not set" in (gateway.home / "log").read_text())


def test_a_gateway_with_a_disabled_backend_still_asks_for_its_key(vendor: Simulator) -> None:
    """A backend that takes the client's own credential stands alone while the others are disabled: that opens nothing."""
    text = HEAD % "claude" + '\n[backends.claude]\npreset = "anthropic"\nauth = "passthrough"\n' + GLM
    with Served(text.replace(', "here"', "")) as gateway:
        request = gateway.request(stream=False).replace(b"a-gateway-key", b"sk-ant-of-the-client")
        assert gateway.peer().send(request).response()[0] == 401


def admin(gateway: Served, method: str, path: str, body: object = None) -> tuple[int, str]:
    connection = Unix(gateway.told["socket"])
    try:
        raw = json.dumps(body) if body is not None else None
        connection.request(method, path, raw, {"content-type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_the_admin_lists_it_and_does_not_switch_to_it(vendor: Simulator) -> None:
    with Served(config(vendor)) as gateway:
        [disabled] = json.loads(admin(gateway, "GET", "/api/status")[1])["disabled"]
        assert disabled == {
            "name": "glm",
            "key": "backends.glm.key",
            "why": "the variable ZAI_API_KEY is not set",
            "where": f"{gateway.config}:15",
        }
        status, said = admin(gateway, "POST", "/api/use", {"backend": "glm"})
        assert (status, "ZAI_API_KEY is not set" in said) == (409, True)
        page = admin(gateway, "GET", "/backends")[1]
        assert all(each in page for each in ("1 disabled", "ZAI_API_KEY is not set", f"{gateway.config}:15"))


def test_a_request_for_it_is_in_the_log_and_counted(vendor: Simulator) -> None:
    with Served(config(vendor)) as gateway:
        said = asked(gateway, "claude-haiku-5-5")[2]
        until(lambda: len(gateway.exchanges()) == 1)
        [kept] = gateway.exchanges()
        assert (kept.asked_model, kept.backend, kept.outcome, kept.status) == ("claude-haiku-5-5", "glm", "failed", 503)
        assert [(each.backend, each.status, each.why) for each in kept.tries] == [("glm", 0, f"not asked: {said}")]
        shown = gateway.clew("log").stdout
        assert all(each in shown for each in ("claude-haiku-5-5", "glm", "failed", "503", "ZAI_API_KEY is not set")), shown
        assert 'outcome="failed"' in admin(gateway, "GET", "/metrics")[1]
        page = admin(gateway, "GET", "/")[1]
        assert "failed (503)" in page
