"""A backend that a command names: in the file, a preset that only the environment knows, or nobody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.errors import SettingsInvalid
from clew.settings.asked_backend import AskedBackend
from clew.settings.load import load

GLM = '[backends.glm]\npreset = "zai"\nkey = "k"\nmodels = { opus = "glm-5" }\n'


def loaded(tmp_path: Path, text: str, asked: AskedBackend, **environ: str) -> dict[str, tuple[str, dict[str, str]]]:
    """The backends by name, each with its model and its mapping."""
    file = tmp_path / "clew.toml"
    file.write_text(text or "[run]\n")
    file.chmod(0o600)
    rows = load(file, {"CLEW_HOME": str(tmp_path), **environ}, asked=asked).settings.backends
    return {name: (row.model, dict(row.models)) for name, row in rows.items()}


def test_a_preset_whose_key_is_in_the_environment_stands_beside_the_backends_of_the_file(tmp_path: Path) -> None:
    found = loaded(tmp_path, GLM, AskedBackend("openrouter"), OPENROUTER_API_KEY="k")
    assert (list(found), found["openrouter"][0]) == (["glm", "openrouter"], "openrouter/auto")


def test_a_preset_is_found_by_its_own_name_where_the_environment_calls_the_backend_otherwise(tmp_path: Path) -> None:
    assert {"glm", "zai"} <= loaded(tmp_path, "", AskedBackend("zai"), ZAI_API_KEY="k").keys()


def test_a_preset_that_needs_no_key_needs_none(tmp_path: Path) -> None:
    assert loaded(tmp_path, GLM, AskedBackend("vllm", "qwen3"))["vllm"] == ("qwen3", {})


def test_a_model_replaces_the_backends_own_and_its_mapping_and_no_other_backends(tmp_path: Path) -> None:
    found = loaded(tmp_path, GLM + GLM.replace("glm]", "two]"), AskedBackend("glm", "glm-4.6"))
    assert (found["glm"], found["two"][1]["opus"]) == (("glm-4.6", {}), "glm-5")


def test_a_preset_without_a_key_is_told_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"its key is not in the environment: set XAI_API_KEY, or add the backend"):
        loaded(tmp_path, GLM, AskedBackend("xai"))


def test_a_name_that_nobody_knows_adds_nothing(tmp_path: Path) -> None:
    assert list(loaded(tmp_path, GLM, AskedBackend("nobody", "m"))) == ["glm"]


def test_a_table_of_the_file_that_is_faulty_is_not_replaced_by_the_preset(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"backends.xai.preset: there is no such preset"):
        loaded(tmp_path, GLM.replace("glm]", "xai]").replace('"zai"', '"zay"'), AskedBackend("xai"), XAI_API_KEY="k")
