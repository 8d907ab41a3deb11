"""Makes the pictures of the web UI: `python docs/screenshots.py [DIRECTORY]`.

A gateway with three simulated backends, a conversation that is switched between them, two weeks of usage; then every page
in both themes and at two widths, in the same Chromium as the tests (`make clients` brings it). All go to the directory, the
ones that the docs show to docs/images.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # the tests' browser and store builders are not installed

import msgspec  # noqa: E402  (found by the line above, as are the next)
from playwright.sync_api import Page, sync_playwright  # noqa: E402
from tests.browser.chromium import chromium, environment  # noqa: E402
from tests.browser.demo import Demo  # noqa: E402
from tests.browser.talk import MODEL, Talk  # noqa: E402
from tests.build import text, thinking  # noqa: E402
from tests.store.turns import recorded  # noqa: E402

from clew.model.json import JsonObject  # noqa: E402
from clew.model.origin import Origin  # noqa: E402
from clew.model.turn import Exchange, TokenUsage, Try, TurnRecord  # noqa: E402
from clew.simulator import turns, vendor_server  # noqa: E402
from clew.simulator.script import Scenario, parse  # noqa: E402
from clew.simulator.turns import texts_of_users  # noqa: E402
from clew.store.sqlite.store import SqliteStore  # noqa: E402
from clew.testing.simulator import Simulator  # noqa: E402

WIDTHS = {"wide": {"width": 1200, "height": 780}, "phone": {"width": 390, "height": 780}}
SHOWN = {
    "now-wide-light": "now",
    "as-sent-wide-light": "as-sent",
    "chat-wide-dark": "chat",
    "usage-wide-dark": "usage",
    "threads-wide-light": "threads",
    "keys-wide-light": "keys",
    "add-a-backend-wide-light": "add-a-backend",
    "compared-wide-light": "compare",
    "start-wide-light": "start",
}
"""Those that the docs show, and their names there."""
LIMITS = (
    ("principal:local", "500requests/30d"),
    ("principal:local", "20000000tokens/30d"),
    ("key:anna", "5usd/1d"),
    ("team:research", "200usd/30d"),
    ("key:ci", "4parallel"),
)

SCENES = {
    "Why does a Fresnel lens have rings?": """
turn:
  think: A plain lens of that aperture would be a block of glass a metre thick. The bending happens at the surfaces alone, so
    | what lies between them can be left out: that is what the rings are.
  text: A lens bends light **at its surfaces** and nowhere else, so Fresnel left the glass between them out:
    |
    | 1. cut the curved face into rings,
    | 2. push each ring down to the same plane,
    | 3. keep its slope.
""",
    "How heavy would a plain one of that size be?": """
turn:
  think: The volume of a spherical cap, times the density of crown glass. Radius of curvature about 1.3 m, height 0.9 m.
  text: About **six tonnes**, and most of the light would stay in it:
    |
    | | | plain lens | Fresnel lens |
    | |---|--:|--:|
    | | weight | 6.4 t | 0.3 t |
    | | light that gets through | 62 % | 91 % |
    |
    | ```python
    | mass = pi * height**2 * (radius - height / 3) * 2500  # crown glass
    | ```
""",
    "Shall I light it tonight?": """
turn:
  think: The keeper asks about tonight. There is a tool for the weather, and the light depends on it.
  text: I look at the weather first.
  call: weather {"town": "Skagen"}

turn:
  think: Fog from ten on. The horn should be on, and the light too.
  text: Yes. Fog from ten on: light **and** horn; before that, the light alone will do.
""",
    "": """
turn:
  think: That is quickly said.
  text: Done. Here is what I changed, and why.
