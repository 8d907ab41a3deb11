"""With whose credential a request goes to a backend, and which of the client's headers go along."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest

from clew.backends.credential import Secret
from clew.settings.values import Retry
from clew.testing import Simulator
from tests.build import user
from tests.engine.chatting import chat_row, telling
from tests.engine.conftest import Gating
from tests.engine.gate import KEY, Gate, claude, other
from tests.engine.heads import fingerprint, headers_at, key_at, simple
from tests.engine.kept import exchange_of
from tests.engine.talk import MODEL
from tests.engine.test_translation_refusals import refusing
from tests.engine.test_waits import messages_row
from tests.manifest import proves, public

pytestmark = pytest.mark.slow


@public("gateway")
@proves("req:S1-48")
@pytest.mark.parametrize(("auth", "header"), [("key", "x-api-key"), ("bearer", "authorization")])
def test_a_key_of_ours_goes_in_its_header_and_the_clients_own_does_not(
    gating: Gating, a: Simulator, auth: str, header: str
) -> None:
    """S1-48."""
    gate = gating(claude(a, auth=auth, keys=(Secret("sim-ours"),)))
    answer = simple(gate, x_api_key="", x_clew_key=KEY, authorization="Bearer sim-the-clients-own")
    assert answer.status == 200
    sent = {name for name in headers_at(a) if name in ("x-api-key", "authorization", "x-clew-key")}
    assert (sent, key_at(a)) == ({header}, fingerprint("sim-ours"))


@public("gateway")
@proves("req:S1-48")
@pytest.mark.parametrize(
    ("own", "headers"),
    [
        ({"x_api_key": "sim-mine-1"}, {"x-api-key"}),
        ({"x_api_key": "", "authorization": "Bearer sim-mine-1"}, {"authorization"}),
    ],
)
def test_passthrough_takes_the_clients_own_header_as_it_is(
    gating: Gating, a: Simulator, own: dict[str, str], headers: set[str]
) -> None:
    """S1-48: and never the gateway's key."""
    gate = gating(claude(a, auth="passthrough", keys=()))
    answer = simple(gate, x_clew_key=KEY, **own)
    assert answer.status == 200
    sent = {name for name in headers_at(a) if name in ("x-api-key", "authorization", "x-clew-key")}
    assert (sent, key_at(a)) == (headers, fingerprint("sim-mine-1"))


def test_what_passes_to_a_backend_is_what_is_on_the_list(gate: Gate, a: Simulator) -> None:
    """Design §6: versions and betas pass, cookies and forwarding notes do not."""
    answer = simple(gate, anthropic_beta="interleaved-thinking-2025-05-14", cookie="c=1", x_forwarded_for="1.2.3.4", via="x")
    sent = headers_at(a)
    assert answer.status == 200
    assert sent["anthropic-beta"] == "interleaved-thinking-2025-05-14"
    assert not {"cookie", "x-forwarded-for", "via", "x-clew-key"} & set(sent)
    assert sent["accept-encoding"] == "identity"


def test_each_request_goes_out_with_a_head_of_its_own(gating: Gating, a: Simulator) -> None:
    """Its own credential, beta, query and endpoint, whatever went out before."""
    gate = gating(claude(a, auth="passthrough", keys=()))
    body = {"model": MODEL, "max_tokens": 100, "messages": [user("[[scenario:text]]")]}
    for turn in range(3):
        for key in ("sim-one-1", "sim-two-2"):
            for beta in ("one-beta", "another-beta"):
                headers = {"x-api-key": key, "x-clew-key": KEY, "anthropic-beta": beta}
                gate.ask(body, headers=headers, path=f"/v1/messages?beta={turn}")
                entry = a.journal()[-1]
                assert (entry["credential"], headers_at(a)["anthropic-beta"]) == (fingerprint(key), beta)
                assert (entry["path"], entry["query"]) == ("/v1/messages", f"beta={turn}")
                gate.ask({**body, "max_tokens": None}, headers=headers, path="/v1/messages/count_tokens")
                assert a.journal()[-1]["path"] == "/v1/messages/count_tokens"


def test_on_one_connection_too_each_request_has_its_own_betas(gating: Gating, a: Simulator) -> None:
    """A projection may add one (S1-50): the next request with the same head does not get it."""
    gate = gating(claude(a, model="claude-sonnet-4-5"))
    headers = {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
        "x-api-key": KEY,
        "anthropic-beta": "one-beta",
    }
    connection = http.client.HTTPConnection(gate.url.removeprefix("http://"), timeout=120)
    came: list[str] = []
    for mode in ("adaptive", "disabled") * 2:
        body = {"model": MODEL, "max_tokens": 4000, "messages": [user("[[scenario:text]]")], "thinking": {"type": mode}}
        connection.request("POST", "/v1/messages", json.dumps(body).encode(), headers)
        assert connection.getresponse().read()
        came.append(headers_at(a)["anthropic-beta"])
    connection.close()
    assert came == ["one-beta,interleaved-thinking-2025-05-14", "one-beta"] * 2


