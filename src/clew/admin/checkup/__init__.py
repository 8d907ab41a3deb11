"""The check-up: what may be wrong with this clew and around it, and how to mend each.

Every check is a row of `CHECKS`: a name, what it looks at, and a function from the circumstances to findings. They read and
change nothing, so they can run beside a gateway, and the command and the page show the same.
"""

from clew.admin.checkup.finding import Check, Circumstances, Finding, circumstances_of
from clew.admin.checkup.table import CHECKS, Examined, examined

__all__ = ["CHECKS", "Check", "Circumstances", "Examined", "Finding", "circumstances_of", "examined"]
