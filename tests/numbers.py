"""Numbers that a test wants to be seen: `note("walks", 400)`.

With CLEW_NUMBERS set to a file, each is appended to it as a JSON line; `make soak` prints them as a table. Otherwise nothing
happens. One line is one write, so that several workers can share the file.
"""

import json
import os


def note(name: str, value: float | str) -> None:
    if path := os.environ.get("CLEW_NUMBERS"):
        line = json.dumps(
            {"name": name, "value": value, "test": os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]}
        )
        with open(path, "a") as file:
            file.write(line + "\n")
