"""What a chat has beside the words: files, buttons that copy, colours of code, a system prompt, and a list of chats."""

import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from clew.testing.simulator import Simulator
from tests.browser.corpus import RUN
from tests.browser.demo import Demo
from tests.browser.staged import lines
from tests.browser.visit import Visit

pytestmark = pytest.mark.slow

CODE = "def total(items):\n    # Add them: </script>\n    return sum(items) + 1\n"
SAID = f"Here it is:\n\n```python\n{CODE}```\n\nDone."
HOSTILE = f'"><img src=x onerror={RUN}>'


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00\x00\xff\x00" * 2))
    + _chunk(b"IEND", b"")
)
PICTURE = {"name": f"{HOSTILE}.png", "mimeType": "image/png", "buffer": PNG}
PASTE = """(bytes) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], "shot.png", { type: "image/png" }));
  document.querySelector("[name=words]").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""
DROP = """() => {
  const data = new DataTransfer();
  data.items.add(new File(["a,b\\n1,2\\n"], "table.csv", { type: "text/csv" }));
  document.querySelector("[data-chat]").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def last_request(simulator: Simulator) -> dict[str, Any]:
    return json.loads(simulator.body(simulator.journal()[-1]["n"]))


@pytest.fixture(scope="module")
def claude(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    script = tmp_path_factory.mktemp("chat") / "code.scenario"
    script.write_text(f"turn:\n  text: {lines(SAID)}\n")
    with Simulator(scenario=str(script)) as simulator:
        yield simulator


@pytest.fixture(scope="module")
def demo(claude: Simulator) -> Iterator[Demo]:
    """Claude, and a backend that takes no pictures."""
    tables = {"claude": claude.backend, "blind": {"dialect": "openai-chat", "url": "http://127.0.0.1:1/v1", "key": "k"}}
    rows = (
        f"\n[backends.{name}]\n" + "".join(f'{key} = "{value}"\n' for key, value in table.items())
        for name, table in tables.items()
    )
    with Demo('active = "claude"\n' + "".join(rows) + 'wire = { images = "omit" }\n') as demo:
        yield demo


@pytest.fixture
def page(visit: Visit) -> Page:
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    return visit.open("/chat")


def over(page: Page, turns: int = 1) -> None:
    expect(page.locator(".turn-buttons")).to_have_count(turns)


def copied(page: Page, button: str) -> str:
    page.evaluate("document.getElementById('notices').replaceChildren()")
    page.get_by_role("button", name=button, exact=True).first.click()
    expect(page.locator(".notice").last).to_contain_text("Copied")
    return page.evaluate("navigator.clipboard.readText()")


def test_files_are_attached_pasted_and_dropped_and_can_be_asked_about_again(page: Page, claude: Simulator) -> None:
    """The page does not hold the files any more once it was loaded again: the store does."""
    names = page.locator(".file span:not(.muted)")
    page.get_by_label("Attach files").set_input_files([PICTURE, {"name": "a.bin", "mimeType": "", "buffer": b"\xff\x00"}])
    expect(page.locator("[data-files-note]")).to_contain_text("a.bin cannot be sent. Models take PNG")
    page.evaluate(PASTE, list(PNG))
    page.evaluate(DROP)
    expect(names).to_have_text([f"{HOSTILE}.png", "shot.png", "table.csv"])
    page.get_by_label("Backend").select_option("blind")
    expect(page.locator("[data-files-note]")).to_contain_text(
        "blind does not take pictures: the model is told that one was left out."
    )
    page.get_by_label("Backend").select_option("")
    expect(page.locator("[data-files-note]")).to_be_hidden()
    page.get_by_role("button", name="Remove shot.png").click()
    page.get_by_label("Message").fill("What is this?")
    page.keyboard.press("Enter")
    over(page)
    expect(names).to_have_count(0)
    picture = page.locator(".user img")
    assert picture.evaluate("(image) => image.naturalWidth") == 2
    content = last_request(claude)["messages"][0]["content"]
    assert [block["type"] for block in content] == ["image", "document", "text"]
    assert content[1]["title"] == "table.csv" and content[1]["source"]["data"] == "a,b\n1,2\n"
    page.reload()
    assert picture.evaluate("(image) => image.naturalWidth") == 2
    page.get_by_text("document, table.csv, text/plain").click()
    expect(page.locator(".user pre")).to_contain_text("1,2")
    page.get_by_role("button", name="Retry").click()
    over(page)
    expect(picture).to_be_visible()
    assert last_request(claude)["messages"][0]["content"] == content
    assert page.evaluate("window.hacked") is None


def test_code_has_colours_and_is_copied_as_it_was_written_and_so_is_an_answer(page: Page) -> None:
    page.get_by_label("Message").fill("Code?")
    page.keyboard.press("Enter")
    over(page)
    for _ in range(2):
        code = page.locator(".code code")
        expect(code).to_have_text(CODE)
        expect(code.locator(".code-word")).to_have_text(["def", "return"])
        expect(code.locator(".code-comment")).to_have_text("# Add them: </script>")
        assert copied(page, "Copy") == CODE
        assert copied(page, "Copy answer") == SAID
        page.reload()


def test_a_chat_keeps_its_system_prompt_and_is_renamed_and_deleted_in_the_list(page: Page, claude: Simulator) -> None:
    page.get_by_text("System prompt").click()
    page.get_by_label("System prompt").fill("Answer in one word.")
    page.get_by_label("Message").fill("A chat to delete")
    page.keyboard.press("Enter")
    over(page)
    here = page.locator("aside [aria-current]")
    expect(here).to_have_text("A chat to delete")
    page.reload()
    page.get_by_label("Message").fill("More")
    page.keyboard.press("Enter")
    over(page, 2)
    assert "Answer in one word." in str(last_request(claude)["system"])
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Title").fill(HOSTILE)
    page.keyboard.press("Enter")
    expect(here).to_have_text(HOSTILE)
    expect(page.locator("h1")).to_have_text(HOSTILE)
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.locator("h1")).to_have_text("Chat")
    expect(page.locator("aside").get_by_text(HOSTILE)).to_have_count(0)
    assert page.evaluate("window.hacked") is None


def test_two_backends_answer_the_same_question_side_by_side(visit: Visit, claude: Simulator) -> None:
    """One that fails does not keep the other from answering; each side goes on as a chat."""
    page = visit.open("/compare")
    expect(page.locator("[data-name]")).to_have_text(["claude", "blind"])
    page.get_by_label("Attach files").set_input_files([PICTURE])
    expect(page.locator("[data-files-note]")).to_contain_text("blind does not take pictures")
    for words in ("Both of you?", "Again?"):
        page.get_by_label("Message").fill(words)
        page.keyboard.press("Enter")
        expect(page.locator("[data-state]")).to_have_text("")
    left, right = (page.locator(f'[data-side="{name}"]') for name in ("left", "right"))
    expect(left.locator(".code code")).to_have_count(2)
    expect(right.get_by_role("alert")).to_have_count(2)
    assert len(last_request(claude)["messages"]) == 3
    left.get_by_role("link", name="Continue in chat").click()
    expect(page.locator(".user .plain")).to_have_text(["Both of you?", "Again?"])
