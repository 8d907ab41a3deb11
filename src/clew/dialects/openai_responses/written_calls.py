"""Calls as a client's stream tells them: as what the client offered."""

from __future__ import annotations

from clew.dialects.openai_responses.detail import ClientTool
from clew.dialects.openai_responses.numbered_events import ItemPlace, ItemText
from clew.model.json import JsonObject, read_object, text_of
from clew.model.texts import LongText


class WrittenCall:
    """A call of a function."""

    takes_more_text = False

    def __init__(self, place: ItemPlace, call_id: str, tool: ClientTool) -> None:
        self._place = place
        self._id = f"fc_{place.name}"
        self._call: JsonObject = {"call_id": call_id, "name": tool.name}
        self._call |= {"namespace": tool.namespace} if tool.namespace else {}
        self.text = ItemText(place.events, "response.function_call_arguments.delta", place.of(self._id))

    def begin(self) -> bytes:
        return self._place.added(self.item("in_progress"))

    def grow(self, delta: JsonObject) -> bytes:
        text = text_of(delta.get("partial_json"))
        return self.text.grow(text) if text else b""

    def stop(self) -> bytes:
        none = b"" if self.text.whole() else self.text.grow("{}")
        done: JsonObject = {**self.text.place, "arguments": self.text.whole(), "name": self._call["name"]}
        return none + self._place.events.write("response.function_call_arguments.done", done)

    def item(self, status: str) -> JsonObject:
        head: JsonObject = {"id": self._id, "type": "function_call", "status": status}
        return {**head, **self._call, "arguments": self.text.whole()}


class WrittenTextCall:
    """A call of a custom tool, which takes one text: the `input` of the canonical call; or all of its arguments, where the
    model gave it none. It is told once it is whole."""

    takes_more_text = False
    text = None

    def __init__(self, place: ItemPlace, call_id: str, tool: ClientTool) -> None:
        self._place = place
        self._id = f"ctc_{place.name}"
        self._call: JsonObject = {"call_id": call_id, "name": tool.name}
        self._call |= {"namespace": tool.namespace} if tool.namespace else {}
        self._arguments = LongText()
        self._input = ""

    def begin(self) -> bytes:
        return self._place.added(self.item("in_progress"))

    def grow(self, delta: JsonObject) -> bytes:
        self._arguments.add(text_of(delta.get("partial_json")))
        return b""

    def stop(self) -> bytes:
        arguments = self._arguments.whole()
        found = (read_object(arguments.encode("utf-8", "surrogatepass")) or {}).get("input")
        self._input = found if isinstance(found, str) else arguments
        events, at = self._place.events, self._place.of(self._id)
        delta = events.write("response.custom_tool_call_input.delta", {**at, "delta": self._input}) if self._input else b""
        return delta + events.write("response.custom_tool_call_input.done", {**at, "input": self._input})

    def item(self, status: str) -> JsonObject:
        head: JsonObject = {"id": self._id, "type": "custom_tool_call", "status": status}
        return {**head, **self._call, "input": self._input}