""",
}
"""What is said to each question; to any other, the last."""

QUESTIONS = (
    "Plan the trip to Skagen in May",
    "Why does the retry loop swallow the last error?",
    "Rename Settings.load to Settings.read everywhere",
    "Write the release notes for 0.4",
    "A haiku about thread and labyrinths",
    "Which tests are slow, and why?",
)


@contextmanager
def gateway() -> Iterator[Demo]:
    """Three vendors that say the same, each in its own dialect and with its own signatures."""
    scenes = {question: parse(script, f"scene {number}") for number, (question, script) in enumerate(SCENES.items())}
    vars(vendor_server)["ScenarioPicker"] = partial(_Theatre, scenes)
    kinds: dict[str, Any] = {"claude": "anthropic", "glm": "compat", "deepseek": "deepseek-chat"}
    with ExitStack() as stack:
        rows = [_row(name, stack.enter_context(Simulator(kind=kind)).url) for name, kind in kinds.items()]
        yield stack.enter_context(Demo("\n".join(['active = "claude"', '[store]\nbodies = "last:50"', *rows])))


class _Theatre(turns.ScenarioPicker):
    """Plays by the question, so that no question has to name its scenario."""

    def __init__(self, scenes: Mapping[str, Scenario], standing: str = turns.DEFAULT) -> None:
        super().__init__(standing)
        self._scenes = scenes

    def scenario_for(self, request: JsonObject) -> Scenario | None:
        return self._scenes.get(next(texts_of_users(request), ""), self._scenes[""])


def _row(name: str, url: str) -> str:
    more = {
        "claude": 'realm = "anthropic"\nauth = "key"',
        "glm": 'model = "glm-5"\nauth = "key"',
        "deepseek": 'preset = "deepseek"\ndialect = "openai-chat"',
    }
    return f'[backends.{name}]\n{more[name]}\nurl = "{url}"\nkey = "sim-demo-1"'


def talked(demo: Demo) -> str:
    """The conversation, switched twice, with a branch and an agent; and some others. The first one's thread."""
    for question in QUESTIONS:
        with Talk(demo) as talk:
            talk.say(question)
    with Talk(demo, session="lighthouse", tools=True) as talk:
        talk.say("Why does a Fresnel lens have rings?")
        _use(demo, "deepseek")
        talk.say("How heavy would a plain one of that size be?")
        _use(demo, "claude")
        talk.say("And tomorrow?")
        del talk.messages[-2:]
        talk.bring(talk.say("Shall I light it tonight?"), "Fog from 22:00, wind west 3.")
        thread = demo.api("/api/threads?limit=1")["threads"][0]["id"]
    with Talk(demo, session="lighthouse", agent="scout") as scout:
        scout.say("Find out who built the lens of Skagen")
    return thread


def _use(demo: Demo, backend: str) -> None:
    demo.api("/api/use", method="POST", body={"backend": backend})


def lived(demo: Demo) -> None:
    """Two weeks of usage."""
    dice = random.Random(7)  # noqa: S311  (pictures, no secrets)
    makers = {"claude": MODEL, "glm": "glm-5", "deepseek": "deepseek-v4-pro"}
    now = time.time()
    with SqliteStore(demo.home / "clew.db") as store:
        times = sorted(now - dice.random() ** 1.3 * 13.5 * 86_400 - 3600 for _ in range(420))
        for number, at in enumerate(times):  # in the order in which they happened, as a gateway records them
            backend = dice.choices(list(makers), (6, 2, 3))[0]
            store.record(_lived(f"past-{number}", backend, makers[backend], at, dice)).result(5)


def _lived(id: str, backend: str, model: str, at: float, dice: random.Random) -> TurnRecord:
    prompt, share = dice.randint(2_000, 60_000), dice.uniform(0.4, 0.95)
    usage = TokenUsage(input=int(prompt * (1 - share)), output=dice.randint(200, 4000), cache_read=int(prompt * share))
    first, thread = dice.lognormvariate(0, 0.4), f"past-{id[-2:]}"
    exchange = Exchange(
        id=id,
        principal="local",
        thread=thread,
        started=at,
        ended=at + first + dice.lognormvariate(1.5, 0.5),
        asked_model=MODEL,
        backend=backend,
        model=model,
        first_byte=first,
        usage=usage,
        stop_reason="end_turn",
        streamed=True,
        kept=dice.randint(0, 6),
        tries=(Try(backend=backend, status=200, seconds=first),),
    )
    if dice.random() > 0.7:
        return TurnRecord(exchange=exchange, title=dice.choice(QUESTIONS))
    said = [thinking("That is quickly said.", f"signature of r-{id}"), text("Done. Here is what I changed, and why.")]
    blocks = tuple(map(msgspec.json.encode, said))
    answer = recorded(f"r-{id}", thread=thread, origin=Origin(backend, backend, model), blocks=blocks)
    return TurnRecord(exchange=exchange, recording=answer, title=dice.choice(QUESTIONS))


