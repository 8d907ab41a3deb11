"""The Helm chart: its values and templates by their text; rendered by Helm, and against the schemas of Kubernetes, in the soak."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from clew.settings.load import load
from clew.testing import Simulator
from tests.gateway.served import Served, backend

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "clew"
BRIDGE = CHART / "files" / "metrics_bridge.py"
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
TEMPLATES = sorted((CHART / "templates").iterdir())
HELM = "helm.sh/helm/v3/cmd/helm@v3.19.0"
VALIDATOR = "kubernetes-validate==1.37.0"
KUBERNETES = "1.31"
SECRETS = {"CLEW_KEY": "k" * 32, "CLEW_SECRET": "ab" * 32, "CLEW_STORE_URL": "postgresql://clew:p@db/clew"}


def test_the_schema_is_one_and_knows_every_value_that_a_template_takes() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    taken = {path for each in TEMPLATES for path in re.findall(r"\.Values\.([A-Za-z.]+)", each.read_text())}
    assert len(taken) > 20
    for path in sorted(taken):
        at: dict[str, Any] = SCHEMA
        for name in path.split("."):
            assert name in at["properties"], path
            at = at["properties"][name]


def test_every_value_of_the_schema_has_a_default() -> None:
    """By the text of values.yaml, whose first column has the names."""
    names = set(re.findall(r"^([a-zA-Z]+):", (CHART / "values.yaml").read_text(), re.MULTILINE))
    assert names == SCHEMA["properties"].keys() - {"global"}


def test_blocks_of_templates_are_closed() -> None:
    for each in TEMPLATES:
        text = each.read_text()
        opened = len(re.findall(r"\{\{-? *(?:if|with|range|define) ", text))
        assert opened == len(re.findall(r"\{\{-? *end *-?\}\}", text)), each.name


def test_the_chart_has_the_version_of_the_project() -> None:
    project = re.search(r'^version = "([^"]+)"', (CHART.parents[2] / "pyproject.toml").read_text(), re.MULTILINE)
    assert project is not None
    assert f'appVersion: "{project[1].partition(".dev")[0]}"' in (CHART / "Chart.yaml").read_text()


@pytest.mark.slow
def test_metrics_of_a_gateway_are_served_to_others() -> None:
    with Simulator() as vendor, Served("[gateway]\nadmin_port = 0\n" + backend("a", vendor.url)) as gateway:
        code = "import sys; sys.path.insert(0, sys.argv[1]); import metrics_bridge as m, pathlib; print(m.read_metrics(pathlib.Path(sys.argv[2])))"
        done = subprocess.run(
            [sys.executable, "-c", code, BRIDGE.parent, gateway.home], capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith("(200,")
        assert "clew_open_streams" in done.stdout
    done = subprocess.run(
        [sys.executable, "-c", code, BRIDGE.parent, "/nowhere"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("(503,")


# Rendered


@pytest.fixture(scope="module")
def helm() -> Iterator[str]:
    """Helm as CLEW_TEST_HELM names it, as it is on the PATH, or built by Go."""
    if found := os.environ.get("CLEW_TEST_HELM") or shutil.which("helm"):
        yield found
        return
    go = shutil.which("go")
    if go is None:
        pytest.fail("these tests need Helm, or Go to build it: install one, or name Helm in CLEW_TEST_HELM")
    with tempfile.TemporaryDirectory(prefix="clew-helm-") as folder:
        subprocess.run([go, "install", HELM], env={**os.environ, "GOBIN": folder}, check=True)
        yield f"{folder}/helm"


@pytest.fixture(scope="module")
def validator() -> Iterator[Path]:
    """A Python that has the schemas of Kubernetes."""
    with tempfile.TemporaryDirectory(prefix="clew-kubernetes-") as folder:
        python = Path(folder) / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--only-binary", ":all:", VALIDATOR], check=True)
        yield python


READ = "import json, sys, yaml; print(json.dumps([each for each in yaml.safe_load_all(sys.stdin) if each]))"
CHECK = """
import json, sys, kubernetes_validate as check
for each in json.load(sys.stdin):
    check.validate(each, sys.argv[1], strict=True)
