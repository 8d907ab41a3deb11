"""Where the sealing secret comes from: the environment, or one private file that racing processes agree on."""

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clew.errors import SettingsInvalid
from clew.model.origin import Origin
from clew.settings.own_keys import load_keyring, rotate_keyring
from clew.thinking.keyring import Keyring, key_id, keyring_of, read_secret_file, read_secret_text, secret_file_of
from clew.thinking.seal import Seal

NOTHING: dict[str, str] = {}
SEAL = Seal("local", Origin("deepseek", "deepseek", "deepseek-reasoner"), "ex_01", 0, b"payload")

LOADER = """
import sys
from pathlib import Path
from clew.settings.own_keys import load_keyring, rotate_keyring

path, verb = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
print({"load": load_keyring, "rotate": rotate_keyring}[verb](path, {}).current)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "secret.json"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refused(path: Path) -> SettingsInvalid:
    with pytest.raises(SettingsInvalid) as error:
        load_keyring(path, NOTHING)
    return error.value


def raced(path: Path, verb: str, count: int) -> list[str]:
    """The current key that each of `count` processes ended with, all let go at the same moment."""
    command = [sys.executable, "-c", LOADER, str(path), verb]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    return [racer.communicate("go\n", timeout=30)[0].strip() for racer in racers]


def test_the_first_load_makes_a_private_file_and_the_next_finds_it(path: Path) -> None:
    """0600 in a 0700 directory; nothing else but the lock is left behind."""
    ring = load_keyring(path, NOTHING)

    assert load_keyring(path, NOTHING) == ring
    assert len(ring.keys[ring.current]) == 32
    assert (mode_of(path), mode_of(path.parent)) == (0o600, 0o700)
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["secret.json", "secret.json.lock"]


def test_two_homes_get_two_secrets(tmp_path: Path) -> None:
    """The secret is drawn, not derived."""
    assert load_keyring(tmp_path / "a" / "s", NOTHING) != load_keyring(tmp_path / "b" / "s", NOTHING)


def test_a_seal_opens_after_a_restart(path: Path) -> None:
    """What one process minted, the next one opens from the same file."""
    token = load_keyring(path, NOTHING).sealer().mint(SEAL, "text")

    assert load_keyring(path, NOTHING).sealer().open(token, "text", principal="local") == SEAL


def test_rotation_adds_a_current_key_and_keeps_the_old(path: Path) -> None:
    """Seals of the old key go on opening; new ones are minted with the new key."""
    old = load_keyring(path, NOTHING)
    token = old.sealer().mint(SEAL, "text")

    new = rotate_keyring(path, NOTHING)

    assert load_keyring(path, NOTHING) == new
    assert new.current not in old.keys
    assert new.keys == {new.current: new.keys[new.current], **old.keys}
    assert new.sealer().open(token, "text", principal="local") == SEAL
    assert mode_of(path) == 0o600


def test_rotating_where_there_is_no_secret_makes_one(path: Path) -> None:
    """The verb works on a fresh home too."""
    ring = rotate_keyring(path, NOTHING)

    assert len(ring.keys) == 1
    assert load_keyring(path, NOTHING) == ring


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o610])
def test_a_file_that_others_can_use_is_refused_with_the_cure(path: Path, mode: int) -> None:
    """Refused, not repaired: it may have been read already. The message says what to run."""
    load_keyring(path, NOTHING)
    path.chmod(mode)

    error = refused(path)

    assert str(error) == (
        f"{path} can be used by others (mode {mode:04o}), so its secret may be known: run `chmod 600 {path}`"
    )
    assert error.file == str(path)
    assert mode_of(path) == mode


def test_a_directory_into_which_others_can_write_is_refused_before_and_after(path: Path) -> None:
    """Anyone who can put a file there can put another secret there; a directory that others can only list is fine."""
    path.parent.mkdir()
    path.parent.chmod(0o777)
    message = f"others can put files into {path.parent}, so the secret in it can be replaced: run `chmod 700 {path.parent}`"

    assert str(refused(path)) == message
    assert not path.exists()

    path.parent.chmod(0o755)
    load_keyring(path, NOTHING)
    path.parent.chmod(0o770)
    assert str(refused(path)) == message


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "{path} is not a secret file of clew: Input data was truncated"),
        (b"hunter2", "{path} is not a secret file of clew: JSON is malformed: invalid character (byte 0)"),
        (b'{"version": 1}', "{path} is not a secret file of clew: Object missing required field `current`"),
        (b'{"version": 2, "rings": []}', "{path} has version 2; this clew reads version 1"),
        (b'{"version": 1, "current": "k", "keys": {}}', "{path} names 'k' as the current key, and holds no such key"),
        (b'{"version":1,"current":"k","keys":{"k":"MTIz"}}', "{path} is damaged: key 'k' is not what its name says"),
    ],
    ids=["empty", "prose", "half", "newer", "nothing current", "damaged"],
)
def test_a_file_that_is_not_ours_is_refused_and_left_alone(path: Path, raw: bytes, why: str) -> None:
    """A new secret over a damaged one would silently make every seal unknown."""
    path.parent.mkdir(mode=0o700)
    path.write_bytes(raw)
    path.chmod(0o600)

    assert str(refused(path)) == why.format(path=path)
    assert path.read_bytes() == raw


def test_a_path_that_cannot_hold_a_file_is_our_error(path: Path) -> None:
    """Foreign exceptions are mapped at the border."""
    path.mkdir(parents=True)

    assert str(refused(path)) == f"cannot use {path}: Is a directory"


def test_a_failed_write_leaves_nothing_behind_and_keeps_the_old_secret(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All or nothing: a full disk during rotation must not cost the keys that seals need."""
    ring = load_keyring(path, NOTHING)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(SettingsInvalid, match="No space left on device"):
            rotate_keyring(path, NOTHING)

    assert load_keyring(path, NOTHING) == ring
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["secret.json", "secret.json.lock"]


