"""How a vendor that speaks Chat Completions writes errors and keep-alives inside a stream."""

from __future__ import annotations

import msgspec

from clew.simulator.error_shapes import ShapedErrors
from clew.simulator.openai_chat.judge.case import CHAT_RULES
from clew.simulator.openai_chat.vendors import ChatVendor
from clew.simulator.steps import Steps


class ChatErrors(ShapedErrors):
    """How one vendor writes errors."""

    def __init__(self, vendor: ChatVendor) -> None:
        super().__init__(CHAT_RULES, vendor)
        self._vendor = vendor

    @property
    def ping(self) -> bytes:
        return f": {self._vendor.chunks.comment or 'keep-alive'}\n\n".encode()

    def event(self, fault: str, message: str, form: str = "", before: Steps = ()) -> bytes:
        """A fault on demand, inside a stream that began with 200."""
        error = self.fault(fault, message, self.status(fault))
        value = self._shape(error)
        if self._vendor.envelope == "openrouter":
            value = {
                "id": "gen-sim",
                "object": "chat.completion.chunk",
                "created": 0,
                "model": "",
                "provider": "",
                "error": {"code": error.status, "message": error.message},
                "choices": [
                    {"index": 0, "delta": {"content": ""}, "finish_reason": "error", "native_finish_reason": "error"}
                ],
            }
        return b"data: " + msgspec.json.encode(value) + b"\n\n"
