"""`plan --chart-dir` and `make charts` with a real Helm; charts come from this test and a server on loopback."""

import functools
import http.server
import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.catalog.components import ComponentPin, pin
from mlcluster.charts.pods import pods_of_charts
from mlcluster.charts.pull import pull
from mlcluster.errors import MlclusterError
from mlcluster.lab.toolchain import Toolchain
from mlcluster.plan import build
from mlcluster.progress import Silent
from tests.charts import sources
from tests.specs import EXISTING, SYSTEM, checked, cluster

pytestmark = pytest.mark.lab

SPEC = checked(cluster(SYSTEM, target=EXISTING, components={"keda": {}}))
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-manager
spec:
  replicas: {{ required "replicas are wanted" .Values.replicas }}
  template:
    metadata: {labels: {app: manager}}
    spec:
      priorityClassName: {{ .Values.priorityClassName | default "" | quote }}
      tolerations: {{ toJson .Values.tolerations }}
      containers: [{name: one, image: docker.io/a/b:1, resources: {requests: {cpu: 300m}}}]
"""


def archive(directory: Path, name: str, version: str, values: str, template: str = DEPLOYMENT) -> Path:
    """Return a chart of one template, packed as `helm pull` would leave it."""
    chart = directory / "trees" / name
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: {version}\n")
    (chart / "values.yaml").write_text(values)
    (chart / "templates" / "one.yaml").write_text(template)
    packed = directory / f"{name}-{version}.tgz"
    with tarfile.open(packed, "w:gz") as tar:
        tar.add(chart, arcname=name)
    return packed


def charts_of_plan(directory: Path, values: str) -> None:
    for release in build(SPEC).releases:
        archive(directory, release.chart.rpartition("/")[2], release.version, values)


def test_pods_are_those_of_the_archives(tmp_path: Path, toolchain: Toolchain) -> None:
    charts_of_plan(tmp_path, "replicas: 3")
    found = build(SPEC, pods_of_charts(build(SPEC), tmp_path, toolchain.path("helm"), Silent()))
    assert {(pod.name, pod.replicas, pod.requests["cpu"], pod.evidence) for pod in found.pods} == {
        ("keda-manager", 3, 300, "rendered"),
        ("kueue-manager", 3, 300, "rendered"),
    }
    keda = next(pod for pod in found.pods if pod.name == "keda-manager")
    assert keda.priority_class == "system-cluster-critical", "rendered with the values of the release"


def test_a_chart_that_helm_refuses(tmp_path: Path, toolchain: Toolchain) -> None:
    charts_of_plan(tmp_path, "{}")
    with pytest.raises(MlclusterError) as error:
        pods_of_charts(build(SPEC), tmp_path, toolchain.path("helm"), Silent())
    assert "of Release/keda" in error.value.doing
    assert "replicas are wanted" in error.value.happened


def test_an_archive_with_another_chart(tmp_path: Path, toolchain: Toolchain) -> None:
    charts_of_plan(tmp_path, "replicas: 3")
    archive(tmp_path, "jobset", "0.12.0", "replicas: 3").replace(tmp_path / "keda-2.20.2.tgz")
    with pytest.raises(MlclusterError) as error:
        pods_of_charts(build(SPEC), tmp_path, toolchain.path("helm"), Silent())
    assert error.value.happened == f"{tmp_path / 'keda-2.20.2.tgz'} contains the chart jobset 0.12.0"
    assert "helm pull keda --version 2.20.2" in error.value.hint


@pytest.mark.parametrize(
    "template",
    [
        "kind: Deployment\nmetadata: {name: x}\nspec: 5\n",
        "kind: Deployment\nmetadata: {name: x}\nspec: {}\n",
        DEPLOYMENT.replace("300m", "lots"),
        "kind: CustomResourceDefinition\nspec: {}\n",
        "kind: List\n",
    ],
)
def test_a_chart_with_objects_that_no_api_server_accepts(tmp_path: Path, toolchain: Toolchain, template: str) -> None:
    for release in build(SPEC).releases:
        archive(tmp_path, release.chart.rpartition("/")[2], release.version, "replicas: 1", template)
    with pytest.raises(MlclusterError) as error:
        pods_of_charts(build(SPEC), tmp_path, toolchain.path("helm"), Silent())
    assert error.value.doing == "reading the chart keda-2.20.2.tgz of Release/keda"


def run_plan(spec: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "mlcluster", "plan", str(spec), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=os.environ)


@sources.needs_archives
def test_rendered_pods_of_an_example_equal_the_declared_pods(project_root: Path, toolchain: Toolchain) -> None:
    del toolchain
    place, spec = sources.at_hand()[0].path.parent, project_root / "examples" / "eks-minimal.yaml"
    declared, rendered = run_plan(spec, "-o", "json"), run_plan(spec, "-o", "json", "--chart-dir", str(place))
    assert rendered.returncode == 0, rendered.stderr
    assert "rendering charts" in rendered.stderr
    before, after = (json.loads(answer.stdout) for answer in (declared, rendered))
    assert {part for part in before if before[part] != after[part]} == {"pods"}
    assert {pod["name"] for pod in after["pods"] if pod["evidence"] == "rendered"} >= {
        "cluster-autoscaler",
        "gpu-operator",
        "gpu-operator-cleanup-gpucluster",
        "kueue-controller-manager",
    }
    shapes = run_plan(spec, "--chart-dir", str(place)).stdout
    assert f"{len(after['pods'])} shapes: " in shapes


def test_the_error_of_plan_names_the_archives_to_pull(project_root: Path, tmp_path: Path) -> None:
    answer = run_plan(project_root / "examples" / "eks-minimal.yaml", "--chart-dir", str(tmp_path))
    assert answer.returncode == 1
    assert "3 archives are missing" in answer.stderr
    assert "helm pull cluster-autoscaler --version" in answer.stderr
    assert "Traceback" not in answer.stderr


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the name of the base class
        """Print nothing on standard error."""


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a chart repository with one chart in one version."""
    served = tmp_path / "served"
    served.mkdir()
    packed = archive(served, "keda", "2.20.2", "replicas: 1")
    entry = {"apiVersion": "v2", "name": "keda", "version": "2.20.2", "urls": [packed.name]}
    (served / "index.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "entries": {"keda": [entry]}}))
    handler = functools.partial(_Quiet, directory=str(served))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def keda_from(repository: str, version: str) -> ComponentPin:
    return replace(pin("keda"), repository=repository, version=version)


def test_pulled_charts_are_found_and_not_pulled_again(
    tmp_path: Path, repository: str, toolchain: Toolchain, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / ".charts"
    assert pull(toolchain.path("helm"), [keda_from(repository, "2.20.2")], target) == []
    assert [path.name for path in target.iterdir()] == ["keda-2.20.2.tgz"]
    assert capsys.readouterr().out == "keda 2.20.2\n"
    assert pull(toolchain.path("helm"), [keda_from("http://127.0.0.1:9", "2.20.2")], target) == []
    assert not capsys.readouterr().out


def test_a_chart_that_cannot_be_pulled_is_named_with_the_reason(
    tmp_path: Path, repository: str, toolchain: Toolchain
) -> None:
    (failed,) = pull(toolchain.path("helm"), [keda_from(repository, "9.9.9")], tmp_path / ".charts")
    assert failed.startswith("keda 9.9.9: ")
    assert "9.9.9" in failed.partition(": ")[2]
