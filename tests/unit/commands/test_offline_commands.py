"""`validate`, `plan`, and the checks of `up` before it connects to a cluster."""

import json
from pathlib import Path
from typing import Any

import pytest

from mlcluster.commands.plan import plan
from mlcluster.commands.validate import validate
from mlcluster.deploy.preview.checks import state_findings
from mlcluster.deploy.preview.findings import report_findings
from mlcluster.deploy.session.workspace import load_workspace
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.plan.document import to_json
from mlcluster.report.screen import Screen
from mlcluster.rules.allowances import with_reasons
from mlcluster.spec.yaml_reader import read_yaml
from tests.specs import EXISTING, SHAPE, SYSTEM, Data, cluster

pytestmark = pytest.mark.unit

DEAR: Data = {**SHAPE, "nodeShape": {**SHAPE["nodeShape"], "hourlyUsd": 100}}
BUDGET: Data = {"maxHourlyUsd": 3}
REASON = "this is paid for already"


@pytest.fixture(autouse=True)
def _no_settings_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "MLCLUSTER_BACKEND_URL", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Return a function that writes a spec of these pools and parts."""

    def written(*pools: Data, **rest: Any) -> Path:
        path = tmp_path / "cluster.yaml"
        path.write_text(json.dumps(cluster(*pools, **rest)), encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [
        ("error", ExitCode.FINDINGS),
        ("warning", ExitCode.FINDINGS),
        ("info", ExitCode.FINDINGS),
        ("never", ExitCode.OK),
    ],
)
def test_an_error_fails_at_every_level_but_never(write: Any, fail_on: str, code: ExitCode) -> None:
    assert validate(write(DEAR, budget=BUDGET), "text", fail_on) is code


@pytest.mark.parametrize(
    ("fail_on", "code"), [("error", ExitCode.OK), ("warning", ExitCode.FINDINGS), ("info", ExitCode.FINDINGS)]
)
def test_a_warning_fails_from_warning_on(write: Any, fail_on: str, code: ExitCode) -> None:
    assert validate(write(SYSTEM, budget=BUDGET), "text", fail_on) is code


def test_an_allowed_finding_fails_nothing(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(DEAR, budget=BUDGET, allow=[{"id": "CST001", "reason": REASON}])
    assert validate(path, "json", "info") is ExitCode.OK
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["id"], finding["allowed"]) == ("CST001", REASON)


def test_a_clean_spec_passes_at_every_level(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(SYSTEM)
    assert validate(path, "text", "info") is ExitCode.OK
    assert capsys.readouterr().out == f"{path}: valid\n"


def test_a_plan_in_every_format(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(SYSTEM)
    expected = to_json(load_workspace(path).plan)
    assert plan(path, "json") is ExitCode.OK
    assert capsys.readouterr().out == expected
    assert plan(path, "yaml") is ExitCode.OK
    assert read_yaml(capsys.readouterr().out, "plan").data == json.loads(expected)
    assert plan(path, "text") is ExitCode.OK
    assert capsys.readouterr().out.startswith("Cluster atlas   target local")


def test_an_error_stops_up_with_two_ways_on(write: Any) -> None:
    workspace = load_workspace(write(DEAR, budget=BUDGET))
    with pytest.raises(MlclusterError) as caught:
        report_findings(workspace, workspace.findings, Screen("text", color=False))
    assert caught.value.happened.startswith("CST001: at maximum size the nodes cost $200.00 an hour")
    assert "raise the budget; or accept it" in caught.value.hint
    assert "allow: [{id: CST001, reason: " in caught.value.hint


def test_more_errors_are_counted(write: Any) -> None:
    taints = [{"key": f"t{index}", "effect": "NoSchedule"} for index in range(9)]
    workspace = load_workspace(write({**DEAR, "taints": taints}, budget=BUDGET))
    with pytest.raises(MlclusterError, match=r"CAP002: .* \(and 1 more, above\)"):
        report_findings(workspace, workspace.findings, Screen("text", color=False))


@pytest.mark.parametrize(
    ("pool", "allow", "printed"),
    [(SYSTEM, [], "warning CST002: "), (DEAR, [{"id": "CST001", "reason": REASON}], f"(allowed: {REASON})")],
)
def test_warnings_and_allowed_errors_are_printed_and_do_not_stop_up(
    write: Any, capsys: pytest.CaptureFixture[str], pool: Data, allow: list[Data], printed: str
) -> None:
    workspace = load_workspace(write(pool, budget=BUDGET, allow=allow))
    report_findings(workspace, workspace.findings, Screen("text", color=False))
    assert printed in capsys.readouterr().err


class TestSTA001:
    def test_local_files_on_a_ci_machine(self, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CI", "true")
        (finding,) = state_findings(load_workspace(write(SYSTEM, target=EXISTING)))
        assert (finding.id, finding.place, finding.blocks) == ("STA001", ("state",), True)

    def test_allowed_with_a_reason(self, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CI", "true")
        path = write(SYSTEM, target=EXISTING, allow=[{"id": "STA001", "reason": REASON}])
        workspace = load_workspace(path)
        (finding,) = with_reasons(state_findings(workspace), workspace.spec)
        assert not finding.blocks

    def test_elsewhere_or_shared_or_in_a_lab(self, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        assert state_findings(load_workspace(write(SYSTEM, target=EXISTING))) == ()
        monkeypatch.setenv("CI", "true")
        assert state_findings(load_workspace(write(SYSTEM))) == ()
        assert (
            state_findings(load_workspace(write(SYSTEM, target=EXISTING, state={"backend": "s3://team-state"}))) == ()
        )
        monkeypatch.setenv("MLCLUSTER_BACKEND_URL", "s3://team-state")
        assert state_findings(load_workspace(write(SYSTEM, target=EXISTING))) == ()
