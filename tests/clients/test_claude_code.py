"""Claude Code through the gateway, while the backend changes under it.

The backends are judges: each refuses what its vendor would refuse, and knows each proof that it made. So what a test asks is
always the same: did the client get its answer, was nothing refused on the way, did each backend get back all of its own,
byte for byte, and nothing of anybody else's?
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.claude import ClaudeCode, Run, finished
from tests.clients.conftest import both_versions
from tests.clients.gateway import KEY
from tests.clients.installed import NEW
from tests.clients.scene import Scene, scene
from tests.clients.sitting import Sitting
from tests.clients.test_claude_code_alone import AGENTS, LOOP
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

Installed = Callable[[str, str], ClaudeCode]

YES = "think: Short.\ntext: Yes."


def client_of(stage: Scene, claude_code: Installed) -> ClaudeCode:
    client = claude_code(stage.gateway.url, KEY)
    stage.gateway.leave_commands(client.work)
    (client.work / "note.txt").write_text("a note\n")
    return client


def all_is_well(stage: Scene, run: Run, result: str) -> bool:
    """The client has its answer and saw no error; no backend refused anything, and none got what is not its own."""
    assert (run.failed, run.result, run.of("system", "api_retry")) == (False, result, [])
    assert (stage.refusals(), stage.foreign()) == ([], [])
    return True


def test_a_loop_of_several_tools_is_as_without_a_gateway(claude_code: Installed, tmp_path: Path) -> None:
    """The client's view and the backend's are those of `test_claude_code_alone`."""
    with scene(LOOP, tmp_path) as stage:
        run = client_of(stage, claude_code).ask("Have a look.")

        assert all_is_well(stage, run, "Done.")
        assert run.calls == ["Bash", "Bash", "Read"]
        assert stage.a.given_back() == [[], stage.a.made[:1], stage.a.made[:2]]
        assert run.proofs == stage.a.made


SWITCHES = """
turn:
  think: A thinks first.
  call: Bash {"command": "sh use b"}
turn:
  think: Then B.
  redacted: And nobody reads this.
  text: Going on.
  call: Bash {"command": "sh use c"}
turn:
  think: Then C.
  call: Bash {"command": "sh use b"}
turn:
  think: B again.
  call: Bash {"command": "sh use a"}
turn:
  think: And A at the end.
  text: Done.
"""


@public("gateway")
@proves("req:S1-34", "req:C3", "req:C11")
@both_versions
def test_the_backend_is_switched_four_times_inside_one_loop(claude_code: Installed, tmp_path: Path) -> None:
    """A → B → C → B → A, each switch made by the tool that runs just then."""
    with scene(SWITCHES, tmp_path) as stage:
        run = client_of(stage, claude_code).ask("Have a look.")

        assert all_is_well(stage, run, "Done.")
        a, b, c = stage.a, stage.b, stage.c
        assert (a.given_back(), b.given_back(), c.given_back()) == ([[], a.made[:1]], [[], b.made[:2]], [[]])
        assert [proof in a.made for proof in run.proofs] == [True, False, False, False, False, True]
        assert {event["message"]["model"] for event in run.of("assistant")} == {a.asked()[0]["body"]["model"]}


@public("gateway")
@proves("req:S1-37", "req:C7")
def test_a_conversation_is_resumed_after_the_gateway_was_killed(claude_code: Installed, tmp_path: Path) -> None:
    """Two backends have spoken, the gateway dies by `kill -9`, and each still gets back what is its own."""
    with scene(YES, tmp_path) as stage:
        client = client_of(stage, claude_code)
        with Sitting(client) as talk:
            first = talk.ask("Are you there?")
            stage.gateway.use("b")
            talk.ask("Still?")
        stage.gateway.kill()
        stage.gateway.start()
        with Sitting(client, "--resume", first.session) as talk:
            talk.ask("And now?")
            stage.gateway.use("a")
            last = talk.ask("And at the end?")

        assert all_is_well(stage, last, "Yes.")
        a, b = stage.a, stage.b
        assert (a.given_back(), b.given_back()) == ([[], a.made[:1]], [[], b.made[:1]])


KILLED = """
turn:
  think: A thinks first.
  call: Bash {"command": "sh use b"}
turn:
  think: B thinks, and the gateway dies.
  call: Bash {"command": "sh kill9"}
turn:
  think: B goes on.
  call: Bash {"command": "sh use a"}
turn:
  think: And A.
  text: Done.
"""


@public("gateway")
@proves("req:S1-37", "req:C7", "fault:P3")
def test_a_loop_survives_the_death_of_the_gateway(claude_code: Installed, tmp_path: Path) -> None:
    """The client's own retries bridge the gap, and what was acknowledged is there."""
    with scene(KILLED, tmp_path) as stage:
        process = client_of(stage, claude_code).start("Have a look.")
        stage.gateway.restart_when_it_dies()
        run = finished(process)

        assert (run.failed, run.result, run.calls) == (False, "Done.", ["Bash"] * 3)
        assert (stage.refusals(), stage.foreign()) == ([], [])
        a, b = stage.a, stage.b
        assert (a.given_back(), b.given_back()) == ([[], a.made[:1]], [[], b.made[:1]])


def ask_two_models(client: ClaudeCode) -> Run:
    """One model, another, and the first again, in one conversation."""
    first = client.ask("Are you there?", "--model", "claude-opus-4-8")
    client.ask("Still?", "--resume", first.session, "--model", "claude-sonnet-5")
    return client.ask("And now?", "--resume", first.session, "--model", "claude-opus-4-8")


