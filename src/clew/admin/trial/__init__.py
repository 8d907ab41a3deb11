"""The trial of a backend, for the command line and the page alike: does it answer, and does it take its reasoning back?"""

from __future__ import annotations

from clew.admin.trial.lessons import BackendLessons
from clew.admin.trial.rounds import Trial, trials

__all__ = ["BackendLessons", "Trial", "trials"]
