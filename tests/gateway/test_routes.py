"""What is served, what is not, and that there is one reading of a path."""

import asyncio
import json
from typing import Any

import pytest

from clew.dialects import DIALECTS
from clew.dialects.shape import OPERATION_METHODS, Dialect
from clew.errors import BackendOverloaded, RequestInvalid
from clew.http.message import ServerLimits
from clew.testing import Simulator
from tests.gateway.conftest import KEY, KEYED, PASSTHROUGH, Gateway, Making, said, settings_with
from tests.manifest import proves
from tests.simulator.wire import call
from tests.waiting import until

pytestmark = pytest.mark.slow

TRICKS = [
    *("//v1/messages", "/v1//messages", "/v1/messages/", "/v1/messages.", "/v1/messages;x", "/v1/messages;x=/healthz"),
    *("/V1/messages", "/v1/Messages", "/%761/messages", "/v1/%6dessages", "/v1%2fmessages", "/v1/messages%00"),
    *("/v1/../v1/messages", "/./v1/messages", "/healthz/../v1/messages", "/v1/messages/..;/count_tokens", "/v1/messages%20"),
    *("//admin", "/%61dmin", "/v1/../admin", "/admin", "/api/status", "/metrics", "/healthz/", "/api/hello/"),
]


@proves("fault:X4")
@pytest.mark.parametrize("path", TRICKS)
@pytest.mark.parametrize("key", [None, KEY])
def test_a_path_that_only_looks_like_one_is_not_found(gateway: Gateway, path: str, key: str | None) -> None:
    """X4: with a key and without."""
    assert said(gateway.ask(path=path, x_api_key=key)) == (404, "not_found_error")
    assert gateway.engine.calls == []


def test_a_query_is_no_part_of_the_path_and_reaches_the_engine(gateway: Gateway) -> None:
    assert gateway.ask(path="/v1/messages?beta=true", x_api_key=KEY)[0] == 200
    assert gateway.ask(path="/v1/messages/count_tokens?beta=true&x=/healthz", x_api_key=KEY)[0] == 200
    assert [(call.kind, call.query, call.body) for call in gateway.engine.calls] == [
        ("messages", "beta=true", b"{}"),
        ("count_tokens", "beta=true&x=/healthz", b"{}"),
    ]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/v1/messages/batches", "Message batches are not served by clew"),
        ("/v1/messages/batches/b_1/results", "Message batches are not served by clew"),
        ("/v1/files", "Files are not served by clew"),
        ("/v1/files/f_1/content", "Files are not served by clew"),
        ("/v1/organizations/me", "clew does not serve GET /v1/organizations/me"),
    ],
)
def test_what_is_not_served_says_so(gateway: Gateway, path: str, says: str) -> None:
    answer = gateway.ask("GET", path, b"", x_api_key=KEY)
    assert said(answer) == (404, "not_found_error")
    assert says in json.loads(answer[2])["error"]["message"]


SERVED = "are not served by clew, which takes POST /v1/messages and POST /v1/chat/completions"


@pytest.mark.parametrize(
    ("path", "what", "instead"),
    [
        ("/v1/chat/completions/chatcmpl-1", "Stored completions", "to the vendor directly"),
        ("/v1/responses/resp_1/cancel", "Other paths below the Responses API", "no answer is made in the background here"),
        ("/v1/completions", "Text completions", "to the vendor directly"),
        ("/v1/embeddings", "Embeddings", "to the vendor directly"),
        ("/openai/deployments/gpt/chat/completions?api-version=1", "Azure's paths", "set the client's base URL"),
        ("/openai/v1/responses", "Azure's paths", "set the client's base URL"),
    ],
)
@pytest.mark.parametrize("key", [None, KEY])
def test_an_openai_client_is_told_what_is_served_in_its_own_shape(
    gateway: Gateway, path: str, what: str, instead: str, key: str | None
) -> None:
    status, headers, body = gateway.ask(path=path, authorization=key and f"Bearer {key}")
    error = json.loads(body)["error"]
    assert (status, headers["content-type"], headers["x-should-retry"]) == (404, "application/json", "false")
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["code"]) == ("invalid_request_error", "unknown_url")
    assert error["message"].startswith(f"{what} {SERVED}")
    assert instead in error["message"]