def test_the_environment_outranks_the_file_and_touches_none(path: Path) -> None:
    """Machines that share CLEW_SECRET share its key id, and so each other's seals."""
    here = load_keyring(path, {"CLEW_SECRET": "a" * 32})
    there = load_keyring(path, {"CLEW_SECRET": f" {'a' * 32}\n"})

    assert here == there == keyring_of(b"a" * 32)
    assert not path.parent.exists()


def test_several_secrets_in_the_environment_are_a_rotation() -> None:
    """The first mints, all open."""
    old = read_secret_text("a" * 32, name="CLEW_SECRET").sealer().mint(SEAL, "text")
    ring = read_secret_text(f"{'b' * 40}, {'a' * 32}", name="CLEW_SECRET")

    assert ring == Keyring(key_id(b"b" * 40), {key_id(b"b" * 40): b"b" * 40, key_id(b"a" * 32): b"a" * 32})
    assert ring.sealer().open(old, "text", principal="local") == SEAL


@pytest.mark.parametrize("text", ["short", "a" * 31, f"{'a' * 32},", f"{'a' * 32},short"])
def test_a_short_secret_in_the_environment_is_refused(path: Path, text: str) -> None:
    """The message names the variable and a command that makes a good one, and does not repeat the secret."""
    with pytest.raises(SettingsInvalid) as error:
        load_keyring(path, {"CLEW_SECRET": text})

    assert str(error.value) == (
        "CLEW_SECRET needs at least 32 characters (of each secret, if several are separated by commas); "
        "`openssl rand -hex 32` prints a good one"
    )
    assert error.value.key == "CLEW_SECRET"


def test_an_empty_variable_is_as_unset(path: Path) -> None:
    """Compose files set empty variables."""
    assert load_keyring(path, {"CLEW_SECRET": " "}) == load_keyring(path, NOTHING)


def test_a_secret_from_the_environment_is_not_rotated_in_a_file(path: Path) -> None:
    """It would change nothing, so it says what to do instead."""
    with pytest.raises(SettingsInvalid) as error:
        rotate_keyring(path, {"CLEW_SECRET": "a" * 32})

    assert str(error.value) == "the secret comes from CLEW_SECRET: put a new one in front of it, with a comma between"
    assert not path.exists()


def test_a_ring_never_shows_its_keys() -> None:
    """Rings end up in tracebacks and logs."""
    ring = keyring_of(b"s" * 32)

    assert repr(ring) == f"<Keyring of 1, current {ring.current!r}>"


def test_the_file_is_json_with_a_version_and_reads_back() -> None:
    """A version number from the first day."""
    ring = keyring_of(b"a" * 32, b"b" * 32)
    raw = secret_file_of(ring)

    assert json.loads(raw)["version"] == 1
    assert read_secret_file(raw, file="secret.json") == ring


def test_threads_that_race_to_create_agree(path: Path) -> None:
    """One secret, anyone who was first."""
    with ThreadPoolExecutor(16) as pool:
        rings = list(pool.map(lambda _: load_keyring(path, NOTHING), range(64)))

    assert rings == [load_keyring(path, NOTHING)] * 64


@pytest.mark.slow
def test_processes_that_race_to_create_agree(path: Path) -> None:
    """Several gateways may share one home (design §6)."""
    assert set(raced(path, "load", 8)) == {load_keyring(path, NOTHING).current}


@pytest.mark.slow
def test_processes_that_race_to_rotate_lose_no_key(path: Path) -> None:
    """Each made a current key for a moment, and may have sealed with it: all must stay in the ring."""
    first = load_keyring(path, NOTHING).current

    made = raced(path, "rotate", 6)

    assert set(load_keyring(path, NOTHING).keys) == {first, *made}
    assert len({first, *made}) == 7
