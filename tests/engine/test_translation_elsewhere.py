"""A conversation between dialects: handed over, taken up again after losses, and repaired where a vendor refuses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.backends.row import Backend
from clew.cli.threads import exchange_lines
from clew.model.change import Change
from clew.settings.values import Retry, ThinkingSettings
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.build import Json, assistant, text, user
from tests.engine.chatting import chat, chat_row, pieces, thinks
from tests.engine.conftest import Gating
from tests.engine.gate import Answer, Gate, claude
from tests.engine.kept import exchange_of
from tests.engine.talk import MODEL, Talk, last_asked, refusals, thoughts, thoughts_in, whose
from tests.manifest import proves

pytestmark = pytest.mark.slow

QUICK = Retry(retries=1, first_wait=0.01, most_wait=0.02, cool_seconds=0.01)
OWN = ("reasoning_content", "own", True, "kept")
LOOP = "[[scenario:loop]] Three steps."
THOUGHT = "The question is short. A short answer will do."
"""What every model thinks in the scenario `thinking`."""


@pytest.fixture
def deepseek(simulators: StartSimulator) -> Simulator:
    return simulators(kind="deepseek-chat", realm="deepseek")


@pytest.fixture
def kimi(simulators: StartSimulator) -> Simulator:
    return simulators(kind="kimi-chat", realm="kimi")


def bodies(simulator: Simulator) -> list[Json]:
    return [entry["body"] for entry in simulator.journal()]


def answers_in(body: Json) -> list[Json]:
    return [message for message in body["messages"] if message["role"] == "assistant"]


def tries(gate: Gate, answer: Answer) -> list[tuple[str, int]]:
    return [(each.backend, each.status) for each in exchange_of(gate, answer).tries]


# Failover.


@pytest.mark.parametrize("fault", ["status 503", "error service_unavailable_error after=1", "cut after=1 how=rst"])
def test_another_dialect_takes_over_before_any_content(
    gating: Gating, deepseek: Simulator, a: Simulator, fault: str
) -> None:
    """The client sees one clean answer, of Claude; and the next one is the vendor's again, with its own reasoning."""
    gate = gating(chat(deepseek, "deepseek"), claude(a), failover=("claude",), retry=QUICK)
    talk = Talk(gate, tools=[])
    talk.says("[[scenario:thinking]] One.")
    deepseek.fault(fault, times=2)
    answer = talk.says("[[scenario:thinking]] Two.")
    assert [backend for backend, _ in tries(gate, answer)] == ["deepseek", "deepseek", "claude"]
    assert (answer.kinds.count("message_start"), "error" in answer.kinds) == (1, False)
    assert answer.headers["x-clew-backend"] == "claude"

    back = eventually_back(talk)
    assert back.headers["x-clew-backend"] == "deepseek"
    placeholder = ("reasoning_content", "placeholder", False, "kept")
    assert pieces(deepseek)[:2] == [OWN, placeholder]
    assert (refusals(a), refusals(deepseek), whose(a) <= {"own"}) == ([], [], True)


def eventually_back(talk: Talk) -> Answer:
    """A backend that failed is left alone for a moment."""
    for _ in range(20):
        answer = talk.says("[[scenario:thinking]] Again.")
        if answer.headers["x-clew-backend"] == "deepseek":
            return answer
    raise AssertionError("it never came back")


def test_a_vendor_takes_over_from_claude_before_any_content(gating: Gating, deepseek: Simulator, a: Simulator) -> None:
    """The other way round."""
    gate = gating(claude(a), chat(deepseek, "deepseek"), failover=("deepseek",), retry=QUICK)
    talk = Talk(gate)
    talk.says(LOOP)
    a.fault("status 529", times=2)
    answer = talk.says("[[scenario:thinking]] And you?")
    assert tries(gate, answer) == [("claude", 529), ("claude", 529), ("deepseek", 200)]
    assert (refusals(a), refusals(deepseek)) == ([], [])
    assert {whose for _, whose, _, _ in pieces(deepseek)} == {"placeholder"}


# Foreign thinking.


