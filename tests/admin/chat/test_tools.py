"""The gateway's own tools in a chat: a call that wants an approval waits for it, also over a reload."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.testing import Simulator
from tests.admin.chat.served import MODEL, ChatServer, configured, parts_of, user
from tests.admin.test_proxy_login import RSA, public, token, written
from tests.waiting import until

TOOLS = """
from clew import tool

@tool(approval=True)
def read(path: str) -> str:
    '''Reads a file.'''
    with open(__file__ + ".log", "a") as log:
        log.write(path + chr(10))
    return "rain"
"""


@pytest.fixture
def chat(claude: Simulator, tmp_path: Path) -> Iterator[ChatServer]:
    claude.reset()
    root = configured(tmp_path / "h", {"claude": claude}, '[chat]\ntools = "tools.py"')
    (root / "tools.py").write_text(TOOLS)
    with ChatServer(root) as server:
        yield server


def asked(chat: ChatServer, **more: Any) -> list[dict[str, Any]]:
    """All parts, as the owner gets them."""
    body = {"id": "one", "model": MODEL, "ownTools": True, **more}
    reply = chat.ask("/api/chat", method="POST", body=body)
    assert reply.status == 200, reply.raw
    return parts_of(reply.raw)


def test_a_call_waits_until_it_is_allowed_and_runs_once(chat: ChatServer) -> None:
    log = chat.home.root / "tools.py.log"
    parts = asked(chat, messages=[user("Look!")])
    (wanted,) = [part for part in parts if part["type"] == "tool-approval-request"]
    finish = parts[-1]
    assert (finish["finishReason"], log.exists()) == ("tool-calls", False)
    turn = finish["messageMetadata"]["turn"]
    more = asked(chat, turn=turn, decisions={wanted["toolCallId"]: True})
    assert more[0]["messageMetadata"]["after"] == turn
    assert [part["output"] for part in more if part["type"] == "tool-output-available"] == ["rain"]
    assert "".join(part["delta"] for part in more if part["type"] == "text-delta") == "I read: “rain”"
    (once,) = log.read_text().splitlines()
    body = {"id": "one", "model": MODEL, "ownTools": True, "turn": turn, "decisions": {wanted["toolCallId"]: True}}
    again = chat.ask("/api/chat", method="POST", body=body)
    assert (again.status, again.json["error"]["what"]) == (409, "these calls are already decided")
    assert log.read_text().splitlines() == [once]


def test_a_denied_call_does_not_run_and_the_model_is_told(chat: ChatServer) -> None:
    parts = asked(chat, messages=[user("Look!")])
    (wanted,) = [part for part in parts if part["type"] == "tool-approval-request"]
    more = asked(chat, turn=parts[-1]["messageMetadata"]["turn"], decisions={wanted["toolCallId"]: False})
    assert [part["type"] for part in more if part["type"].startswith("tool-output")] == ["tool-output-denied"]
    assert not (chat.home.root / "tools.py.log").exists()


def test_a_key_cannot_use_them(chat: ChatServer) -> None:
    reply = chat.call_api("/api/chat", method="POST", body={"messages": [user("Look!")], "model": MODEL, "ownTools": True})
    assert (reply.status, reply.json["error"]["what"]) == (403, "a key cannot use the gateway's own tools")


@pytest.mark.slow
def test_of_those_that_a_proxy_logs_in_only_owners_use_them(claude: Simulator, tmp_path: Path) -> None:
    login = [
        *(
            "[login]",
            'issuer = "https://idp.example"',
            'audience = "clew"',
            f'jwks = "{written(tmp_path, public(RSA, "one"))}"',
        ),
        *('peers = ["127.0.0.1"]', 'principal_claim = "email"'),
        *('operators = ["clew-operators"]', 'owners = ["clew-admins"]', "[chat]", 'tools = "tools.py"'),
    ]
    root = configured(tmp_path / "h", {"claude": claude}, "\n".join(login))
    (root / "tools.py").write_text(TOOLS)
    body = {"messages": [user("Look!")], "model": MODEL, "ownTools": True}
    with ChatServer(root) as chat:

        def reply(role: str) -> Any:
            headers = {"authorization": f"Bearer {token(groups=role)}"}
            return chat.ask("/api/chat", method="POST", body=body, headers=headers, port=True)

        refused = until(lambda: (told := reply("clew-operators")).status != 401 and told)
        assert refused.status == 403
        assert refused.json["error"]["what"] == "the role operator cannot use the gateway's own tools"
        assert reply("clew-admins").status == 200


@pytest.mark.parametrize(
    ("source", "why"),
    [("1 +", "SyntaxError"), ("raise SystemExit(3)", "SystemExit: 3"), ("x = 1", "has no tools"), (None, "No such file")],
)
def test_a_file_that_cannot_be_used_is_said(chat: ChatServer, source: str | None, why: str) -> None:
    file = chat.home.root / "tools.py"
    file.write_text(source) if source is not None else file.unlink()
    reply = chat.ask("/api/chat", method="POST", body={"messages": [user("Look!")], "model": MODEL, "ownTools": True})
    assert reply.status == 409 and why in reply.why
