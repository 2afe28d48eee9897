"""`mlcluster preflight`, and its checks in `preview` and `up`. The responses of the account are constructed."""

import json
from pathlib import Path
from typing import Any

import pytest

from mlcluster.aws.errors import CredentialsError
from mlcluster.aws.session import Account
from mlcluster.checks.model import Check, ok, problem
from mlcluster.commands.preflight import preflight, preflight_of
from mlcluster.deploy.preview.account import preflight_findings
from mlcluster.deploy.session.workspace import Workspace, load_workspace
from mlcluster.errors import ExitCode
from mlcluster.progress import Silent
from tests.fakes.aws_fine import EKS, fine, quota
from tests.fakes.aws_responses import ACCOUNT, Answers, Refused, no_network
from tests.specs import EXISTING, LOCAL, SYSTEM, Data, cluster

pytestmark = pytest.mark.unit

POOR = quota(8)
REASON = "the quota is being raised"


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    no_network(monkeypatch)
    for name in ("FORCE_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)


def loaded_workspace(tmp_path: Path, target: Data = EKS, **rest: Any) -> Workspace:
    path = tmp_path / "cluster.yaml"
    pool = {**SYSTEM, "minSize": 2} if target["kind"] == "eks" else SYSTEM
    path.write_text(json.dumps(cluster(pool, target=target, **rest), indent=1), encoding="utf-8")
    return load_workspace(path)


class Opened:
    """Replaces `open_account` and keeps its arguments."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers.on("eks", "DescribeAddonVersions", _every_addon)
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *called: Any, progress: Any) -> Account:
        self.calls.append(called)
        return self.answers.account()


def _every_addon(parameters: dict[str, Any]) -> dict[str, Any]:
    """Responds with the versions that the catalog pins."""
    from mlcluster.catalog.eks import eks_version

    pins = eks_version(parameters["kubernetesVersion"])
    assert pins is not None
    listed = [{"addonName": name, "addonVersions": [{"addonVersion": one}]} for name, one in pins.addons.items()]
    return {"addons": listed}


def nothing(_workspace: Workspace) -> list[Check]:
    """Replace the checks of this machine."""
    return []


def lacking(_workspace: Workspace) -> list[Check]:
    """Replace the checks with those of a machine without a plugin."""
    return [ok("AWS CLI", "aws 2.7.0"), problem("plugin eks v4.4.0", "not installed", "Install it.")]


def poor() -> Answers:
    return fine().on("service-quotas", "GetServiceQuota", POOR)


def test_a_fine_account_is_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = Opened(fine())
    workspace = loaded_workspace(tmp_path)
    assert preflight_of(workspace, "text", Silent(), opened, nothing) is ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        f"AWS account {ACCOUNT}, us-west-2, as arn:aws:sts::{ACCOUNT}:assumed-role/platform/alice"
    )
    assert lines[1].split() == ["CHECK", "RESULT", "EVIDENCE"]
    assert any(line.startswith("vCPU quotas         fine") for line in lines)
    assert any(line.startswith("reservations        not needed  no pool has a reservation") for line in lines)
    assert lines[-1].startswith(f"{workspace.path}: ")
    assert lines[-1].endswith("checks fine")
    assert opened.calls == [("us-west-2", None)]


def test_an_error_is_shown_at_its_line_and_is_exit_code_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert preflight_of(loaded_workspace(tmp_path), "text", Silent(), Opened(poor()), nothing) is ExitCode.FINDINGS
    out = capsys.readouterr().out
    assert "vCPU quotas         AWS004" in out
    assert "nodePools[0] (system).maxSize: error AWS004: the quota" in out
    assert '"maxSize": 4' in out
    assert "1 error that stop `up`" in out or "2 errors that stop `up`" in out


def test_an_allowed_error_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace = loaded_workspace(tmp_path, allow=[{"id": "AWS004", "reason": REASON}])
    assert preflight_of(workspace, "text", Silent(), Opened(poor()), nothing) is ExitCode.OK
    out = capsys.readouterr().out
    assert "AWS004 (allowed)" in out
    assert f"(allowed: {REASON})" in out


def test_an_unknown_result_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = fine().on("iam", "GetRole", Refused("AccessDenied", status=403))
    assert preflight_of(loaded_workspace(tmp_path), "text", Silent(), Opened(answers), nothing) is ExitCode.OK
    out = capsys.readouterr().out
    assert "AWS denied iam:GetRole (AccessDenied)" in out
    assert "info AWS011: service roles: unknown, because the permission iam:GetRole is missing" in out
    assert out.endswith(", 1 unknown\n")


def test_the_same_as_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert preflight_of(loaded_workspace(tmp_path), "json", Silent(), Opened(poor()), nothing) is ExitCode.FINDINGS
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["target"], document["account"]) == ("PreflightReport", "eks", ACCOUNT)
    (quotas,) = [result for result in document["results"] if result["check"] == "vCPU quotas"]
    assert (quotas["status"], quotas["findings"][0]["id"]) == ("found", "AWS004")
    assert quotas["findings"][0]["path"] == "nodePools[0] (system).maxSize"
    assert "servicequotas:GetServiceQuota" in quotas["asked"]


def test_missing_local_prerequisites_are_shown_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert preflight_of(loaded_workspace(tmp_path), "text", Silent(), Opened(fine()), lacking) is ExitCode.INVALID
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "This machine"
    assert lines[1].split() == ["ok", "AWS", "CLI", "aws", "2.7.0"]
    assert lines[3].strip() == "fix: Install it."
    assert lines[4] == "1 ok, 1 problem"
    assert preflight_of(loaded_workspace(tmp_path), "json", Silent(), Opened(poor()), lacking) is ExitCode.FINDINGS
    machine = json.loads(capsys.readouterr().out)["machine"]
    assert machine[1] == {
        "check": "plugin eks v4.4.0", "state": "problem", "found": "not installed", "fix": "Install it."
    }  # fmt: skip


def test_missing_local_prerequisites_are_shown_without_credentials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CredentialsError):
        preflight_of(loaded_workspace(tmp_path), "text", Silent(), machine=lacking)
    assert "plugin eks v4.4.0" in capsys.readouterr().out


@pytest.mark.parametrize("target", [LOCAL, EXISTING])
def test_other_targets_have_no_preflight_checks(
    target: Data, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = loaded_workspace(tmp_path, target).path
    assert preflight(path, "text") is ExitCode.OK
    assert f"`mlcluster preview {path}` checks the cluster" in capsys.readouterr().out
    assert preflight(path, "json") is ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["target"], document["results"]) == ("PreflightReport", target["kind"], [])


def test_no_credentials_are_an_error_of_the_verb(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="found no AWS credentials") as caught:
        preflight(loaded_workspace(tmp_path).path, "text")
    assert caught.value.exit_code is ExitCode.INVALID


def test_preview_sends_no_request_without_credentials(tmp_path: Path) -> None:
    opened = Opened(fine())
    assert preflight_findings(loaded_workspace(tmp_path), Silent(), opened) is None
    assert opened.calls == []


def test_preview_has_no_preflight_checks_on_other_targets(tmp_path: Path) -> None:
    assert preflight_findings(loaded_workspace(tmp_path, LOCAL), Silent()) == ()


def test_preview_has_the_findings_with_the_allowances_of_the_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    workspace = loaded_workspace(tmp_path, allow=[{"id": "AWS004", "reason": REASON}])
    found = preflight_findings(workspace, Silent(), Opened(poor()))
    assert found is not None
    assert {(finding.id, finding.allowed) for finding in found} == {("AWS004", REASON)}
