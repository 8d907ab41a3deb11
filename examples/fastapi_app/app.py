"""A chat of your own: FastAPI in front, an agent of clew behind it, and any front end with the AI SDK's `useChat`.

The agent looks by itself and asks before it writes: the front end shows a request for approval, and what the user decides
comes with the next request. Conversations are in clew's store; the thread travels in the metadata of the answers. Anyone who
knows a thread's id can go on with it: an app with users of its own also keeps whose each thread is, and looks.

    pip install clew fastapi uvicorn
    uvicorn app:app --port 8000
"""

from __future__ import annotations

import os
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import StreamingResponse

from clew import AsyncAgent, ClewError, tool, ui_asked, ui_frames, ui_headers, ui_stream

NOTES: dict[str, str] = {"shopping": "milk, bread"}


def read_note(name: str) -> str:
    """Reads a note.

    Args:
        name: Which one.
    """
    return NOTES.get(name, "There is no such note.")


@tool(approval=True)
def write_note(name: str, text: str) -> str:
    """Writes a note, in place of what was there.

    Args:
        name: Which one.
        text: All that it shall say.
    """
    NOTES[name] = text
    return "Written."


agent = AsyncAgent(
    model=os.environ.get("CHAT_MODEL", "claude-opus-5-5"),
    system="You keep the user's notes.",
    tools=[read_note, write_note],
    thinking={"type": "adaptive", "display": "summarized"},
)
app = FastAPI()


@app.post("/api/chat")
async def chat(request: Request) -> StreamingResponse:
    """What `useChat` posts, answered with a UI message stream."""
    try:
        asked = ui_asked(await request.json())
    except (ClewError, ValueError) as error:
        raise HTTPException(400, str(error)) from None
    run: Any = (
        agent.resume(asked.decisions, thread=asked.thread)
        if asked.decisions
        else agent.stream(asked.content, thread=asked.thread)
    )
    frames = ui_frames(ui_stream(run, message=asked.message))
    return StreamingResponse(frames, headers=ui_headers(), media_type="text/event-stream")