@pytest.mark.parametrize("place", ["after=0", "after=5"], ids=["before", "within"])
def test_an_error_in_a_stream_does_not_tell_our_key(gating: Gating, a: Simulator, place: str) -> None:
    """Some vendors repeat the key that they were asked with; it is the operator's, and for nobody else."""
    gate = gating(claude(a, keys=(Secret("sim-ours-and-secret"),)), retry=Retry(retries=0))
    a.fault(f"error api_error {place} message='sim-ours-and-secret is not valid'")
    answer = gate.ask({"model": MODEL, "max_tokens": 2000, "stream": True, "messages": [user("Hello")]})
    assert b"sim-ours-and-secret" not in answer.raw
    assert b"<secret> is not valid" in answer.raw


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("key", ["x", "token"])
def test_a_key_that_is_a_word_does_not_blank_what_a_backend_says(
    gating: Gating, a: Simulator, key: str, stream: bool
) -> None:
    """Anyone who runs a server at home gives it any key; a client compacts by exactly these words."""
    words = "prompt is too long: 210000 tokens > 200000 maximum"
    gate = gating(claude(a, keys=(Secret(key),)), retry=Retry(retries=0))
    a.fault(f"error invalid_request_error after=5 message='{words}'" if stream else f"status 400 message='{words}'")
    answer = gate.ask({"model": MODEL, "max_tokens": 2000, "stream": stream, "messages": [user("Hello")]})
    assert words.encode() in answer.raw


OWN, OURS, THEIRS = "own-credential-of-mine", "sim-ours-and-secret", "sk-ant-api03-0123456789abcdef"
ECHO = f"no: {OWN}, {OURS}, {THEIRS}, Authorization: Bearer 0123456789"


@pytest.mark.parametrize(
    "fault",
    [
        f"error api_error after=5 message='{ECHO}'",
        f"status 200 content-type=text/html body='<p>{ECHO}</p>'",
        f'status 403 body=\'{{"type":"error","error":{{"type":"{OWN}","message":"no"}}}}\'',
    ],
    ids=["within a stream", "in a page", "as a type"],
)
@pytest.mark.parametrize("header", ["x-api-key", "authorization"])
def test_what_is_kept_of_a_failure_tells_no_credential(gating: Gating, a: Simulator, fault: str, header: str) -> None:
    """The client may read its own; the store, and so the log, the pages and every list, has nobody's."""
    a.fault(fault)
    backends = (claude(a, auth="passthrough", keys=()), other(a, keys=(Secret(OURS),)))
    gate = gating(*backends, retry=Retry(retries=0))
    own = OWN if header == "x-api-key" else f"Bearer {OWN}"
    body = {"model": MODEL, "max_tokens": 2000, "stream": True, "messages": [user("Hello")]}
    answer = gate.ask(body, headers={"x-clew-key": KEY, header: own})
    why = " ".join(each.why for each in exchange_of(gate, answer).tries)
    assert why
    assert not [secret for secret in (OWN, OURS, THEIRS, "0123456789") if secret in why], why


@pytest.mark.parametrize("before", [150, 170, 180, 185])
def test_half_of_our_key_is_not_told_either(gating: Gating, a: Simulator, before: int) -> None:
    """Of a page that is no answer the beginning is told, and the key may stand where that ends."""
    gate = gating(claude(a, keys=(Secret(OURS),)), retry=Retry(retries=0))
    a.fault(f"status 200 content-type=text/html body='{'x' * before}{OURS} is not valid'")
    answer = gate.ask({"model": MODEL, "max_tokens": 2000, "messages": [user("Hello")]})
    assert answer.status == 502
    assert OURS[:6] not in answer.raw.decode()
    assert OURS[:6] not in exchange_of(gate, answer).tries[0].why


@pytest.mark.parametrize("row", [messages_row, chat_row])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_half_of_our_key_is_not_told_where_words_are_cut(gating: Gating, row: Any, stream: bool) -> None:
    """Of a message 4000 characters are told, of a text 500: with its own status, in one piece inside a 200, and in a stream."""
    half, asked = len(Simulator.key) // 2, {"model": MODEL, "max_tokens": 9, "messages": [user("Hello")], "stream": stream}
    said = json.dumps({"error": {"message": f"{'x' * (4000 - half)}{Simulator.key}"}}).encode()
    backends = [
        *(refusing(400, said), refusing(400, f"{'x' * (500 - half)}{Simulator.key}".encode())),
        *(telling(said, kind="application/json"), telling(b"data: " + said + b"\n\n")),
    ]
    for place, backend in enumerate(backends):
        with backend as teller:
            answer = gating(row("local", teller.url), home=str(place), retry=Retry(retries=0)).ask(asked)
        assert answer.status in (400, 500)
        assert answer.json["error"]["message"].endswith("x<secret>")
