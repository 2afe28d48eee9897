"""Records, states and locks of a lab, without any of its programs."""

import dataclasses
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.lab import lock, record
from mlcluster.lab.failures import LabBusy, LeftoverData, NotRunning
from mlcluster.lab.lab import Lab, labs_directory, list_labs
from mlcluster.lab.layout import Layout
from mlcluster.lab.ports import Ports
from mlcluster.lab.process import Process
from mlcluster.lab.record import ControllerRecord, Record
from mlcluster.lab.toolchain import Program, Toolchain
from mlcluster.progress import Silent
from mlcluster.report.lab_status import status_document, status_text

pytestmark = pytest.mark.unit

PORTS = Ports(1, 2, 3, 4, 5)
NO_TOOLCHAIN = Toolchain({}, Path("chart"))
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kueue")


def recorded(root: Path, **changes: Any) -> Record:
    dead = Process("etcd", 999_999_999, 1.5, ("/bin/etcd", "--a"), root / "logs" / "etcd.log")
    ports = {"webhook": 7, "health": 8, "metrics": 9, "visibility": 10}
    kueue = ControllerRecord("kueue", Path("/bin/kueue"), Path("/chart"), {"a": {"b": [1]}}, ports)
    whole = Record(
        "running", PORTS, {name: Path("/bin", name) for name in PROGRAMS}, True, "up", True, (dead,), (kueue,)
    )
    return dataclasses.replace(whole, **changes)


def lab_with(root: Path, **changes: Any) -> Lab:
    layout = Layout(root)
    root.mkdir()
    record.save(layout, recorded(root, **changes))
    return Lab("one", root)


def test_records_round_trip(tmp_path: Path) -> None:
    record.save(Layout(tmp_path), recorded(tmp_path))
    assert record.load(Layout(tmp_path)) == recorded(tmp_path)
    without = recorded(tmp_path, controllers=(), processes=())
    record.save(Layout(tmp_path), without)
    assert record.load(Layout(tmp_path)) == without


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"phase": "running"}', "null"])
def test_a_damaged_record_is_reported_and_reset_deletes_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "state.json").write_text(text)
    lab = Lab("one", tmp_path / "one")
    assert lab.status().state == "crashed"
    assert "reset" in lab.status().note
    with pytest.raises(LeftoverData):
        lab.start(NO_TOOLCHAIN, Silent())
    lab.reset(Silent())
    assert lab.status().state == "absent"


def test_data_without_a_record_is_reported_and_not_started(tmp_path: Path) -> None:
    (tmp_path / "one" / "etcd").mkdir(parents=True)
    lab = Lab("one", tmp_path / "one")
    assert (lab.status().state, lab.status().note) == (
        "crashed", "data without a record; `mlcluster lab reset --name one` deletes it",
    )  # fmt: skip
    with pytest.raises(LeftoverData, match="no readable record"):
        lab.start(NO_TOOLCHAIN, Silent())


def test_a_missing_lab_is_absent(tmp_path: Path) -> None:
    lab = Lab("one", tmp_path / "one")
    assert lab.status().state == "absent"
    lab.stop(Silent())
    lab.reset(Silent())
    assert lab.status().state == "absent"


@pytest.mark.parametrize(("changes", "state", "note"), [
    ({}, "crashed", "not running: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok, kueue"),
    ({"controllers": ()}, "crashed",
     "not running: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok;"),
    ({"phase": "starting"}, "crashed", "a start did not end"),
    ({"phase": "stopped"}, "stopped", "its data is kept"),
])  # fmt: skip
def test_states_of_labs_that_do_not_run(tmp_path: Path, changes: dict[str, Any], state: str, note: str) -> None:
    found = lab_with(tmp_path / "one", **changes).status()
    assert found.state == state
    assert found.note.startswith(note)
    assert found.kubeconfig is None
    assert found.started_by == "up"


def test_a_lab_during_its_start_is_starting(tmp_path: Path) -> None:
    lab = lab_with(tmp_path / "one", phase="starting")
    with lock.held("one", lab.layout, Silent()):
        assert lab.status().state == "starting"
    assert lab.status().state == "crashed"


def test_a_controller_during_removal_is_recorded_and_not_expected_to_run(tmp_path: Path) -> None:
    (kueue,) = recorded(tmp_path).controllers
    removing = recorded(tmp_path, controllers=(dataclasses.replace(kueue, removing=True),))
    record.save(Layout(tmp_path), removing)
    assert record.load(Layout(tmp_path)) == removing
    assert (removing.active, removing.removing) == ((), ("kueue",))
    lab = lab_with(tmp_path / "one", controllers=removing.controllers)
    assert "kueue" not in lab.status().note
    assert lab.controllers() == ("kueue",)


