"""What a key may do, over a real gateway: who may not is told why, with the right status, in the client's dialect."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import msgspec
import pytest

from clew.limits.keys import KeyRights, NamedKey
from clew.settings.home import Home
from clew.settings.named_keys import NamedKeys
from clew.store.sqlite.store import SqliteStore
from clew.testing import Simulator
from tests.gateway.served import KEY, Served, backend
from tests.gateway.test_applied import HEAD, answered_by, done, ready
from tests.waiting import until

pytestmark = pytest.mark.slow

OPUS, HAIKU = "claude-opus-5-5", "claude-haiku-4-5"


@pytest.fixture(scope="module")
def vendor() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture(scope="module")
def gateway(vendor: Simulator) -> Iterator[Served]:
    rows = (backend(name, vendor.url, 'realm = "anthropic"\n') for name in "ab")
    with Served(HEAD + "".join(rows)) as gateway:
        yield ready(gateway)


def asked(gateway: Served, key: str, model: str = OPUS, path: str = "/v1/messages?beta=true") -> tuple[int, dict]:
    request = gateway.request(model=model, stream=False).replace(b"/v1/messages?beta=true", path.encode())
    status, _, body = gateway.peer().send(request.replace(KEY.encode(), key.encode())).response()
    return status, json.loads(body)


def made(gateway: Served, *arguments: str) -> str:
    return done(gateway, "keys", "add", *arguments).strip()


def test_a_key_asks_only_for_its_models(gateway: Served) -> None:
    key = made(gateway, "narrow", "--models", "claude-haiku-*")
    assert asked(gateway, key, HAIKU)[0] == 200
    status, told = asked(gateway, key)
    assert (status, told["error"]["type"]) == (403, "permission_error")
    assert told["error"]["message"].startswith(f"The key 'narrow' may not ask for the model {OPUS}.")
    done(gateway, "keys", "edit", "narrow", "--models", "all")
    assert asked(gateway, key)[0] == 200


@pytest.mark.parametrize(
    "more",
    [
        b'"fallbacks":[{"model":"OPUS"}],',
        b'"tools":[{"type":"advisor_20260301","name":"a","model":"OPUS"}],',
        b'"model":"OPUS",',
    ],
)
def test_a_key_gets_no_other_model_by_another_field(gateway: Served, more: bytes) -> None:
    key = made(gateway, f"narrow{len(more)}", "--models", "claude-haiku-*")
    request = gateway.request(model=HAIKU, stream=False)
    head, _, body = request.partition(b"\r\n\r\n")
    body = b"{" + more.replace(b"OPUS", OPUS.encode()) + body[1:]
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    head = head.replace(length, b"content-length: %d" % len(body)).replace(KEY.encode(), key.encode())
    status, _, told = gateway.peer().send(head + b"\r\n\r\n" + body).response()
    assert status == 403
    assert f"may not ask for the model {OPUS}" in json.loads(told)["error"]["message"]


def test_a_key_uses_only_its_backends_and_no_other_answers_in_their_place(gateway: Served) -> None:
    key = made(gateway, "b-alone", "--backends", "b")
    status, told = asked(gateway, key)
    assert status == 403
    assert told["error"]["message"].startswith("The key 'b-alone' may not use the backend a, which was chosen")
    done(gateway, "use", "b")
    assert answered_by(gateway, key) == "b"
    done(gateway, "use", "--reset")


def test_a_key_without_the_scope_asks_no_model_and_may_look_into_the_admin(gateway: Served) -> None:
    key = made(gateway, "looker", "--scopes", "read")
    status, told = asked(gateway, key)
    assert (status, told["error"]["type"]) == (403, "permission_error")
    assert told["error"]["message"] == "The key 'looker' may not be used for this: it lacks the scope 'inference'."


def test_a_refusal_is_in_the_clients_dialect(gateway: Served) -> None:
    key = made(gateway, "chat", "--models", "nothing-at-all")
    status, told = asked(gateway, key, path="/v1/chat/completions")
    assert status == 403
    assert told["error"]["message"].startswith("The key 'chat' may not ask for the model")
    assert "type" not in told, "the envelope of Messages has a type"


def test_a_key_that_is_over_says_when_it_ended(gateway: Served) -> None:
    key = made(gateway, "over", "--expires", "1d")
    assert asked(gateway, key)[0] == 200

    def ended(old: NamedKey) -> tuple[KeyRights, str]:
        return msgspec.structs.replace(old.rights, expires=time.time() - 60), old.team

    with SqliteStore(gateway.home / "clew.db") as store:
        NamedKeys(Home(gateway.home), store).edit("over", ended)
    until(lambda: asked(gateway, key)[0] == 401)
    message = asked(gateway, key)[1]["error"]["message"]
    assert message.startswith("The key 'over' expired at 20")
    assert asked(gateway, key, path="/v1/chat/completions")[0] == 401


def test_a_child_is_narrowed_with_its_parent(gateway: Served) -> None:
    made(gateway, "parent")
    key = made(gateway, "child", "--parent", "parent")
    assert asked(gateway, key)[0] == 200
    done(gateway, "keys", "edit", "parent", "--models", "other-*")
    assert asked(gateway, key)[0] == 403
    done(gateway, "keys", "remove", "parent")
    assert asked(gateway, key)[0] == 401


def test_the_rights_of_a_key_hold_in_the_chat_too(gateway: Served) -> None:
    key = made(gateway, "talker", "--models", "other-*")
    question = {"role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    body = json.dumps({"id": "c1", "model": OPUS, "message": question}).encode()
    request = urllib.request.Request(
        f"{gateway.told['admin_url']}/api/chat", data=body, headers={"content-type": "application/json", "x-clew-key": key}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            told = answer.read().decode()
    except urllib.error.HTTPError as error:
        told = error.read().decode()
    assert "may not ask for the model" in told
