"""Every run with `-o json` prints exactly one JSON document, also a run that fails."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import pytest
from typer.testing import CliRunner, Result

from mlcluster import failures
from mlcluster.cli import app
from mlcluster.deploy.session.workspace import load_workspace
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.report.standard_output import print_result
from mlcluster.spec.problems import SpecInvalidError
from tests.fakes.aws_responses import no_network
from tests.specs import EXISTING, SYSTEM, Data, cluster

pytestmark = pytest.mark.unit
EKS = {"kind": "eks", "region": "us-west-2"}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Remove credentials, plugins and programs."""
    no_network(monkeypatch)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi"))
    for name in ("PULUMI_DEBUG_PROVIDERS", "MLCLUSTER_HELM", "FORCE_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def spec(tmp_path: Path) -> Callable[[Data], Path]:
    """Return a function that writes a spec for a target."""

    def write(target: Data) -> Path:
        path = tmp_path / "cluster.yaml"
        pool = {**SYSTEM, "minSize": 2} if target["kind"] == "eks" else SYSTEM
        path.write_text(json.dumps(cluster(pool, target=target)), encoding="utf-8")
        return path

    return write


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments), "-o", "json"])


def _only_document(result: Result) -> Any:
    return json.loads(result.stdout)


def test_preflight_without_credentials(spec: Callable[[Data], Path]) -> None:
    result = _run("preflight", spec(EKS))
    document = _only_document(result)
    assert result.exit_code == ExitCode.INVALID
    assert (document["kind"], document["target"]) == ("PreflightReport", "eks")
    assert (document["account"], document["results"]) == (None, [])
    states = {entry["check"]: entry["state"] for entry in document["machine"]}
    assert states["plugin eks v4.4.0"] == states["AWS CLI"] == "problem"
    error = document["error"]
    assert error["doing"] == "looking for AWS credentials"
    assert "found no AWS credentials" in error["happened"]
    assert "target.profile" in error["hint"]
    assert error["exitCode"] == ExitCode.INVALID
    assert f"error: looking for AWS credentials: {error['happened']}" in result.stderr


def test_preflight_reports_success_as_json(spec: Callable[[Data], Path]) -> None:
    assert _only_document(_run("preflight", spec(EXISTING)))["error"] is None


def test_a_cluster_without_a_kubeconfig(spec: Callable[[Data], Path]) -> None:
    document = _only_document(_run("plan", spec(EXISTING), "--live"))
    assert (document["apiVersion"], document["kind"]) == ("mlcluster/v1alpha1", "Error")
    assert "there is no kubeconfig" in document["happened"]
    assert (document["hint"], document["exitCode"]) == ("Set `target.kubeconfig`, or KUBECONFIG.", 1)


@pytest.mark.parametrize(
    "verb", [["validate"], ["plan"], ["preflight"], ["status"], ["doctor"], ["plugins", "list"]], ids=" ".join
)
@pytest.mark.parametrize("text", [None, "kind: [", "kind: Cluster\n"], ids=["missing", "no YAML", "invalid"])
def test_a_spec_that_cannot_be_used(verb: list[str], text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    result = _run(*verb, path)
    assert result.exit_code == ExitCode.INVALID
    assert _only_document(result)["kind"] == ("DoctorReport" if verb == ["doctor"] else "SpecProblems")


def test_a_spec_given_as_a_directory(tmp_path: Path) -> None:
    assert _only_document(_run("plugins", "list", tmp_path))["kind"] == "SpecProblems"


def test_the_status_of_a_lab_that_cannot_be_named() -> None:
    result = _run("lab", "status", "--name", "Not A Name")
    assert isinstance(result.exception, MlclusterError)
    assert _only_document(result)["kind"] == "Error"


@pytest.mark.parametrize("output", ["json", "jsonl"])
def test_a_bug(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert failures.report(KeyError("secret"), output) is ExitCode.BUG
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["exitCode"]) == ("Error", 3)
    assert document["happened"] == "this is a bug in mlcluster: KeyError"
    assert "please report it with" in document["hint"]


@pytest.mark.parametrize("output", ["json", "jsonl"])
def test_ctrl_c(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert failures.report(KeyboardInterrupt(), output) is ExitCode.INTERRUPTED
    assert json.loads(capsys.readouterr().out)["exitCode"] == 130


def test_text_puts_errors_on_standard_error_alone(capsys: pytest.CaptureFixture[str]) -> None:
    failures.report(MlclusterError("opening", "it is closed", "Open it."), "text")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "error: opening: it is closed\nhint:  Open it.\n")


@pytest.mark.parametrize("error", [MlclusterError("opening", "it is closed"), KeyError("a bug"), KeyboardInterrupt()])
def test_a_full_disk_under_standard_output_does_not_hide_the_error(
    error: BaseException, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = failures.report(error, "text")
    told = capsys.readouterr().err
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr("sys.stdout", full)
        assert failures.report(error, "json") is expected
        full.flush()  # as the interpreter does when it ends
    assert told.splitlines()[0] in capsys.readouterr().err


@pytest.mark.parametrize(("target", "reason"), [("pipe", "its reader has ended"), ("disk", "No space left on device")])
@pytest.mark.parametrize("size", [1, 100_000])
def test_output_that_cannot_be_written_is_no_bug(
    target: str, reason: str, size: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`mlcluster plan | head -1`, `mlcluster plan > file`."""
    with _broken_output(target) as stream:
        monkeypatch.setattr("sys.stdout", stream)
        with pytest.raises(MlclusterError) as caught:
            print_result("a plan" * size)
        stream.flush()  # as the interpreter does when it ends
        assert failures.report(caught.value) is ExitCode.INVALID
    assert capsys.readouterr().err == f"error: writing to standard output: {reason}\n"


def _broken_output(target: str) -> TextIO:
    if target == "disk":
        return Path("/dev/full").open("w", encoding="utf-8")
    workspace, writing = os.pipe()
    os.close(workspace)
    return os.fdopen(writing, "w", encoding="utf-8")


def test_problems_that_cannot_be_written_are_not_silent(
    spec: Callable[[Data], Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SpecInvalidError) as caught:
        load_workspace(spec({"kind": "nowhere"}))
    with _broken_output("disk") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        assert failures.report(caught.value, "json") is ExitCode.INVALID
    assert capsys.readouterr().err == "error: writing to standard output: No space left on device\n"


def test_another_broken_pipe_is_a_bug(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLCLUSTER_STATE_DIR", str(tmp_path / "state"))
    assert failures.report(BrokenPipeError(32, "Broken pipe")) is ExitCode.BUG