@pytest.mark.parametrize(
    ("foreign", "first"),
    [
        ("drop", {"content": "Here is a short answer.", "reasoning_content": ""}),
        ("native", {"content": "Here is a short answer.", "reasoning_content": THOUGHT}),
        ("text", {"reasoning_content": ""}),
    ],
)
def test_what_claude_thought_goes_to_a_vendor_as_the_policy_says(
    gating: Gating, deepseek: Simulator, a: Simulator, foreign: str, first: Json
) -> None:
    """Left out, in the vendor's own field, or said in words; and Claude itself never gets anything that is not its own."""
    policy = ThinkingSettings(foreign=foreign)
    gate = gating(claude(a), chat(deepseek, "deepseek"), thinking=policy)
    talk = Talk(gate, tools=[])
    talk.says("[[scenario:thinking]] One.")
    gate.use("deepseek")
    answer = talk.says("[[scenario:thinking]] Two.")
    sent = answers_in(bodies(deepseek)[-1])[0]
    assert {name: sent[name] for name in first} == first
    assert (THOUGHT in sent["content"]) is (foreign == "text")
    counts = "left-out=1, handed-over=0" if foreign == "drop" else "left-out=0, handed-over=1"
    assert counts in answer.headers["x-clew-thinking"]

    gate.use("claude")
    talk.says("[[scenario:thinking]] Three.")
    assert (refusals(a), whose(a)) == ([], {"own"})
    assert len(thoughts_in(last_asked(a))) == 1


def test_a_policy_of_one_backend_outranks_the_general_one(gating: Gating, deepseek: Simulator, a: Simulator) -> None:
    """`quirks.foreign` in its table."""
    gate = gating(claude(a), chat(deepseek, "deepseek", 'quirks = { foreign = "native" }'))
    talk = Talk(gate, tools=[])
    talk.says("[[scenario:thinking]] One.")
    gate.use("deepseek")
    talk.says("[[scenario:thinking]] Two.")
    assert answers_in(bodies(deepseek)[-1])[0]["reasoning_content"] == THOUGHT


# Losses.


@proves("req:S3-40")
@pytest.mark.parametrize("home", ["home", "another"], ids=["restart", "lost store"])
def test_a_restart_loses_nothing_and_neither_does_a_lost_store(
    gating: Gating, tmp_path: Path, deepseek: Simulator, a: Simulator, home: str
) -> None:
    """What the maker wants back travels in the seal: a gateway that knows nothing but its secret gives it back all the same."""
    rows = (chat(deepseek, "deepseek"), claude(a))
    talk = spoken(tmp_path / "home", *rows)
    gate = talk.gate = gating(*rows, home=home)
    answer = talk.says("[[scenario:thinking]] And now?")
    assert pieces(deepseek) == [OWN] * 4
    assert answer.headers["x-clew-thinking"].startswith("kept=4, restored=0, left-out=0")
    gate.use("claude")
    talk.says("[[scenario:thinking]] And Claude?")
    assert (refusals(a), thoughts_in(last_asked(a)), refusals(deepseek)) == ([], [], [])


def spoken(home: Path, *rows: Backend) -> Talk:
    """A loop, in the life of another gateway."""
    home.mkdir()
    with Gate(home, *rows) as gate:
        talk = Talk(gate)
        talk.says(LOOP)
    return talk


def test_what_a_client_dropped_comes_back_after_a_restart(gating: Gating, tmp_path: Path, deepseek: Simulator) -> None:
    """From the store, by the ids of the calls; for a vendor that wants every thought back."""
    talk = spoken(tmp_path / "home", chat(deepseek, "deepseek"))
    talk.gate = gating(chat(deepseek, "deepseek"))
    talk.forgets_thinking()
    answer = talk.says("[[scenario:thinking]] And now?")
    assert pieces(deepseek) == [OWN] * 4
    assert "restored=4" in answer.headers["x-clew-thinking"]


@proves("case:57")
def test_a_seal_that_somebody_altered_is_forwarded_to_nobody(gating: Gating, deepseek: Simulator, a: Simulator) -> None:
    """Forged or edited: the block is left out, and its maker gets it from the store."""
    gate = gating(chat(deepseek, "deepseek"), claude(a))
    talk = Talk(gate, tools=[])
    talk.says("[[scenario:thinking]] One.")
    [block] = thoughts(talk.messages)
    block["signature"] = block["signature"][:-6] + "AAAAAA"
    talk.says("[[scenario:thinking]] Two.")
    sent = [message.get("reasoning_content") for message in answers_in(bodies(deepseek)[-1])]
    gate.use("claude")
    talk.says("[[scenario:thinking]] Three.")
    assert sent == [THOUGHT]
    assert (refusals(a), refusals(deepseek), thoughts_in(last_asked(a))) == ([], [], [])
    assert b"clew1." not in b"".join(sim.body(entry["n"]) for sim in (a, deepseek) for entry in sim.journal())