@pytest.mark.soak
def test_a_model_gets_its_own_back_after_another_has_spoken(claude_code: Installed, tmp_path: Path) -> None:
    """On Claude itself thinking is bound to its model: each gets its own strand, and no other."""
    with scene(YES, tmp_path) as stage:
        last = ask_two_models(client_of(stage, claude_code))

        assert all_is_well(stage, last, "Yes.")
        assert stage.a.given_back() == [[], [], stage.a.made[:1]]


@public("gateway")
@proves("req:C2")
def test_what_the_client_stripped_is_restored_for_a_backend_that_reads_it(claude_code: Installed, tmp_path: Path) -> None:
    """Claude Code leaves out what was thought under another model's name (clients, 1.6); B wants all that it said."""
    with scene(YES, tmp_path) as stage:
        stage.gateway.use("b")
        last = ask_two_models(client_of(stage, claude_code))

        assert all_is_well(stage, last, "Yes.")
        assert stage.b.given_back() == [[], stage.b.made[:1], stage.b.made[:2]]
        changes = [
            [change["what"] for change in exchange["changes"] if change["step"] == "thinking"]
            for exchange in stage.gateway.log()
        ]
        assert changes == [[], ["restored"], ["restored"]]


SWITCHED_AGENTS = AGENTS.replace(
    "turn:",
    """turn:
  think: First let them be slow.
  call: Bash {"command": "sh slow"}
turn:""",
    1,
).replace(
    "turn:\n  think: Both",
    """  call: Bash {"command": "sh use b"}
turn:
  think: Both""",
)


@public("gateway")
@proves("req:S1-35", "req:S1-53")
def test_two_sub_agents_and_a_switch_disturb_nobody(claude_code: Installed, tmp_path: Path) -> None:
    """While their first answers are on the way, the parent switches the backend: they stay where they began, and it moves."""
    with scene(SWITCHED_AGENTS, tmp_path) as stage:
        client = client_of(stage, claude_code)
        stage.a.leave_faults(client.work / "slow", ["drip 4096", "slow-start 2.5", "slow-start 2.5"])
        run = client.ask("Let two of them look.")

        assert all_is_well(stage, run, "Both are done.")
        assert run.calls == ["Bash", "Agent", "Agent", "Bash"]
        agents = [[0, 3], [0, 1, 2, 3]] if client.version == NEW else [[0, 0], [0, 0, 0, 0]]  # the older one's do not think
        assert sorted(stage.a.counts_by_agent().values()) == sorted([[0, 1], *agents])
        assert stage.b.counts_by_agent() == {"": [0]}


@proves("fault:U4")
@pytest.mark.soak
def test_overload_is_not_the_clients_business(claude_code: Installed, tmp_path: Path) -> None:
    """Two 529s before the first content: the gateway tries again, and the client sees a slow answer."""
    with scene(LOOP, tmp_path) as stage:
        stage.a.fault("status 529 retry-after=0", times=2)
        run = client_of(stage, claude_code).ask("Have a look.")

        assert all_is_well(stage, run, "Done.")
        assert [entry["faults"] for entry in stage.a.asked()] == [["status"], ["status"], [], [], []]


@pytest.mark.soak
def test_a_backend_that_stays_overloaded_is_replaced_by_the_next(claude_code: Installed, tmp_path: Path) -> None:
    """`failover` in the config; the loop goes on where the first could not even begin."""
    with scene(LOOP, tmp_path, more='failover = ["b"]\n') as stage:
        stage.a.fault("status 529", times=50)
        run = client_of(stage, claude_code).ask("Have a look.")

        assert all_is_well(stage, run, "Done.")
        assert stage.b.given_back() == [[], stage.b.made[:1], stage.b.made[:2]]


@proves("fault:U11")
@pytest.mark.soak
def test_a_stream_that_breaks_before_its_content_is_asked_for_again(claude_code: Installed, tmp_path: Path) -> None:
    """Nothing has reached the client yet, so the gateway can begin anew, and nobody knows."""
    with scene(LOOP, tmp_path) as stage:
        stage.a.fault("cut after=1 how=rst")
        run = client_of(stage, claude_code).ask("Have a look.")

        assert all_is_well(stage, run, "Done.")
        assert [entry["ended"] for entry in stage.a.asked()] == ["cut", "whole", "whole", "whole"]


BREAKS = """
turn:
  think: All is well.
  call: Bash {"command": "sh cut; rm -f cut"}
turn:
  think: This is whole.
  text: So is this.
  call: Bash {"command": "echo this breaks off, once"}
turn:
  think: That is all.
  text: Done.
"""


@public("gateway")
@proves("req:C8", "fault:U11")
@both_versions
def test_a_stream_that_breaks_in_its_content_is_taken_up_by_the_client(claude_code: Installed, tmp_path: Path) -> None:
    """It is told what happened, and does what it would do without a gateway (clients, 1.8): 2.1.325 asks the model to go on,
    2.1.197 leaves that to its user. The half answer is in the history then, and its thinking goes back to its maker."""
    with scene(BREAKS, tmp_path) as stage:
        client = client_of(stage, claude_code)
        stage.a.leave_faults(client.work / "cut", ["cut after=12 how=rst"])
        run = client.ask("Have a look.")
        if run.failed:
            assert "the connection was closed" in run.result
            run = client.ask("Go on.", "--resume", run.session)

        assert all_is_well(stage, run, "Done.")
        assert [entry["ended"] for entry in stage.a.asked()] == ["whole", "cut", "whole", "whole", "whole"]
        assert stage.a.given_back() == [stage.a.made[:count] for count in range(5)]
