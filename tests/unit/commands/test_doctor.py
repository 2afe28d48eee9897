"""`mlcluster doctor` as a whole, and the prerequisites of `preview` and `up` before the engine starts."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mlcluster.aws.errors import CredentialsError
from mlcluster.checks.model import Check, Question, State, ok
from mlcluster.commands.doctor import diagnose, doctor
from mlcluster.commands.preflight import preflight_of
from mlcluster.deploy.doctor.machine import machine_questions
from mlcluster.deploy.doctor.surroundings import cluster_questions
from mlcluster.deploy.preview.prerequisites import prerequisites, require
from mlcluster.deploy.session.workspace import Workspace, load_workspace
from mlcluster.engine.home import StackHome
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.progress import Silent
from tests.fakes.engine_plugins import install_dummy
from tests.specs import EXISTING, LOCAL, SYSTEM, Data, cluster

pytestmark = pytest.mark.unit
EKS = {"kind": "eks", "region": "us-west-2"}
OFFICIAL = {**EXISTING, "kubernetesProvider": "official"}


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a directory that is all of PATH, and no credentials."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi"))
    for name in ("PULUMI_DEBUG_PROVIDERS", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "MLCLUSTER_HELM", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return tmp_path / "bin"


@pytest.fixture
def spec(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a spec for a target."""

    def write(target: Data, **rest: object) -> Path:
        path = tmp_path / "cluster.yaml"
        pool = {**SYSTEM, "minSize": 2} if target["kind"] == "eks" else SYSTEM
        path.write_text(json.dumps(cluster(pool, target=target, **rest)), encoding="utf-8")
        return path

    return write


def _program(directory: Path, name: str, says: str) -> None:
    (directory / name).write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
    (directory / name).chmod(0o755)