# Repairs.

MISSING = "The `reasoning_content` in the thinking mode must be passed back to the API."
FILL = "the backend missed reasoning: asked again with a placeholder in every answer"
OFF = "the backend refused thinking: asked again without it"


@pytest.mark.parametrize("stream", [True, False])
def test_a_refusal_for_reasoning_is_repaired_before_the_client_sees_it(
    gating: Gating, deepseek: Simulator, a: Simulator, stream: bool
) -> None:
    """The ladder: the least that can stand for it, then no thinking; each with its change, in the header and in the store."""
    gate = gating(claude(a), chat(deepseek, "deepseek"))
    talk = Talk(gate, stream=stream)
    talk.says(LOOP)
    gate.use("deepseek")
    deepseek.fault(f"status 400 message='{MISSING}'", times=2)
    answer = talk.says("[[scenario:thinking]] And now?")
    exchange = exchange_of(gate, answer)
    assert [thinks(body) for body in bodies(deepseek)[-3:]] == [True, True, False]
    assert [change for change in exchange.changes if change.step == "heal"] == [
        Change("heal", "messages", "healed", FILL),
        Change("heal", "messages", "healed", OFF),
    ]
    assert (exchange.heals, exchange.outcome, tries(gate, answer)) == (2, "whole", [("deepseek", 200)])
    assert answer.headers["x-clew-thinking"].endswith("healed=2")
    assert thinks(bodies(deepseek)[-1]) is False
    talk.says("[[scenario:thinking]] And then?")
    assert thinks(bodies(deepseek)[-1]) is True


def test_a_vendor_without_a_preset_is_repaired_to_what_it_wants(gating: Gating, kimi: Simulator, a: Simulator) -> None:
    """Nobody told the gateway that this one wants reasoning with every call: it learns so from the refusal."""
    gate = gating(claude(a), chat_row("unknown", kimi.url, 'model = "kimi-k3"'))
    talk = Talk(gate)
    talk.says(LOOP)
    gate.use("unknown")
    answer = talk.says("[[scenario:thinking]] And you?")
    assert [message.partition(" at ")[0] for message in refusals(kimi)] == [
        "thinking is enabled but reasoning_content is missing in assistant tool call message"
    ]
    assert {whose for _, whose, _, _ in pieces(kimi)} == {"placeholder"}
    assert answer.headers["x-clew-thinking"].endswith("healed=1")


def test_a_vendor_without_a_preset_that_refuses_its_reasoning_does_not_get_it_back(
    gating: Gating, simulators: StartSimulator
) -> None:
    """Dialects 3, step 5: the next weaker form of reasoning that is refused is none. R1 is served by many."""
    r1 = simulators(kind="deepseek-r1", realm="r1")
    gate = gating(chat_row("unknown", r1.url, 'model = "deepseek-reasoner"'))
    talk = Talk(gate, tools=[])
    for words in ("One.", "Two.", "Three."):
        talk.says(f"[[scenario:thinking]] {words}")
    assert [message.partition(" in ")[0] for message in refusals(r1)] == ["The `reasoning_content` field is not allowed"]
    assert ["reasoning_content" in message for message in answers_in(bodies(r1)[-1])] == [False, False]


def test_a_gemini_without_a_preset_goes_on_with_a_call_that_another_made(
    gating: Gating, simulators: StartSimulator, a: Simulator
) -> None:
    """Dialects 3: anyone who serves it, a call that it did not sign gets the vendor's word for that, once it was refused."""
    gemini = simulators(kind="gemini-chat", realm="gemini")
    gate = gating(claude(a), chat_row("unknown", gemini.url, 'model = "gemini-3-pro"'))
    talk = Talk(gate)
    talk.asks(LOOP)
    talk.runs()
    gate.use("unknown")
    answer = talk.step()
    assert [message.partition(" in ")[0] for message in refusals(gemini)] == ["Function call is missing a thought_signature"]
    assert [change.why for change in exchange_of(gate, answer).changes if change.step == "heal"] == [
        "the backend refused a call without a signature: asked again with the vendor's placeholder"
    ]
    talk.runs()
    talk.step()
    assert len(refusals(gemini)) == 1


