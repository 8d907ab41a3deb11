"""What others need for the same translation: `python bench/peers.py --litellm VENV/bin/litellm`.

LiteLLM is no dependency of this project: install `litellm[proxy]` into a venv of its own and name its executable. It runs as
it is documented, one worker, telemetry and spend logs off, beside nginx and clew in one run, with the same mock and the same
load. Everything that the bench of the gateway says about reading its numbers holds here too.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import targets
from figures import Figures, Row, markdown
from gateway import OUT, Bench, Case
from machine import Others
from targets import KEY, Target, free_port
from traffic import CHAT_MODEL

CASES = {
    Case("stream of 300 chunks, translated, in one burst", "translated"): "clew: ≥ 150× less than LiteLLM",
    Case("the same paced, 500 events/s", "translated-paced", 5, 5): "≥ 12× less",
}
"""And how far apart they are to be."""
MOST_SECONDS = 120.0
"""Until LiteLLM listens."""
CONFIG = """
model_list:
  - model_name: {name}
    litellm_params: {{model: openai/mock, api_base: "http://127.0.0.1:{upstream}/v1", api_key: sk-bench}}
litellm_settings:
  {{drop_params: true, set_verbose: false, num_retries: 0, use_chat_completions_url_for_anthropic_messages: true}}
general_settings: {{disable_spend_logs: true, master_key: sk-{key}}}
"""


def litellm(executable: Path, folder: Path, upstream: int) -> Target:
    port, home = free_port(), folder / "litellm"
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(CONFIG.format(name=CHAT_MODEL, upstream=upstream, key=KEY))
    options = ["--config", str(home / "config.yaml"), "--host", "127.0.0.1", "--port", str(port)]
    return Target(
        name="LiteLLM",
        port=port,
        command=[str(executable), *options, "--num_workers", "1", "--telemetry", "False"],
        env={**os.environ, "LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION"},
        folder=home,
        headers=(f"x-api-key: sk-{KEY}",),
    )


def row(bench: Bench, case: Case) -> Row:
    spent = [bench.median(case, target.name, lambda sample: sample.each) for target in bench.targets]
    return Row(case.name, tuple(f"{each:,.0f} µs" for each in spent), CASES[case], ratios_of=tuple(spent))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--litellm", type=Path, required=True, help="its executable")
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    targets.START_SECONDS = MOST_SECONDS
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as name:
        bench, others = Bench(Path(name)), Others()
        bench.targets = [*bench.targets[:-1], litellm(given.litellm.absolute(), Path(name), bench.port)]
        bench.interleaved(list(CASES), given.rounds)
        names = tuple(target.name for target in bench.targets)
        remark = f"{given.rounds} rounds; others used {others.share():.0%} of the cores meanwhile."
        print(markdown(Figures(names, tuple(row(bench, case) for case in CASES), (), remark)))


if __name__ == "__main__":
    main()