@pytest.mark.parametrize(
    "path",
    [
        "/v1beta/models/gemini-3-pro:generateContent",
        "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
        "/v1/models/gemini-3-pro:streamGenerateContent",
        "/v1beta/models",
    ],
)
def test_a_gemini_client_is_told_what_is_served_in_its_own_shape(gateway: Gateway, path: str) -> None:
    status, _, body = gateway.ask(path=path, x_goog_api_key="k")
    error = json.loads(body)["error"]
    assert (status, error["code"], error["status"]) == (404, 404, "NOT_FOUND")
    assert error["message"].startswith(f"Methods of the Gemini API {SERVED}")


FRONTS = [(path, operation, dialect) for dialect in DIALECTS.values() for path, operation in dialect.routes.items()]


@pytest.mark.parametrize(("path", "operation", "dialect"), FRONTS, ids=[path for path, _, _ in FRONTS])
def test_each_path_of_a_dialect_is_served_in_it(gateway: Gateway, path: str, operation: str, dialect: Dialect[Any]) -> None:
    for method in OPERATION_METHODS[operation]:
        gateway.engine.calls.clear()
        asked = path.replace("*", "a-name")
        assert gateway.ask(method, asked, authorization=f"Bearer {KEY}")[0] == 200
        call = gateway.engine.calls[0]
        assert (call.operation, call.front, call.name) == (operation, dialect, "a-name" if "*" in path else "")


OPENAI = [path for path, operation, dialect in FRONTS if operation == "messages" and dialect.name.startswith("openai")]