def test_a_vendor_that_wants_its_roles_in_order_takes_a_reminder_behind_a_result(
    gating: Gating, simulators: StartSimulator
) -> None:
    """Anyone who serves Mistral's models checks the order of roles as it does; Claude Code's reminders stand behind results."""
    mistral = simulators(kind="mistral", realm="mistral")
    gate = gating(chat(mistral, "mistral", "[backends.mistral.wire]", "apart = []"))
    talk = Talk(gate)
    talk.asks(LOOP)
    talk.runs()
    talk.messages[-1]["content"].append(text("Mind the tests."))
    answer = talk.step()
    assert refusals(mistral) == ["Unexpected role 'user' after role 'tool'"]
    assert [change.what for change in exchange_of(gate, answer).changes if change.step == "heal"] == ["replaced"]
    talk.runs()
    talk.step()
    assert len(refusals(mistral)) == 1


def test_a_repair_of_a_vendor_lasts_and_only_for_what_follows_it(gating: Gating, kimi: Simulator, a: Simulator) -> None:
    """Design 4, heal: remembered by the strand of the answer that followed, so a conversation pays once; a fork, too."""
    gate = gating(claude(a), chat_row("unknown", kimi.url, 'model = "kimi-k3"'))
    talk = Talk(gate)
    talk.says(LOOP)
    fork = talk.fork()
    gate.use("unknown")
    talk.says("[[scenario:thinking]] And you?")
    answer = talk.says("[[scenario:thinking]] And then?")
    told = [change for change in exchange_of(gate, answer).changes if change.step == "heal"]
    assert told == [Change("heal", "messages", "replaced", f"as for its last answer here, after it {FILL}")]
    talk.says("[[scenario:thinking]] And after that?")
    assert len(refusals(kimi)) == 1
    fork.says("[[scenario:thinking]] And you, on a fork from before?")
    fork.says("[[scenario:thinking]] And then?")
    talk.says("[[scenario:thinking]] And in the end?")
    assert len(refusals(kimi)) == 2


def test_a_repair_that_changed_nothing_is_not_remembered(gating: Gating, deepseek: Simulator) -> None:
    """There was no answer yet that could have lacked reasoning, so no thinking was what helped."""
    gate = gating(chat(deepseek, "deepseek"))
    talk = Talk(gate)
    deepseek.fault(f"status 400 message='{MISSING}'")
    told = [exchange_of(gate, talk.says(f"[[scenario:thinking]] {words}")).changes for words in ("One.", "Two.")]
    assert [[change.why for change in changes if change.step == "heal"] for changes in told] == [[OFF], []]


def test_no_thinking_lasts_until_the_loop_is_over(gating: Gating, deepseek: Simulator) -> None:
    """As towards Claude: the same for each request of a loop, and no longer."""
    gate = gating(chat(deepseek, "deepseek"))
    talk = Talk(gate)
    deepseek.fault(f"status 400 message='{MISSING}'")
    talk.says(LOOP)
    assert [thinks(body) for body in bodies(deepseek)] == [True, False, False, False, False]
    talk.says("[[scenario:thinking]] And then?")
    assert thinks(bodies(deepseek)[-1]) is True


UNREAD = "Invalid `signature` in `thinking` block"


def test_entries_that_their_maker_could_not_read_stay_out_and_later_ones_go_whole(
    gating: Gating, simulators: StartSimulator
) -> None:
    """The strand says of each thought how it went."""
    router = simulators(kind="openrouter", realm="openrouter")
    gate = gating(chat(router, "openrouter", 'model = "anthropic/claude-sonnet-5"'))
    talk = Talk(gate, tools=[])
    talk.says("[[scenario:thinking]] One.")
    router.fault(f"status 400 message='{UNREAD}'")
    talk.says("[[scenario:thinking]] Two.")
    healed = bodies(router)[-1]
    answer = talk.says("[[scenario:thinking]] Three.")
    talk.says("[[scenario:thinking]] Four.")
    sent = bodies(router)[-1]
    whole = ["reasoning_details" in message for message in answers_in(sent)]
    assert ("reasoning_details" in answers_in(healed)[0], whole) == (False, [False, True, True])
    assert answers_in(sent)[0] == answers_in(healed)[0]
    assert [change.why for change in exchange_of(gate, answer).changes if change.what == "replaced"] == [
        "its maker could not read it in an earlier request: only its text is sent"
    ]
    assert len(bodies(router)) == 5


