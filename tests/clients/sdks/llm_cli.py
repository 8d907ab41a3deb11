"""A tool conversation with the command `llm`: a process for each prompt, which takes the last conversation up again.

Standard input: {url, key, model, prompts, api}; standard output: {answers, proofs, stops}. `api` is `chat` or `responses`.
"""

import json
import subprocess
import sys
from pathlib import Path

GIVEN = json.load(sys.stdin)
LLM = Path(sys.executable).with_name("llm")
HOME = Path.home() / ".config/io.datasette.llm"
TOOL = """
import subprocess
def run(command: str) -> str:
    "Run a shell command."
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout
"""
MODELS = """
- model_id: gateway
  model_name: {model}
  api_base: {url}/v1
  api_key_name: gateway
  reasoning: true
  supports_tools: true
  responses: {responses}
"""


def ask(prompt: str, *options: str) -> str:
    command = [LLM, "-m", "gateway", "-o", "reasoning_effort", "medium", "--functions", TOOL, "--cl", "0", *options, prompt]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


HOME.mkdir(parents=True, exist_ok=True)
responses = "true" if GIVEN["api"] == "responses" else "false"
(HOME / "extra-openai-models.yaml").write_text(MODELS.format(**GIVEN, responses=responses))
(HOME / "keys.json").write_text(json.dumps({"gateway": GIVEN["key"]}))
answers = [ask(prompt, *(["-c"] if turn else [])) for turn, prompt in enumerate(GIVEN["prompts"])]
json.dump({"answers": answers, "proofs": [], "stops": []}, sys.stdout)
