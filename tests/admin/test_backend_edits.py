"""Backends and keys that are changed from a browser: what is written, what is refused, and what is never shown."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.admin.access import FRESH_SECONDS
from tests.admin.booth import Booth, Reply

CONFIG = """active = "a"
# Ours.
[backends.a]
url = "https://a.example"  # the first
key = "${CLEW_TEST_KEY:-x}"

[backends.b]
url = "https://b.example"
key = "sk-literal-in-the-file"
"""


@pytest.fixture
def booth(tmp_path: Path) -> Iterator[Booth]:
    with Booth(tmp_path / "h") as booth:
        booth.home.config.write_text(CONFIG)
        yield booth


def edit(booth: Booth, action: str, name: str, **more: Any) -> Reply:
    return booth.ask("/api/backends/preview", method="POST", body={"action": action, "name": name, **more})


def apply(booth: Booth, action: str, name: str, **more: Any) -> Reply:
    """Preview, and then the same."""
    digest = edit(booth, action, name, **more).json["digest"]
    body = {"action": action, "name": name, "digest": digest, **more}
    return booth.ask("/api/backends/apply", method="POST", body=body)


def test_a_backend_is_added_edited_and_removed_and_every_comment_stays(booth: Booth) -> None:
    shown = edit(booth, "add", "glm", fields={"preset": "zai", "model": "glm-5"}).json
    assert booth.home.config.read_text() == CONFIG, "a preview writes nothing"
    assert "+[backends.glm]" in shown["diff"] and '+key = "${ZAI_API_KEY}"' in shown["diff"]
    assert apply(booth, "add", "glm", fields={"preset": "zai", "model": "glm-5"}).json["followed"]["behind"] == []
    assert apply(booth, "edit", "glm", fields={"model": "glm-6"}).status == 200
    assert 'model = "glm-6"\n' in booth.home.config.read_text()
    assert booth.ask("/api/backends/glm").json["fields"]["model"] == "glm-6"
    assert apply(booth, "remove", "glm").status == 200
    assert booth.home.config.read_text().rstrip() == CONFIG.rstrip()


def test_a_key_goes_into_a_private_file_and_into_no_answer(booth: Booth) -> None:
    secret = "sk-very-secret"
    given = {"fields": {"url": "https://c.example"}, "secret": secret}
    replies = [edit(booth, "add", "c", **given), apply(booth, "add", "c", **given), booth.ask("/api/backends/c")]
    place = booth.home.root / "backend-keys/c.key"
    assert place.read_text() == f"{secret}\n" and stat.S_IMODE(place.stat().st_mode) == 0o600
    assert f'key = "file:{place}"' in booth.home.config.read_text()
    replies += [edit(booth, "remove", "b"), edit(booth, "edit", "b", fields={"model": "m"}), booth.ask("/api/backends/b")]
    assert [secret in reply.raw.decode() or "sk-literal" in reply.raw.decode() for reply in replies] == [False] * 6
    assert apply(booth, "remove", "c").status == 200 and not place.exists()


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"action": "add", "name": "a", "fields": {"url": "https://x.example"}}, 409, "already"),
        ({"action": "add", "name": "../x", "fields": {"url": "https://x.example"}}, 400, "name cannot be used"),
        ({"action": "add", "name": "x", "fields": {"preset": "nobody"}}, 400, "preset"),
        ({"action": "add", "name": "x", "fields": {"url": "no url"}}, 400, "url"),
        ({"action": "add", "name": "x", "fields": {"command": "rm"}}, 400, "cannot be set here"),
        (
            {"action": "add", "name": "x", "fields": {"preset": "zai", "key": "file:/etc/passwd"}},
            400,
            "does not say where a key is",
        ),
        ({"action": "add", "name": "x", "fields": {"preset": "zai", "key": "file:{home}/key"}}, 400, "does not say where"),
        ({"action": "add", "name": "x", "fields": {"preset": "zai", "key": "$(id)"}}, 400, "does not say where a key is"),
        ({"action": "add", "name": "x", "fields": {"preset": "zai"}, "secret": "two words"}, 400, "not a key"),
        ({"action": "edit", "name": "b", "fields": {"url": "https://evil.example"}}, 409, "needs the key again"),
        ({"action": "edit", "name": "nobody", "fields": {}}, 404, "no backend"),
        ({"action": "remove", "name": "a"}, 409, "in use"),
        ({"action": "burn", "name": "a"}, 400, "cannot be used"),
    ],
    ids=str,
)
def test_what_the_file_could_not_say_or_a_browser_may_not_is_refused(
    booth: Booth, change: dict[str, Any], status: int, says: str
) -> None:
    fields = {name: value.replace("{home}", str(booth.home.root)) for name, value in change.get("fields", {}).items()}
    reply = booth.ask("/api/backends/preview", method="POST", body={**change, **({"fields": fields} if fields else {})})
    assert (reply.status, says in reply.raw.decode()) == (status, True), reply.raw
    assert booth.home.config.read_text() == CONFIG


@pytest.mark.parametrize("key", ["${CLEW_KEY}", "${ANTHROPIC_API_KEY}", "file:{home}/key", "file:{home}/backend-keys/c.key"])
def test_no_key_of_this_machine_is_sent_to_an_address_from_a_browser(booth: Booth, key: str) -> None:
    key = key.replace("{home}", str(booth.home.root))
    evil = {"url": "https://evil.example"}
    assert apply(booth, "add", "c", fields={"url": "https://c.example"}, secret="sk-of-c").status == 200
    tries = [
        edit(booth, "add", "x", fields={**evil, "key": key}),
        edit(booth, "add", "x", fields={**evil, "preset": "zai", "key": key}),
        edit(booth, "add", "x", fields={"preset": "ollama", "key": key}),
        edit(booth, "add", "x", fields={**evil, "preset": "zai"}),  # without a key: not the vendor's either
        edit(booth, "edit", "a", fields={**evil, "key": "${CLEW_TEST_KEY:-x}"}),
        edit(booth, "edit", "c", fields={**evil, "key": key}),
        edit(booth, "edit", "c", fields={"key": key}),
    ]
    own = f"file:{booth.home.root}/backend-keys/c.key"
    assert [reply.status for reply in tries] == [400] * 6 + ([200] if key == own else [400]), [each.raw for each in tries]
    assert edit(booth, "add", "x", fields={"preset": "zai", "key": "${ZAI_API_KEY}"}).status == 200, (
        "a vendor at its own address"
    )


def test_keys_in_a_list_do_not_move_with_a_new_one(booth: Booth) -> None:
    booth.home.config.write_text(CONFIG.replace('key = "sk-literal-in-the-file"', 'keys = ["sk-one", "sk-two"]'))
    assert edit(booth, "edit", "b", fields={"url": "https://evil.example"}, secret="sk-new").status == 409


def test_a_file_that_changed_since_the_preview_is_not_written(booth: Booth) -> None:
    digest = edit(booth, "edit", "a", fields={"model": "m"}).json["digest"]
    booth.home.config.write_text(CONFIG + "\n# Mine.\n")
    body = {"action": "edit", "name": "a", "fields": {"model": "m"}, "digest": digest}
    assert booth.ask("/api/backends/apply", method="POST", body=body).status == 409
    assert booth.home.config.read_text().endswith("# Mine.\n")


def test_a_file_that_another_program_manages_is_only_shown(booth: Booth, tmp_path: Path) -> None:
    elsewhere = tmp_path / "managed.toml"
    booth.home.config.rename(elsewhere)
    booth.home.config.symlink_to(elsewhere)
    assert edit(booth, "edit", "a", fields={"model": "m"}).status == 409
    page = booth.ask("/backends").raw.decode()
    assert "is a link, so another program manages it" in page and "data-edit" not in page and "data-add" not in page


def test_a_login_of_long_ago_changes_neither_backends_nor_keys(booth: Booth) -> None:
    headers = booth.logged_in()
    new = {"name": "anna"}
    assert booth.ask("/api/keys", method="POST", body=new, headers=headers, port=True).status == 200
    kept = json.loads(booth.home.sessions.read_text())
    kept["until"] = {name: until - FRESH_SECONDS - 1 for name, until in kept["until"].items()}
    booth.home.sessions.write_text(json.dumps(kept))
    booth.restart()
    reply = booth.ask("/api/keys", method="POST", body={"name": "bob"}, headers=headers, port=True)
    assert (reply.status, "log in again" in reply.raw.decode()) == (403, True)
    assert booth.ask("/api/keys", headers=headers, port=True).status == 200, "looking is allowed"


def test_a_key_is_shown_once_renewed_and_revoked(booth: Booth) -> None:
    made = booth.ask("/api/keys", method="POST", body={"name": "anna"}).json
    renewed = booth.ask("/api/keys/anna/rotate", method="POST", body={}).json
    assert made["key"].startswith("clew_") and made["key"] != renewed["key"]
    assert made["row"]["principal"] == "anna", "her conversations are her own"
    listed = booth.ask("/api/keys")
    assert renewed["key"].rpartition("_")[2] not in listed.raw.decode() + booth.ask("/keys").raw.decode()
    assert [row["name"] for row in listed.json["keys"]] == ["anna"]
    assert booth.ask("/api/keys", method="POST", body={"name": "anna"}).status == 409
    assert booth.ask("/api/keys", method="POST", body={"name": "local"}).status == 400
    assert booth.ask("/api/keys", method="POST", body={"name": " "}).status == 409
    assert booth.ask("/api/keys/anna", method="DELETE").status == 200
    assert booth.ask("/api/keys/anna", method="DELETE").status == 409
    assert "No named keys" in booth.ask("/keys").raw.decode()