def test_a_repair_is_in_the_log(gating: Gating, deepseek: Simulator) -> None:
    """With its reason, so that anyone who looks knows what was sent."""
    gate = gating(chat(deepseek, "deepseek"))
    talk = Talk(gate, tools=[])
    talk.says("[[scenario:thinking]] One.")
    deepseek.fault(f"status 400 message='{MISSING}'")
    answer = talk.says("[[scenario:thinking]] Two.")
    lines = [line.text.strip() for line in exchange_lines(exchange_of(gate, answer))]
    assert ("thinking: 1 kept, 1 healed" in lines, f"healed messages: {OFF}" in lines) == (True, True), lines


def test_a_repair_that_would_change_nothing_is_not_tried(gating: Gating, deepseek: Simulator) -> None:
    """All reasoning is there, so there is nothing to fill: the next rung, and no request for nothing."""
    gate = gating(chat(deepseek, "deepseek"))
    talk = Talk(gate)
    talk.says(LOOP)
    deepseek.fault(f"status 400 message='{MISSING}'")
    answer = talk.says("[[scenario:thinking]] And now?")
    assert [change.why for change in exchange_of(gate, answer).changes if change.step == "heal"] == [OFF]
    assert [thinks(body) for body in bodies(deepseek)[-2:]] == [True, False]


def test_a_server_that_takes_no_number_of_tokens_to_think_with_is_asked_for_a_level(
    gating: Gating, simulators: StartSimulator
) -> None:
    """vLLM refuses the number where it was started without a reasoning parser, as many are."""
    vllm = simulators(kind="vllm", realm="vllm")
    gate = gating(chat(vllm, "vllm", 'model = "q"'))
    vllm.fault("status 400 message='thinking_token_budget is set but reasoning_config is not configured.'")
    talk = Talk(gate, tools=[], thinking={"type": "enabled", "budget_tokens": 2048})
    talk.says("[[scenario:thinking]] Why?")
    talk.says("[[scenario:thinking]] And then?")
    asked = [(body.get("thinking_token_budget"), body.get("reasoning_effort")) for body in bodies(vllm)]
    assert asked == [(2048, None), (None, "low"), (None, "low")]


def test_an_effort_that_a_model_does_not_have_becomes_the_nearest_that_all_have(
    gating: Gating, simulators: StartSimulator
) -> None:
    """Dialects 3: deployments have any name, so no row knows which levels the model behind has."""
    azure = simulators(kind="azure", realm="azure")
    gate = gating(chat(azure, "azure", 'model = "ours"'))
    azure.fault("status 400 message=\"Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model.\"")
    talk = Talk(gate, tools=[], output_config={"effort": "xhigh"})
    talk.says("[[scenario:thinking]] Why?")
    talk.says("[[scenario:thinking]] And then?")
    assert [body.get("reasoning_effort") for body in bodies(azure)] == ["xhigh", "high", "high"]


def test_an_answer_that_is_asked_for_too_long_is_asked_for_again(gating: Gating, deepseek: Simulator) -> None:
    """Claude Code asks for more than many models can say, and would do nothing but repeat it."""
    gate = gating(chat(deepseek, "deepseek"))
    deepseek.fault("status 400 message='Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'")
    talk = Talk(gate, tools=[], max_tokens=128_000)
    answer = talk.says("[[scenario:thinking]] Why?")
    assert [body["max_tokens"] for body in bodies(deepseek)] == [128_000, 8192]
    assert answer.headers["x-clew-thinking"].endswith("healed=0")
    [change] = [change for change in exchange_of(gate, answer).changes if change.step == "heal"]
    assert (change.path, change.what) == ("max_tokens", "replaced")


