"""An answer on a screen: live on a terminal, plain text anywhere else.

A view gets the events of an answer and draws them. `view_for` picks the right view; close it at the end, whatever the end
is. `clew.chat.display.runs` shows what an agent does, and asks about its calls.
"""

from clew.chat.display.drawing import ToolState
from clew.chat.display.summary import AnswerSummary, summary_of
from clew.chat.display.view import View, view_for

__all__ = ["AnswerSummary", "ToolState", "View", "summary_of", "view_for"]
