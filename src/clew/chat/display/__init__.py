"""An answer on a screen: live on a terminal, plain text anywhere else.

A view hears the events of an answer and draws them. `view_for` picks the one that fits; all are closed at the end, whatever
the end is. `clew.chat.display.runs` shows what an agent does, and asks about its tools.
"""

from clew.chat.display.summary import Summary, summary_of
from clew.chat.display.view import ToolState, View, view_for

__all__ = ["Summary", "ToolState", "View", "summary_of", "view_for"]