def test_a_vendor_that_reads_earlier_reasoning_only_when_told_to_is_told_to(
    gating: Gating, simulators: StartSimulator
) -> None:
    """Dialects 2.8: DashScope's preserve_thinking; without it all but the current turn's reasoning is ignored there."""
    qwen = simulators(kind="qwen-chat", realm="qwen")
    talk = Talk(gating(chat(qwen, "qwen")), tools=[])
    for words in ("One.", "Two.", "Three."):
        talk.says(f"[[scenario:thinking]] {words}")
    assert pieces(qwen) == [("reasoning_content", "own", True, "kept")] * 2


@pytest.mark.parametrize("model", ["mistral-medium-latest", "magistral-medium-latest"])
def test_an_answer_that_the_client_began_is_gone_on_with(gating: Gating, simulators: StartSimulator, model: str) -> None:
    """Mistral refuses a last message of role assistant, unless that says that it is the beginning of one."""
    mistral = simulators(kind="mistral", realm="mistral")
    gate = gating(chat(mistral, "mistral", f'model = "{model}"'))
    answer = gate.ask({"model": MODEL, "max_tokens": 2000, "messages": [user("Say JSON."), assistant("{")]})
    assert (answer.status, refusals(mistral)) == (200, [])
    assert bodies(mistral)[-1]["messages"][-1] == {"role": "assistant", "content": "{", "prefix": True}
    told = [change for change in exchange_of(gate, answer).changes if change.path == "messages.1"]
    assert [change.what for change in told] == ["added"]


def test_only_the_last_message_is_the_beginning_of_an_answer(gating: Gating, simulators: StartSimulator) -> None:
    mistral = simulators(kind="mistral", realm="mistral")
    talk = Talk(gating(chat(mistral, "mistral")), tools=[])
    talk.says("One.")
    talk.says("Two.")
    assert ["prefix" in message for message in bodies(mistral)[-1]["messages"]] == [False] * 3


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("preset", ["gemini", ""])
def test_a_signature_on_an_answers_words_goes_back_in_its_place(
    gating: Gating, simulators: StartSimulator, stream: bool, preset: str
) -> None:
    """Dialects 2.11: Gemini signs an answer without calls on the message itself; in a stream, behind its last words."""
    gemini = simulators(kind="gemini-chat", realm="gemini")
    row = chat(gemini, "gemini") if preset else chat_row("unknown", gemini.url, 'model = "gemini-3-pro"')
    talk = Talk(gating(row), tools=[], stream=stream)
    for words in ("One.", "Two.", "Three."):
        talk.says(words)
    assert refusals(gemini) == []
    assert pieces(gemini) == [("extra_content", "own", True, "kept")] * 2
    assert ["extra_content" in message for message in bodies(gemini)[-1]["messages"]] == [False, True, False, True, False]


def test_a_signature_on_an_answers_words_is_its_makers_alone(
    gating: Gating, simulators: StartSimulator, a: Simulator
) -> None:
    gemini, deepseek = simulators(kind="gemini-chat", realm="gemini"), simulators(kind="deepseek-chat", realm="deepseek")
    gate = gating(chat(gemini, "gemini"), chat(deepseek, "deepseek"), claude(a))
    talk = Talk(gate, tools=[])
    talk.says("One.")
    gate.use("deepseek")
    talk.says("Two.")
    gate.use("claude")
    talk.says("Three.")
    gate.use("gemini")
    talk.says("Four.")
    assert (refusals(gemini), refusals(deepseek), refusals(a)) == ([], [], [])
    assert ["thought_signature" in str(bodies(sim)[-1]) for sim in (deepseek, a, gemini)] == [False, False, True]


def test_a_signature_on_an_answers_words_that_its_maker_cannot_read_stays_out(
    gating: Gating, simulators: StartSimulator
) -> None:
    """Its keys are new: one refusal, and the words alone go from then on."""
    old, new = (simulators(kind="gemini-chat", realm=realm) for realm in ("old", "new"))
    talk = Talk(gating(chat(old, "gemini")), tools=[])
    talk.says("One.")
    talk.gate = gating(chat(new, "gemini"))
    for words in ("Two.", "Three.", "Four."):
        talk.says(words)
    assert refusals(new) == ["Corrupted thought signature."]
    assert ["extra_content" in message for message in answers_in(bodies(new)[-1])] == [False, True, True]