def openai_error(answer: tuple[int, dict[str, str], bytes]) -> tuple[int, str, str | None]:
    """Status, type and code, after the shape was looked at."""
    error = json.loads(answer[2])["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert answer[1]["content-type"] == "application/json"
    return answer[0], error["type"], error["code"]


@pytest.mark.parametrize("path", OPENAI)
def test_an_openai_client_gets_every_refusal_in_its_own_shape(making: Making, path: str) -> None:
    gateway = making(settings_with(PASSTHROUGH, KEYED, max_streams=1), limits=ServerLimits(body_bytes=1000))
    key = f"Bearer {KEY}"
    refusals = {
        (401, "invalid_request_error", "invalid_api_key"): gateway.ask(path=path, authorization="Bearer sk-x"),
        (405, "invalid_request_error", "unknown_url"): gateway.ask("PUT", path, authorization=key),
        (403, "invalid_request_error", None): gateway.ask(path=path, origin="https://evil.example", authorization=key),
        (415, "invalid_request_error", None): gateway.ask(path=path, content_type="text/plain", authorization=key),
        (413, "invalid_request_error", None): gateway.ask(path=path, body=b"x" * 1001, authorization=key),
    }
    assert [openai_error(answer) for answer in refusals.values()] == list(refusals)
    gateway.engine.error = RequestInvalid("messages.0.role: there is no role 'x'", path="messages.0.role")
    refused = gateway.ask(path=path, authorization=key)
    assert openai_error(refused) == (400, "invalid_request_error", None)
    assert json.loads(refused[2])["error"]["param"] == "messages.0.role"
    gateway.engine.error = BackendOverloaded("busy", retry_after=2.0)
    overloaded = gateway.ask(path=path, authorization=key)
    assert (openai_error(overloaded), overloaded[1]["retry-after"]) == ((503, "server_error", "server_is_overloaded"), "2")


@pytest.mark.parametrize("path", OPENAI)
def test_a_gateway_that_is_busy_or_stopping_says_so_in_the_clients_shape(making: Making, path: str) -> None:
    gateway = making(settings_with(PASSTHROUGH, KEYED, max_streams=1))
    gateway.engine.hold = asyncio.Event()
    held = gateway.peer().send(gateway.request("POST", path, authorization=f"Bearer {KEY}"))
    until(lambda: gateway.plane.running == 1)
    busy = gateway.ask(path=path, authorization=f"Bearer {KEY}")
    assert openai_error(busy) == (503, "server_error", "server_is_overloaded")
    gateway.loop.call(gateway.server.close(grace=0))
    assert openai_error(held.response()) == (503, "server_error", "server_is_overloaded")


@proves("case:107")
@pytest.mark.parametrize("path", OPENAI)
def test_a_web_socket_is_refused_so_that_the_client_goes_on_over_http(gateway: Gateway, path: str) -> None:
    answer = gateway.ask("GET", path, b"", connection="Upgrade", upgrade="websocket", authorization=f"Bearer {KEY}")
    assert openai_error(answer) == (426, "invalid_request_error", None)
    assert answer[1]["upgrade"] == "HTTP/1.1"


def test_a_long_path_is_not_repeated_whole(gateway: Gateway) -> None:
    assert len(gateway.ask("GET", "/" + "x" * 5000, b"")[2]) < 500


def test_another_method_is_told_which(gateway: Gateway) -> None:
    answer = gateway.ask("GET", "/v1/messages", b"", x_api_key=KEY)
    assert (said(answer), answer[1]["allow"]) == ((405, "invalid_request_error"), "POST")
    assert json.loads(answer[2])["error"]["message"] == "/v1/messages takes POST, not GET."


@pytest.mark.parametrize("path", ["/", "/api/hello"])
def test_the_greetings_of_claude_code_need_no_key_and_no_json(gateway: Gateway, path: str) -> None:
    """clients 1.1: without auth, only to warm the connection, which then serves the first request."""
    peer = gateway.peer().send(b"HEAD %b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (path.encode(), gateway.port))
    head = peer.read_until(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert peer.send(gateway.request("POST", "/v1/messages", x_api_key=KEY)).response()[0] == 200


def test_health_and_readiness(making: Making) -> None:
    gateway = making(loaded=False)
    assert gateway.ask("GET", "/healthz", b"")[2] == b'{"status":"ok"}'
    assert gateway.ask("GET", "/readyz", b"")[::2] == (503, b'{"status":"starting"}')
    gateway.loop.call(_serve(gateway))
    assert gateway.ask("GET", "/readyz", b"")[::2] == (200, b'{"status":"ready"}')
    gateway.plane.draining = True
    assert gateway.ask("GET", "/readyz", b"")[::2] == (503, b'{"status":"draining"}')
    assert gateway.ask("GET", "/healthz", b"")[0] == 200


async def _serve(gateway: Gateway) -> None:
    gateway.plane.serve(gateway.engine)


def test_a_config_that_could_not_be_taken_is_told_here(making: Making) -> None:
    """P6: the old one is still served, so it is ready; only this machine is told why."""
    gateway = making()
    gateway.plane.source.problem = "clew.toml:3: active: there is no backend 'x'"
    told = gateway.ask("GET", "/readyz", b"")
    assert (told[0], json.loads(told[2])) == (
        200,
        {"status": "ready", "problem": "clew.toml:3: active: there is no backend 'x'"},
    )
    gateway.plane.listening("0.0.0.0", gateway.port)
    assert json.loads(gateway.ask("GET", "/readyz", b"")[2]) == {"status": "ready"}


def test_an_openai_client_gets_the_list_of_models_in_its_own_shape(gateway: Gateway) -> None:
    bearer = {"authorization": f"Bearer {KEY}"}
    page = json.loads(gateway.ask("GET", "/v1/models", b"", **bearer)[2])
    names = [row["id"] for row in page["data"]]
    assert page["object"] == "list"
    assert {"claude-opus-5-5", "anthropic/glm/glm-5"} <= set(names)
    assert page["data"][0] == {"id": names[0], "object": "model", "created": 0, "owned_by": "anthropic"}
    assert page["data"][-1]["owned_by"] == "glm"
    one = json.loads(gateway.ask("GET", "/v1/models/anthropic%2Fglm", b"", **bearer)[2])
    assert one == {"id": "anthropic/glm", "object": "model", "created": 0, "owned_by": "glm"}
    unknown = openai_error(gateway.ask("GET", "/v1/models/nobody", b"", **bearer))
    assert unknown == (404, "invalid_request_error", "model_not_found")


def test_codex_gets_the_list_of_models_in_its_own_shape(gateway: Gateway) -> None:
    answer = gateway.ask("GET", "/v1/models?client_version=0.169.0", b"", authorization=f"Bearer {KEY}")
    rows = json.loads(answer[2])["models"]
    assert {"claude-opus-5-5", "anthropic/glm"} <= {row["slug"] for row in rows}
    needed = {"slug", "display_name", "supported_reasoning_levels", "shell_type", "visibility", "supported_in_api"}
    needed |= {"priority", "support_verbosity", "truncation_policy", "base_instructions", "experimental_supported_tools"}
    assert all(needed <= set(row) for row in rows)


def test_claude_code_can_choose_every_backend_from_the_list(gateway: Gateway) -> None:
    """clients 1.1: it asks for a thousand, and keeps only names that begin with `claude` or `anthropic`."""
    status, headers, body = gateway.ask("GET", "/v1/models?limit=1000", b"", x_api_key=KEY)
    page = json.loads(body)
    names = [row["id"] for row in page["data"]]
    assert (status, headers["content-type"]) == (200, "application/json")
    assert [name for name in names if not name.startswith(("claude", "anthropic"))] == []
    assert {"claude-opus-5-5", "claude-haiku-5-5", "anthropic/glm", "anthropic/glm/glm-5"} <= set(names)
    assert "anthropic/claude" not in names
    assert (page["first_id"], page["last_id"], page["has_more"]) == (names[0], names[-1], False)
    assert {row["type"] for row in page["data"]} == {"model"}


def test_a_list_goes_page_by_page(gateway: Gateway) -> None:
    def page(query: str) -> dict[str, object]:
        return json.loads(gateway.ask("GET", f"/v1/models?{query}", b"", x_api_key=KEY)[2])

    names = [row["id"] for row in page("limit=1000")["data"]]
    got, after = [], ""
    while True:
        part = page(f"limit=3&after_id={after}")
        got += [row["id"] for row in part["data"]]
        after = part["last_id"]
        if not part["has_more"]:
            break
    assert got == names
    assert [row["id"] for row in page(f"before_id={names[2]}")["data"]] == names[:2]
    assert len(page("")["data"]) == len(page("limit=")["data"]) == min(20, len(names))


def test_a_limit_that_the_vendor_refuses_is_refused_in_its_words(gateway: Gateway) -> None:
    """R75: so that a client that works here works there."""
    with Simulator() as sim:
        for limit in ("0", "000", "-1", "1001", "9" * 5000, "x", "1.5", "%20", "1_0", "%D9%A1", "+5"):
            status, _, body = gateway.ask("GET", f"/v1/models?limit={limit}", b"", x_api_key=KEY)
            theirs = call(sim.url, "GET", f"/v1/models?limit={limit}")
            assert (status, json.loads(body)["error"]) == (theirs.status, theirs.json["error"]), limit[:9]
            assert status == 400, limit[:9]


def test_a_list_goes_page_by_page_backwards_too(gateway: Gateway) -> None:
    """Each page is the one right before the name, as the SDKs ask for it: the last one first."""

    def page(query: str) -> dict[str, object]:
        return json.loads(gateway.ask("GET", f"/v1/models?{query}", b"", x_api_key=KEY)[2])

    names = [row["id"] for row in page("limit=1000")["data"]]
    got, before = [names[-1]], names[-1]
    while True:
        part = page(f"limit=3&before_id={before}")
        got = [row["id"] for row in part["data"]] + got
        before = part["first_id"]
        if not part["has_more"]:
            break
    assert got == names


@pytest.mark.parametrize(
    ("name", "status", "display"),
    [
        ("claude-opus-5-5", 200, "Claude Opus 5.5"),
        ("anthropic%2Fglm", 200, "glm"),
        ("anthropic/glm/glm-5", 200, "glm-5 (glm)"),
        ("qwen3-32b", 404, None),
        ("anthropic/nobody", 404, None),
        ("../messages", 404, None),
        ("%2e%2e%2fadmin", 404, None),
    ],
)
def test_one_model(gateway: Gateway, name: str, status: int, display: str | None) -> None:
    answer = gateway.ask("GET", f"/v1/models/{name}", b"", x_api_key=KEY)
    assert answer[0] == status
    assert json.loads(answer[2]).get("display_name") == display


def test_models_of_a_backend_without_any_of_its_own(making: Making) -> None:
    gateway = making(settings_with(KEYED))
    names = [row["id"] for row in json.loads(gateway.ask("GET", "/v1/models?limit=1000", b"", x_api_key=KEY)[2])["data"]]
    assert names[-2:] == ["anthropic/glm", "anthropic/glm/glm-5"]
