"""Which components run as processes of a lab, in which order, and what becomes of those that a spec drops."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from mlcluster.deploy.lab_processes import processes, start_processes, stop_processes, stop_unwanted
from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.tools import Tools
from mlcluster.kube.client import Kube
from mlcluster.lab.controllers.run import ControllerInUse
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Program, Toolchain, optional
from mlcluster.lab.toolchain.find import directory
from mlcluster.plan import build
from mlcluster.plan.model import Plan
from mlcluster.progress import Progress, Silent
from mlcluster.spec.load import load

pytestmark = pytest.mark.unit

JOBS: dict[str, Any] = {"trainer": {}, "mpiOperator": {}}


class Labs:
    """A lab that notes what it is told; the kinds of those in `busy` are in use."""

    def __init__(self, *running: str, busy: Iterable[str] = ()) -> None:
        self.running = list(running)
        self.busy = set(busy)
        self.started: list[tuple[str, dict[str, Any], Program]] = []

    def controllers(self) -> tuple[str, ...]:
        return tuple(self.running)

    def start_controller(self, name: str, settings: dict[str, Any], program: Program, progress: Progress) -> None:
        del progress
        self.started.append((name, settings, program))

    def require_idle(self, names: Iterable[str]) -> None:
        for name in self.busy.intersection(names):
            raise ControllerInUse(name, ["/registry/group/things/team/one"])

    def stop_controllers(self, names: Iterable[str], progress: Progress) -> None:
        del progress
        for name in tuple(names):
            if name in self.busy:
                raise ControllerInUse(name, ["/registry/group/things/team/one"])
            self.running.remove(name)


class Said(Silent):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def plan(tmp_path: Path, target: Literal["local", "existing"] = "local", **components: Any) -> Plan:
    there = target == "existing"
    pool = {"name": "system", "instanceType": "m7i.2xlarge", "minSize": 1, "maxSize": 1}
    spec = {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "jobs"},
        "target": {"kind": target},
        "nodePools": [{**pool, **({"selector": {"pool": "system"}} if there else {})}],
        "teams": [{"name": "research", "guarantee": {"system": {"nodes": 1}}}],
        "components": components,
    }
    path = tmp_path / "jobs.yaml"
    path.write_text(json.dumps(spec))
    return build(load(path).spec)


def live(lab: Labs | None) -> LiveCluster:
    return LiveCluster("", None, cast("Kube", None), "uid", cast("Lab | None", lab), started=False)


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    """Everything is built."""
    for tool in optional.OPTIONAL:
        place = optional.place(tool, directory())
        place.mkdir(parents=True)
        (place / tool.name).touch()
    return Tools(tmp_path / "pulumi", Toolchain({"kueue": Path("/bin/kueue")}, Path("/chart")))


def test_each_comes_after_what_it_needs_and_kueue_last(tmp_path: Path) -> None:
    found = [release.name for release in processes(plan(tmp_path, kubeRay={}, **JOBS))]
    assert sorted(found) == ["jobset", "kubeflow-trainer", "kuberay-operator", "kueue", "mpi-operator"]
    assert found.index("jobset") < found.index("kubeflow-trainer")
    assert found[-1] == "kueue"


def test_nothing_is_a_process_elsewhere(tmp_path: Path) -> None:
    assert processes(plan(tmp_path, "existing", **JOBS)) == []


def test_charts_get_their_values_and_kueue_its_configuration(tmp_path: Path, tools: Tools) -> None:
    lab = Labs()
    start_processes(plan(tmp_path, **JOBS), live(lab), tools, Silent())
    settings = {name: given for name, given, _ in lab.started}
    assert settings["kueue"]["kind"] == "Configuration"
    assert "kubeflow.org/mpijob" in settings["kueue"]["integrations"]["frameworks"]
    assert settings["kubeflow-trainer"]["jobset"] == {"install": False}
    programs = {name: program for name, _, program in lab.started}
    assert programs["kueue"] == Program(Path("/bin/kueue"), Path("/chart"))
    assert programs["jobset"].path.is_file()


def test_without_a_lab_nothing_is_started(tmp_path: Path, tools: Tools) -> None:
    start_processes(plan(tmp_path, **JOBS), live(None), tools, Silent())
    lab = Labs()
    start_processes(plan(tmp_path, "existing", **JOBS), live(lab), tools, Silent())
    assert lab.started == []


def test_one_in_use_is_not_dropped_and_nothing_is_started(tmp_path: Path, tools: Tools) -> None:
    lab = Labs("mpi-operator", busy=["mpi-operator"])
    with pytest.raises(ControllerInUse, match="there are still things/team/one"):
        start_processes(plan(tmp_path, jobSet={}), live(lab), tools, Silent())
    assert lab.started == []
    start_processes(plan(tmp_path, mpiOperator={}), live(lab), tools, Silent())
    assert [name for name, _, _ in lab.started] == ["mpi-operator", "kueue"]


def test_those_that_the_spec_drops_stop_unless_they_are_in_use(tmp_path: Path) -> None:
    lab, said = Labs("jobset", "mpi-operator", "kuberay-operator", "kueue", busy=["mpi-operator"]), Said()
    stop_unwanted(plan(tmp_path, jobSet={}), live(lab), said)
    assert lab.running == ["jobset", "mpi-operator", "kueue"]
    assert said.lines == ["mpi-operator is not in the spec any more but keeps running: there are still things/team/one"]


def test_down_stops_all_of_them(tmp_path: Path) -> None:
    lab = Labs("jobset", "kueue")
    stop_processes(live(lab), Silent())
    assert lab.running == []