def shared(demo: Demo, thread: str) -> None:
    """Keys of colleagues, and a pinned thread."""
    keys = [
        {"name": "anna", "team": "research", "models": "claude-haiku-*, claude-sonnet-5-5", "expires": "90d"},
        {"name": "ci", "principal": "local", "backends": "glm", "scopes": "inference,read"},
    ]
    for key in keys:
        demo.api("/api/keys", method="POST", body=key)
    demo.api("/api/keys/anna/rotate", method="POST", body={"overlap": "24h"})
    demo.api("/api/use", method="POST", body={"backend": "claude", "thread": thread})


def pages(demo: Demo, thread: str) -> dict[str, str]:
    exchange = demo.api(f"/api/exchanges?thread={thread}&limit=10")["exchanges"][-2]["id"]
    return {
        "now": "/",
        "threads": "/threads",
        "search": "/threads?q=lens",
        "thread": f"/threads/{thread}",
        "as-sent": f"/threads/{thread}?as=claude",
        "chat": f"/chat/{thread}",
        "new-chat": "/chat",
        "exchange": f"/exchanges/{exchange}",
        "usage": "/usage",
        "backends": "/backends",
        "add-a-backend": "/backends",
        "keys": "/keys",
        "audit": "/audit",
        "compare": "/compare",
        "compared": "/compare",
        "start": "/start",
        "doctor": "/doctor",
    }


def ready(page: Page, name: str) -> None:
    """What a reader would have opened, or scrolled to."""
    page.wait_for_timeout(400)
    if name == "thread":
        page.evaluate("document.querySelectorAll('.turn details').forEach((each, index) => (each.open = index < 2))")
    if name == "as-sent":
        page.evaluate("document.querySelector('.part.left-out').scrollIntoView({ block: 'center' })")
    if name == "chat":
        page.evaluate("document.querySelectorAll('.turn')[1].scrollIntoView()")
        page.evaluate("scrollBy(0, -55)")
    if name == "add-a-backend":
        page.get_by_role("button", name="Add a backend").click()
        page.get_by_label("Vendor").select_option("zai")
        page.get_by_label("Key", exact=True).select_option("secret")
        page.get_by_label("New key").fill("sk-for-the-picture")
        page.get_by_role("button", name="Show the change").click()
        page.get_by_role("button", name="Write it").wait_for()
    if name == "compared":
        page.get_by_label("Message").fill("How heavy would a plain one of that size be?")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Copy answer").nth(1).wait_for()


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (HERE / "images").mkdir(exist_ok=True)
    executable = chromium()
    with gateway() as demo, sync_playwright() as playwright:
        lived(demo)
        for scope, amount in LIMITS:
            demo.api("/api/limits", method="PUT", body={"scope": scope, "amount": amount})
        thread = talked(demo)
        shared(demo, thread)
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"], env=environment(executable))
        for width, viewport in WIDTHS.items():
            for theme in ("light", "dark"):
                context = browser.new_context(
                    viewport=viewport, color_scheme=theme, reduced_motion="reduce", base_url=demo.admin
                )
                page = context.new_page()
                page.goto(demo.login_url())
                for name, address in pages(demo, thread).items():
                    page.goto(address)
                    ready(page, name)
                    _take(page, directory, f"{name}-{width}-{theme}")
                context.close()
        browser.close()


def _take(page: Page, directory: Path, name: str) -> None:
    raw = page.screenshot(path=directory / f"{name}.png")
    if name in SHOWN:
        (HERE / "images" / f"{SHOWN[name]}.png").write_bytes(raw)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="clew-pictures-")))
