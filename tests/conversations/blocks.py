"""Content blocks, all types. A *unit* is a list of blocks that belong together, whatever a message is cut into."""

from __future__ import annotations

from typing import Any

from tests.build import Json, redacted, text, thinking, tool_result, tool_use
from tests.conversations.scene import BLANKS, SIGNATURES, Scene

Unit = list[Json]

MCP = ("mcp-client-2025-11-20", "mcp-client-2026-09-15")
COMPACT = ("compact-2026-01-12", "compact-2026-09-04")
FALLBACK = ("server-side-fallback-2026-06-01", "server-side-fallback-2026-07-01")

SERVER_TOOLS = {
    "web_search": "web_search_tool_result",
    "web_fetch": "web_fetch_tool_result",
    "code_execution": "code_execution_tool_result",
    "bash_code_execution": "bash_code_execution_tool_result",
    "text_editor_code_execution": "text_editor_code_execution_tool_result",
    "tool_search_tool_regex": "tool_search_tool_result",
}


# ── text, pictures, papers


def said(scene: Scene) -> Unit:
    unit = [text(scene.words())]
    if scene.seldom():
        unit.insert(scene.pick(0, 1), text(scene.draw(BLANKS)))
    if scene.seldom():
        unit[-1]["citations"] = scene.pick(None, [])
    return unit


def image(scene: Scene) -> Json:
    source = scene.pick(
        {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
        {"type": "url", "url": "https://pictures.example/1.png"},
        {"type": "file", "file_id": "file_1"},
    )
    return {"type": "image", "source": dict(source)}


def document(scene: Scene) -> Json:
    source = scene.pick(
        {"type": "text", "media_type": "text/plain", "data": "words"},
        {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
        {"type": "content", "content": [{"type": "text", "text": "words"}]},
        {"type": "url", "url": "https://papers.example/1.pdf"},
    )
    extra = scene.pick(
        {}, {"title": "T", "context": None}, {"citations": {"enabled": False}}, {"citations": {"enabled": True}}
    )
    return {"type": "document", "source": dict(source), **extra}


def search_result(scene: Scene) -> Json:
    return {"type": "search_result", "source": "s", "title": scene.words(), "content": [{"type": "text", "text": "found"}]}


def upload(_: Scene) -> Json:
    return {"type": "container_upload", "file_id": "file_2"}


def cited_by_user(scene: Scene) -> Json:
    return text(scene.words(), citations=[] if scene.newer else [{"type": "char_location", "cited_text": "x"}])


def asked(scene: Scene) -> Unit:
    """What a user may say beside results."""
    if scene.often():
        return said(scene)
    return [scene.pick(image, document, search_result, upload, cited_by_user)(scene)]


# ── thinking


def thought(scene: Scene) -> Json:
    if scene.seldom():
        return redacted(scene.pick("d4ta", "E" * 200))
    return thinking(scene.pick("", "hm", "Let me see."), scene.draw(SIGNATURES))


# ── the server's tools


def server_call(scene: Scene, name: str) -> Json:
    call = {"type": "server_tool_use", "id": scene.fresh("srvtoolu_"), "name": name, "input": {"q": scene.words()}}
    return call | scene.pick({}, {"caller": {"type": "direct"}})


def served(scene: Scene) -> Unit:
    """A server tool's call and its result."""
    name, result = scene.pick(*SERVER_TOOLS.items())
    call = server_call(scene, name)
    content: Any = scene.pick([], {"type": "error"}) if name == "web_search" else {"type": "result"}
    return [call, {"type": result, "tool_use_id": call["id"], "content": content}]


def connected(scene: Scene) -> Unit:
    """An MCP call and its result."""
    scene.with_beta(*MCP)
    call = {"type": "mcp_tool_use", "id": scene.fresh("mcptoolu_"), "name": "f", "server_name": "s", "input": {}}
    return [call, {"type": "mcp_tool_result", "tool_use_id": call["id"], "content": scene.pick("r", [], [text("r")])}]


def advised(scene: Scene) -> Unit:
    scene.betas.add("advisor-tool-2026-03-01")
    call = server_call(scene, "advisor")
    return [call, {"type": "advisor_tool_result", "tool_use_id": call["id"], "content": {"type": "advisor_result"}}]


# ── what else an assistant may hold


def compacted(scene: Scene) -> Unit:
    scene.with_beta(*COMPACT)
    return [{"type": "compaction", "content": scene.pick(None, "so far")}]


def fallen_back(scene: Scene) -> Unit:
    scene.with_beta(*FALLBACK)
    return [{"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}, "trigger": None}]


def listing(scene: Scene) -> Unit:
    scene.betas.add("mcp-client-2026-09-15")
    return [{"type": "mcp_tool_listing", "mcp_server_name": "s", "tools": []}]


def shown(scene: Scene) -> Unit:
    return [document(scene)] if not scene.newer else [upload(scene)]


def replied(scene: Scene) -> Unit:
    """What an assistant may say beside thinking and its calls."""
    if scene.often():
        return said(scene)
    return scene.pick(served, connected, advised, compacted, fallen_back, listing, shown)(scene)


# ── the client's tools


def call(scene: Scene) -> Json:
    use = tool_use(scene.fresh("toolu_"), scene.pick("look", "find"), at=scene.words())
    return use | scene.pick({}, {"caller": {"type": "direct"}}, {"caller": None})


def result(scene: Scene, id: str) -> Json:
    content: Any = scene.pick("done", "", " ", [], [text("")], [text("a"), text(" ")], None)
    if scene.seldom():
        reference = {"type": "tool_reference", "tool_name": "look"}
        content = [scene.pick(image, document, search_result)(scene), *scene.pick([], [reference])]
    answer = tool_result(id, content) if content is not None else {"type": "tool_result", "tool_use_id": id}
    return answer | scene.pick({}, {"is_error": True}, {"is_error": False})