def test_a_record_of_an_older_version_removes_nothing(tmp_path: Path) -> None:
    record.save(Layout(tmp_path), recorded(tmp_path))
    path = Layout(tmp_path).record
    path.write_text(path.read_text().replace('"removing": false', '"other": 1'))
    found = record.load(Layout(tmp_path))
    assert found is not None
    assert found.removing == ()


def test_a_lab_that_was_never_ready_is_discarded_and_any_other_is_kept(tmp_path: Path) -> None:
    unborn = lab_with(tmp_path / "one", phase="starting", born=False)
    (tmp_path / "one" / "pki").mkdir()
    assert unborn.discard_if_never_ready(Silent())
    assert unborn.status().state == "absent"
    assert unborn.discard_if_never_ready(Silent())
    kept = lab_with(tmp_path / "two")
    assert not kept.discard_if_never_ready(Silent())
    assert kept.status().state == "crashed"
    (tmp_path / "three" / "etcd").mkdir(parents=True)
    assert not Lab("three", tmp_path / "three").discard_if_never_ready(Silent())


def test_a_reset_that_is_killed_leaves_a_lab_that_was_never_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = lab_with(tmp_path / "one")
    (tmp_path / "one" / "etcd").mkdir()

    def killed(path: Path, **_: Any) -> None:
        raise SystemExit(str(path))

    with monkeypatch.context() as patched:
        patched.setattr("mlcluster.lab.layout.shutil.rmtree", killed)
        with pytest.raises(SystemExit):
            lab.reset(Silent())
    assert lab.discard_if_never_ready(Silent())
    assert not (tmp_path / "one").exists()


def test_a_repair_ignores_a_locked_lab(tmp_path: Path) -> None:
    lab = lab_with(tmp_path / "one")
    assert lab.alive_and_ended() == ([], ["etcd"])
    with lock.held("one", lab.layout, Silent()):
        assert lab.repair(Silent()) == []
    assert lab_with(tmp_path / "two", phase="stopped").repair(Silent()) == []


def test_reads_of_a_lab_that_does_not_run(tmp_path: Path) -> None:
    lab = lab_with(tmp_path / "one", phase="stopped")
    for question in (lab.keys, lab.baseline_keys, lab.leftovers):
        with pytest.raises(NotRunning, match="lab one is stopped"):
            question()
    with pytest.raises(NotRunning):
        lab.start_controller("kueue", {}, Program(Path("kueue"), Path("chart")), Silent())


def test_the_second_command_names_the_holder_and_gives_up(tmp_path: Path) -> None:
    said: list[str] = []

    class RecordedProgress(Silent):
        def say(self, text: str) -> None:
            said.append(text)

    layout = Layout(tmp_path / "one")
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with lock.held("one", layout, Silent()):
            inside.set()
            leave.wait(30)

    first = threading.Thread(target=hold)
    first.start()
    inside.wait(30)
    with (
        pytest.raises(LabBusy, match=f"process {os.getpid()}"),
        lock.held("one", layout, RecordedProgress(), patience=0),
    ):
        pass
    leave.set()
    first.join()
    assert said == [f"lab one: waiting for another command ({said[0].partition('(')[2][:-1]})"]
    assert not lock.is_held(layout)


@pytest.mark.parametrize("name", ["../x", "", "A", "a/b", ".hidden", "a" * 41, "-a"])
def test_a_name_cannot_leave_the_directory_of_labs(name: str) -> None:
    with pytest.raises(MlclusterError) as caught:
        Lab(name)
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_wrong_root_loses_no_files(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    Lab("one", tmp_path).reset(Silent())
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_labs_are_listed_by_name() -> None:
    assert list_labs() == []
    for name in ("b", "a", ".hidden"):
        (labs_directory() / name).mkdir(parents=True)
    assert [found.name for found in list_labs()] == ["a", "b"]


def test_status_as_text_and_as_data(tmp_path: Path) -> None:
    found = lab_with(tmp_path / "one").status()
    text = status_text(found)
    assert text.startswith("lab one: crashed (not running: etcd")
    assert "kwok" in text
    document = status_document(found)
    assert (document["kind"], document["state"], document["startedBy"]) == ("LabStatus", "crashed", "up")
    assert [process["name"] for process in document["processes"]] == list(PROGRAMS)
    assert set(document["processes"][0]) == {
        "name", "pid", "alive", "ready", "memoryMib", "port", "log", "answer",
    }  # fmt: skip


def test_a_record_of_a_version_whose_kwok_had_a_port_is_read(tmp_path: Path) -> None:
    record.save(Layout(tmp_path), recorded(tmp_path))
    file = Layout(tmp_path).record
    found = json.loads(file.read_text())
    found["ports"]["kwok"] = 6
    file.write_text(json.dumps(found))
    assert record.load(Layout(tmp_path)) == recorded(tmp_path)