"""


class Charts:
    def __init__(self, helm: str, validator: Path) -> None:
        self._helm = helm
        self._validator = validator

    def render(self, values: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """The objects by their kinds, after the schemas of Kubernetes found nothing wrong with them."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(values, file)
            file.flush()
            options = ["--namespace", "team", "--kube-version", f"{KUBERNETES}.0", "--values", file.name]
            made = self._run([self._helm, "template", "release", CHART, *options])
        objects = json.loads(self._run([self._validator, "-c", READ], made))
        self._run([self._validator, "-c", CHECK, KUBERNETES], json.dumps(objects))
        return {each["kind"]: each for each in objects}

    def refused(self, values: dict[str, Any]) -> str:
        with pytest.raises(subprocess.CalledProcessError) as caught:
            self.render(values)
        return str(caught.value.stderr)

    def lint(self) -> str:
        values = [f"--set=secrets.{name}={value}" for name, value in SECRETS.items()]
        return self._run([self._helm, "lint", "--strict", "--kube-version", f"{KUBERNETES}.0", CHART, *values])

    def _run(self, command: list[str | Path], given: str = "") -> str:
        done = subprocess.run(command, input=given, capture_output=True, text=True)
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr + done.stdout)
        return done.stdout


@pytest.fixture(scope="module")
def charts(helm: str, validator: Path) -> Charts:
    return Charts(helm, validator)


@pytest.mark.soak
@pytest.mark.slow
class TestRendered:
    def test_the_defaults_give_gateways_that_keep_accepting_and_drain(self, charts: Charts, tmp_path: Path) -> None:
        assert "1 chart(s) linted, 0 chart(s) failed" in charts.lint()
        objects = charts.render({"secrets": SECRETS})
        assert sorted(objects) == ["ConfigMap", "Deployment", "PodDisruptionBudget", "Secret", "Service"]
        pod = objects["Deployment"]["spec"]["template"]["spec"]
        gateway = pod["containers"][0]
        assert pod["terminationGracePeriodSeconds"] == 10 + 300 + 2 + 15
        assert pod["securityContext"]["runAsUser"] == 65532
        assert all(each["securityContext"]["readOnlyRootFilesystem"] for each in pod["containers"])
        paths = {name: gateway[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")}
        assert paths == {"startup": "/readyz", "readiness": "/readyz", "liveness": "/healthz"}
        config = tmp_path / "clew.toml"
        config.write_text(objects["ConfigMap"]["data"]["clew.toml"])
        environ = SECRETS | {"CLEW_HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-ant-x"}
        settings = load(config, environ).settings
        assert (settings.gateway.keep_accepting_seconds, settings.gateway.drain_seconds) == (10, 300)
        assert settings.gateway.hosts[:2] == ("release-clew", "release-clew.team")
        assert settings.store.url == SECRETS["CLEW_STORE_URL"]

    def test_everything_switched_on_is_what_kubernetes_takes(self, charts: Charts) -> None:
        objects = charts.render(
            {
                "existingSecret": "mine",
                "hosts": ["clew.example"],
                "autoscaling": {"enabled": True},
                "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "tls"},
                "networkPolicy": {"enabled": True},
                "image": {"repository": "team/clew", "digest": "sha256:" + "0" * 64},
                "nodeSelector": {"kubernetes.io/arch": "arm64"},
            }
        )
        assert "Secret" not in objects
        scaled = objects["HorizontalPodAutoscaler"]["spec"]
        assert scaled["metrics"][0]["pods"]["metric"]["name"] == "clew_open_streams"
        assert scaled["behavior"]["scaleDown"]["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 120}]
        assert "replicas" not in objects["Deployment"]["spec"]
        assert objects["Ingress"]["spec"]["tls"][0]["hosts"] == ["clew.example"]
        by_cpu = charts.render({"secrets": SECRETS, "autoscaling": {"enabled": True, "streamsPerReplica": 0}})
        assert by_cpu["HorizontalPodAutoscaler"]["spec"]["metrics"][0]["type"] == "Resource"

    def test_values_that_cannot_work_are_refused_in_words(self, charts: Charts) -> None:
        assert "name a Secret in existingSecret" in charts.refused({})
        assert "secrets.CLEW_SECRET is missing" in charts.refused({"secrets": {"CLEW_KEY": "k"}})
        assert "drainSeconds" in charts.refused({"secrets": SECRETS, "shutdown": {"drainSeconds": 0}})
        assert "unknwon" in charts.refused({"secrets": SECRETS, "unknwon": 1})
