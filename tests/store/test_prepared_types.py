"""Types are prepared before threads read them: msgspec crashes where two threads read the first values of a type at once."""

import subprocess
import sys

CODE = """
import asyncio, sys
from pathlib import Path
from clew.store.prepared_types import prepare_types
from clew.store.kinds import open_store
store = open_store("sqlite", Path(sys.argv[1]))
after_store = prepare_types()
store.close()
import clew.engine.runtime, clew.admin.serving
print(after_store, prepare_types() > 0, prepare_types())
"""


def test_a_store_that_is_opened_has_all_its_types_prepared(tmp_path) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "True", "0"]


RACE = """
import sys, threading, types
import msgspec
sys.setswitchinterval(1e-6)
from clew.store.prepared_types import prepare_types
document = {f"f{i}": [{"x": 1, "y": ["a"]}] for i in range(10)}
inner = "".join(f"class B{k}(msgspec.Struct):\\n    x: int = 0\\n    y: tuple[str, ...] = ()\\n" for k in range(10))
outer = "class A(msgspec.Struct):\\n" + "".join(f"    f{i}: tuple[B{i}, ...] | None = None\\n" for i in range(10))
for number in range(60):
    module = types.ModuleType(f"clew.made{number}")
    sys.modules[module.__name__] = module
    exec("from __future__ import annotations\\nimport msgspec\\n" + inner + outer, module.__dict__)
    prepare_types()
    barrier = threading.Barrier(6)
    def read():
        barrier.wait()
        for _ in range(10):
            msgspec.convert(document, module.A)
    threads = [threading.Thread(target=read) for _ in range(6)]
    for each in threads: each.start()
    for each in threads: each.join()
print("alive")
"""


def test_threads_may_read_the_first_values_of_a_prepared_type_at_once() -> None:
    """Without the preparation this dies of a segmentation fault within a few rounds."""
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
