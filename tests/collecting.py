"""A pytest plugin that writes down which test names which id: `pytest -p tests.collecting --collect-only`.

The marks go as JSON `{id: {mark: [test, …]}}` into the file named by CLEW_MARKS, below "slow" which tests are slow, and below
"public" which go through a surface of users. It runs in a process of its own, over the whole suite, so that what it says does not
depend on which tests the outer run selected or to which worker they went.
"""

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

MARKS = ("proves", "accepts", "refuses")


def pytest_collection_finish(session: pytest.Session) -> None:
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for item in session.items:
        for mark in item.iter_markers():
            if mark.name in MARKS:
                for name in mark.args:
                    found[name][mark.name].append(item.nodeid)
            if mark.name == "public":
                for surface in mark.args:
                    found["public"][surface].append(item.nodeid)
        found["slow"]["slow" if item.get_closest_marker("slow") else "fast"].append(item.nodeid)
    Path(os.environ["CLEW_MARKS"]).write_text(json.dumps(found))
