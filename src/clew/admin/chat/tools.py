"""The tools of Chat in the browser: where they come from, and an answer that may call them.

`ToolAnswer` is sent to a run, step by step. It is a run of an agent. A call that wants an approval ends it: the front end
asks the user, and begins another run with the decisions. So nothing waits in this process for a person, and a page that is
loaded again asks again.

The tools are functions of a Python file that the settings name:

    from clew import tool

    @tool(approval=True)
    def read(path: str) -> str:
        \"\"\"Reads a file.\"\"\"

The file is run in the gateway, with the gateway's rights, so only the settings file can name it. It is run again when it
changes.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from clew.admin.chat.answering import STOPPED, ChatContext
from clew.admin.chat.runs import ChatRun
from clew.admin.services import AdminServices
from clew.chat.agent.events import AgentEvent, CallDenied, CallSuspended, RunEnded, ToolFinished
from clew.chat.agent.run import AsyncRun
from clew.chat.agent.tools import Tool, is_marked, tool_of
from clew.chat.ui.messages import StepParts
from clew.chat.ui.parts import Part, error_text, finish_reason, output_part
from clew.chat.ui.positions import groups_of
from clew.errors import SettingsInvalid
from clew.model.events import Event
from clew.model.json import JsonObject

_log = logging.getLogger("clew.admin")


class ToolAnswer:
    """`begin` starts the agent; from then on, everything is sent to the run."""

    def __init__(
        self, run: ChatRun, context: ChatContext, agent: AsyncRun[str], after: str, done: Callable[[], None]
    ) -> None:
        """`after` is the turn whose calls were decided, "" for a question; `done` is called at the end."""
        self._run = run
        self._context = context
        self._agent = agent
        self._after = after
        self._done = done
        self._is_stopped = False
        self._turn = ""
        """The turn whose answer is sent."""
        self._step = StepParts("")
        self._denied: set[str] = set()

    async def begin(self) -> Part:
        """Start, and go on in a task. Returns the part that the stream begins with; it names no turn yet."""
        service = self._context.service
        service.overheard, service.answers = self._send_event, self._send_backend
        after: JsonObject = {"after": self._after} if self._after else {}
        task = asyncio.get_running_loop().create_task(self._send_answer(), name="clew chat with tools")

        async def stop() -> None:
            self._is_stopped = True
            await self._agent.stop()
            await asyncio.wait((task,))

        start: Part = {"type": "start", "messageMetadata": {"thread": service.thread.id, **after}}
        self._run.begin((start,), stop)
        return start

    def _send_backend(self, turn: str, backend: str, model: str) -> None:
        self._begin_step(turn)
        self._send_metadata({"backend": backend, "model": model})

    def _send_event(self, turn: str, event: Event) -> None:
        self._begin_step(turn)
        for part in self._step.feed(event):
            self._run.send(part)

    def _begin_step(self, turn: str) -> None:
        if turn == self._turn:
            return
        if self._turn:
            self._run.send({"type": "finish-step"})
        self._turn, self._step = turn, StepParts(turn)
        self._run.send({"type": "start-step"})
        self._send_metadata({"turn": turn})

    async def _send_answer(self) -> None:
        try:
            async for event in self._agent:
                for part in self._parts_of(event):
                    self._run.send(part)
            if self._is_stopped:
                self._run.send({"type": "abort", "reason": STOPPED})
                self._run.send(self._finish_part("interrupted"))
        except Exception as error:
            _log.info("a chat answer with tools failed: %s", error)
            self._run.send({"type": "error", "errorText": self._context.hide(error_text(error))})
        finally:
            self._run.end()
            self._done()

    def _parts_of(self, event: AgentEvent) -> Iterator[Part]:
        match event:
            case CallSuspended(call):
                yield {"type": "tool-approval-request", "approvalId": call.id, "toolCallId": call.id}
            case CallDenied(call):
                self._denied.add(call.id)
                yield {"type": "tool-output-denied", "toolCallId": call.id}
            case ToolFinished(call, output, is_error) if call.id not in self._denied:
                yield output_part(call.id, output, is_error=is_error)
            case RunEnded(result):
                if result.limit:
                    said = f"The tools were stopped: {result.limit}. Ask again to let them continue."
                    yield {"type": "error", "errorText": said}
                if self._turn:
                    yield {"type": "finish-step"}
                is_suspended = result.ending == "suspended"
                yield self._finish_part("tool-calls" if is_suspended else finish_reason(self._step.stop_reason))
            case _:
                pass

    def _finish_part(self, reason: str) -> Part:
        tree = self._context.service.tree
        line = groups_of(tree.line(self._turn)) if self._turn in tree else []
        metadata: JsonObject = self._context.account(line[-1].turns) if line else {}
        return {"type": "finish", "finishReason": reason, "messageMetadata": metadata}

    def _send_metadata(self, metadata: JsonObject) -> None:
        self._run.send({"type": "message-metadata", "messageMetadata": metadata})


def chat_tools(services: AdminServices) -> tuple[Tool, ...]:
    """Those of the settings; none if they name no file. It may take as long as the file does: call it in a thread.

    Raises SettingsInvalid if the file cannot be run, or has no tools.
    """
    named = services.current.snapshot.settings.chat.tools
    if not named:
        return ()
    settings = services.current.file
    path = (settings.parent if settings else services.home.root) / Path(named).expanduser()
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise SettingsInvalid(f"{path}: {error.strerror or error}", key="chat.tools") from None
    return _load(path, changed)


@lru_cache(maxsize=4)
def _load(path: Path, changed: int) -> tuple[Tool, ...]:
    """`changed` is when the file was: another time is another file."""
    spec = importlib.util.spec_from_file_location(f"clew_chat_tools_{changed}", path)
    if spec is None or spec.loader is None:
        raise SettingsInvalid(f"{path} is not a Python file: the name must end with .py", key="chat.tools")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise SettingsInvalid(f"{path} cannot be run: {type(error).__name__}: {error}", key="chat.tools") from error
    found = {
        tool.name: tool for each in vars(module).values() if callable(each) and is_marked(each) for tool in [tool_of(each)]
    }
    if not found:
        raise SettingsInvalid(f"{path} has no tools: mark functions with `@clew.tool`", key="chat.tools")
    return tuple(found.values())