def _by_name(checks: Sequence[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def _quiet(_workspace: Workspace | None) -> list[Question]:
    return []


class TestMachine:
    def test_nothing_is_a_problem_without_a_spec(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert doctor(None, "json") is ExitCode.OK
        document = json.loads(capsys.readouterr().out)
        assert (document["kind"], document["spec"], document["healthy"]) == ("DoctorReport", None, True)
        states = {entry["check"]: entry["state"] for entry in document["checks"]}
        assert states["engine"] == "warning"
        assert states["AWS CLI"] == states["lab programs"] == states["plugin eks v4.4.0"] == "notNeeded"
        assert {name for name, state in states.items() if state == "ok"} == {
            "helm",
            "state directory",
            "cache directory",
        }
        assert {"state directory", "cache directory", "lab programs", "plugin eks v4.4.0"} <= states.keys()
        assert all(entry["fix"] for entry in document["checks"] if entry["state"] in {"warning", "problem"})

    def test_programs_on_path(self, programs: Path) -> None:
        _program(programs, "pulumi", "v3.260.0")
        _program(programs, "helm", "v3.18.0+g1")
        _program(programs, "aws", "aws-cli/2.6.0 Python/3.9.11 Linux/6.1")
        found = _by_name(diagnose(None, Silent()))
        assert found["engine"].found == f"pulumi 3.260.0 ({programs / 'pulumi'})"
        assert found["helm"].found == f"helm 3.18.0 ({programs / 'helm'})"
        assert "2.6.0, which is too old; needed only for `target.kind: eks`" in found["AWS CLI"].found

    def test_an_engine_of_the_wrong_version_is_a_warning(self, programs: Path) -> None:
        _program(programs, "pulumi", "v3.100.0")
        found = _by_name(diagnose(None, Silent()))["engine"]
        assert (found.state, "has version 3.100.0" in found.found) == (State.WARNING, True)


class TestSpec:
    def test_problems_of_the_spec_do_not_hide_the_machine(self, tmp_path: Path) -> None:
        broken = tmp_path / "broken.yaml"
        broken.write_text("kind: Cluster\n", encoding="utf-8")
        checks = diagnose(broken, Silent(), lambda _workspace: [Question("a", lambda: [ok("a", "x")])], _quiet)
        assert [(check.name, check.state) for check in checks] == [("spec", State.PROBLEM), ("a", State.OK)]
        assert "mlcluster validate" in checks[0].fix

    def test_a_missing_spec_is_a_problem_with_a_suggestion(self, spec: Callable[..., Path]) -> None:
        path = spec(LOCAL)
        (check,) = diagnose(path.with_name("clutser.yaml"), Silent(), _quiet, _quiet)
        assert (check.state, check.found) == (
            State.PROBLEM,
            f"{path.with_name('clutser.yaml')}: the file does not exist",
        )
        assert check.fix == f"Did you mean {path}?"

    def test_an_error_finding_is_named(self, spec: Callable[..., Path]) -> None:
        (check,) = diagnose(spec(EKS), Silent(), _quiet, _quiet)
        assert check.found.endswith("cluster.yaml has errors that stop `up`: NET002")

    def test_eks(self, programs: Path, spec: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
        _program(programs, "aws", "aws-cli/1.23.0 Python/3.8")
        path = spec(EKS)
        assert doctor(path, "text") is ExitCode.INVALID
        found = _by_name(diagnose(path, Silent()))
        problems = {name for name, check in found.items() if check.state is State.PROBLEM}
        assert {"AWS CLI", "AWS credentials", "plugin aws v7.51.1", "plugin eks v4.4.0"} <= problems
        assert "plugin kubernetes v4.19.0" in problems
        assert f"mlcluster plugins install {path}" in found["plugin eks v4.4.0"].fix
        assert found["locks"].state is found["cluster"].state is State.OK
        assert "fix: Install AWS CLI 2.7" in capsys.readouterr().out

    def test_missing_credentials_read_as_in_preflight(self, spec: Callable[..., Path]) -> None:
        workspace = load_workspace(spec(EKS))
        found = _by_name(diagnose(workspace.path, Silent()))["AWS credentials"]
        with pytest.raises(CredentialsError) as caught:
            preflight_of(workspace, "json", Silent(), machine=lambda _workspace: [])
        assert (found.found, found.fix) == (caught.value.happened, caught.value.hint)

    def test_existing(self, spec: Callable[..., Path]) -> None:
        found = _by_name(diagnose(spec(EXISTING), Silent()))
        assert found["cluster"].state is State.PROBLEM
        assert "there is no kubeconfig" in found["cluster"].found
        assert "lab programs" not in found
        assert "AWS CLI" not in found

    def test_local(self, spec: Callable[..., Path]) -> None:
        found = _by_name(diagnose(spec(LOCAL), Silent()))
        assert found["cluster"].state is State.OK
        assert found["lab programs"].state is State.WARNING

    def test_a_lock_that_a_dead_process_left(self, spec: Callable[..., Path]) -> None:
        path = spec(LOCAL)
        home = StackHome("atlas")
        held = home.root / "state" / ".pulumi" / "locks" / "organization" / "mlcluster-platform" / "atlas" / "1.json"
        held.parent.mkdir(parents=True)
        owner = {
            "pid": 2**22 + 1,
            "username": "jo",
            "hostname": os.uname().nodename,
            "timestamp": "2026-01-02T03:04:05Z",
        }
        held.write_text(json.dumps(owner), encoding="utf-8")
        found = _by_name(diagnose(path, Silent(), _quiet))["lock of mlcluster-platform"]
        assert found.state is State.WARNING
        assert "no longer running" in found.found
        assert held.exists()

    def test_a_missing_state_backend_is_a_problem(self, spec: Callable[..., Path], tmp_path: Path) -> None:
        path = spec(EXISTING, state={"backend": f"file://{tmp_path}/gone"})
        found = _by_name(diagnose(path, Silent(), _quiet))["state backend"]
        assert (found.state, "is not a directory" in found.found) == (State.PROBLEM, True)

    def test_a_remote_backend_is_checked_through_the_engine(self, programs: Path, spec: Callable[..., Path]) -> None:
        (programs / "pulumi").write_text(
            '#!/bin/sh\ntest "$1" = version && { echo v3.260.0; exit; }\n'
            'echo "error: could not open bucket $PULUMI_BACKEND_URL" >&2\nexit 255\n',
            encoding="utf-8",
        )
        (programs / "pulumi").chmod(0o755)
        path = spec(EXISTING, state={"backend": "s3://atlas-state", "secretsProvider": "awskms://alias/atlas"})
        found = _by_name(diagnose(path, Silent(), _quiet))["state backend"]
        assert found.state is State.PROBLEM
        assert "could not open bucket s3://atlas-state" in found.found

    def test_every_check_has_a_time_limit(self, spec: Callable[..., Path]) -> None:
        for target in (EKS, EXISTING, LOCAL):
            workspace = load_workspace(spec(target))
            assert all(0 < one.seconds <= 60 for one in (*machine_questions(workspace), *cluster_questions(workspace)))


class TestPrerequisites:
    def test_everything_that_is_missing_at_once(self, spec: Callable[..., Path]) -> None:
        path = spec(EKS)
        with pytest.raises(MlclusterError) as caught:
            require(load_workspace(path))
        for part in ("plugin aws v7.51.1", "plugin eks v4.4.0", "plugin kubernetes v4.19.0", "`aws`) is not on PATH"):
            assert part in caught.value.happened
        assert caught.value.hint.count(f"Run `mlcluster plugins install {path}`.") == 1
        assert "Install AWS CLI 2.7" in caught.value.hint
        assert caught.value.exit_code is ExitCode.INVALID

    def test_nothing_is_missing(self, programs: Path, spec: Callable[..., Path], tmp_path: Path) -> None:
        _program(programs, "aws", "aws-cli/2.7.0 Python/3.9.11")
        for name, version in (("aws", "7.51.1"), ("eks", "4.4.0"), ("kubernetes", "4.19.0"), ("kubernetes", "4.34.2")):
            install_dummy(tmp_path / "pulumi", name, version)
        workspace = load_workspace(spec(EKS))
        require(workspace)
        assert {check.state for check in prerequisites(workspace)} == {State.OK}

    def test_attached_providers_are_enough(self, monkeypatch: pytest.MonkeyPatch, spec: Callable[..., Path]) -> None:
        monkeypatch.setenv("PULUMI_DEBUG_PROVIDERS", "aws:1,eks:2,kubernetes:3")
        workspace = load_workspace(spec(EKS))
        require(workspace)
        assert not [check for check in prerequisites(workspace) if check.state is State.PROBLEM]

    def test_other_targets(self, spec: Callable[..., Path]) -> None:
        assert prerequisites(load_workspace(spec(LOCAL))) == []
        assert prerequisites(load_workspace(spec(EXISTING))) == []
        with pytest.raises(MlclusterError, match=r"plugin kubernetes v4\.34\.2: not installed"):
            require(load_workspace(spec(OFFICIAL)))
