"""examples/eks-smoke.sh with simulated `mlcluster`, `kubectl` and `aws`; the plan is a golden file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mlcluster.deploy.session.workspace import load_workspace
from mlcluster.plan.document import to_document

pytestmark = pytest.mark.golden

STAND_IN = """#!/bin/sh
printf '%s\\n' "{name} $*" >>"$JOURNAL"
case "{name} $*" in *"$BROKEN"*) [ -z "$BROKEN" ] || {{ echo broken; exit 1; }} ;; esac
case "{name} $1 $*" in
mlcluster\\ plan*) cat "$PLAN" ;;
mlcluster\\ status*json) echo "{{\\"state\\": \\"$STATE\\"}}" ;;
mlcluster\\ up*jsonl) echo "{{\\"changed\\": $AGAIN, \\"kubeconfig\\": \\"/made/up\\"}}" ;;
mlcluster\\ down*--yes*) echo "$LEFT" ;;
mlcluster\\ up*changed.yaml*) cp "$2" "$JOURNAL.changed.yaml" ;;
kubectl\\ apply*) cp "$3" "$JOURNAL.job.yaml" ;;
esac
"""
USUAL = {"EKS_SMOKE_YES": "1", "EKS_SMOKE_PAUSE": "0", "EKS_SMOKE_MINUTES": "0", "BROKEN": "", "STATE": "absent"}


class Walk:
    """One run of the script."""

    def __init__(self, root: Path, folder: Path, spec: str, **changed: str) -> None:
        programs = folder / "bin"
        programs.mkdir()
        for name in ("mlcluster", "kubectl", "aws"):
            (programs / name).write_text(STAND_IN.format(name=name))
            (programs / name).chmod(0o755)
        (programs / "python3").symlink_to(sys.executable)
        own = {
            **USUAL,
            "AGAIN": "0",
            "PLAN": str(root / "tests" / "golden" / "eks-minimal.plan.json"),
            "LEFT": "atlas: nothing left",
            "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "JOURNAL": str(folder / "journal"),
            **changed,
        }
        done = subprocess.run(
            ["sh", "examples/eks-smoke.sh", *([spec] if spec else [])],
            check=False, capture_output=True, text=True, cwd=root, env={**os.environ, **own}, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self.code, self.said, self.printed = done.returncode, done.stderr, done.stdout
        self.folder = folder
        journal = folder / "journal"
        self.calls = journal.read_text().splitlines() if journal.exists() else []

    @property
    def verbs(self) -> list[str]:
        """Return the verbs of mlcluster in their order."""
        return [call.split()[1] for call in self.calls if call.startswith("mlcluster ")]


@pytest.fixture
def minimal(project_root: Path) -> str:
    return str(project_root / "examples" / "eks-minimal.yaml")


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_script_parses_in_each_shell(project_root: Path, shell: str) -> None:
    parsed = subprocess.run(
        [shell, "-n", "examples/eks-smoke.sh"], check=False, capture_output=True, text=True, cwd=project_root
    )
    assert (parsed.returncode, parsed.stderr) == (0, "")


def test_from_preflight_to_nothing_left(project_root: Path, tmp_path: Path, minimal: str) -> None:
    walk = Walk(project_root, tmp_path, minimal)
    assert walk.code == 0, f"{walk.printed}\n{walk.said}"
    once = [verb for verb, before in zip(walk.verbs, ["", *walk.verbs], strict=False) if verb != before]
    assert once == ["validate", "plan", "status", "preflight", "preview", "up", "preview", "up", "status", "down"]
    assert "mlcluster down" in walk.calls[-1]
    assert "--delete-retained" not in walk.calls[-1]
    job = yaml.safe_load((tmp_path / "journal.job.yaml").read_text())
    assert job["metadata"]["namespace"] == "research"
    changed = yaml.safe_load((tmp_path / "journal.changed.yaml").read_text())
    assert changed["nodePools"][1]["labels"] == {"example.com/smoke": "yes"}


def test_team_pool_and_resource_come_from_the_plan(project_root: Path, tmp_path: Path) -> None:
    plan = to_document(load_workspace(project_root / "examples" / "eks-serving.yaml").plan)
    plan["pools"] = [pool for pool in plan["pools"] if pool["name"] in {"system", "slices"}]
    for part in (plan["pools"][1]["usable"], *(quota["nominal"] for team in plan["teams"] for quota in team["quotas"])):
        part["nvidia.com/mig-1g.5gb"] = part.pop("nvidia.com/gpu", 0)
    plan["pools"][1]["accelerator"]["resource"] = "nvidia.com/mig-1g.5gb"
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    spec = project_root / "examples" / "eks-serving.yaml"
    own = {"PLAN": str(tmp_path / "plan.json"), "EKS_SMOKE_IMAGE": "example.com/smi:1", "EKS_SMOKE_DELETE_KEPT": "1"}
    walk = Walk(project_root, tmp_path, str(spec), **own)
    assert walk.code == 0, f"{walk.printed}\n{walk.said}"
    job = yaml.safe_load((tmp_path / "journal.job.yaml").read_text())
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "example.com/smi:1"
    assert container["resources"]["limits"]["nvidia.com/mig-1g.5gb"] == "1"
    assert "nvidia.com/gpu" not in container["resources"]["requests"]
    assert "--delete-retained Key/beacon-secrets" in walk.calls[-1]
    assert any("--selector mlcluster.dev/pool=slices" in call for call in walk.calls)


@pytest.mark.parametrize("broken", ["mlcluster preflight", "mlcluster preview"])
def test_nothing_is_created_after_a_failed_check(project_root: Path, tmp_path: Path, minimal: str, broken: str) -> None:
    walk = Walk(project_root, tmp_path, minimal, BROKEN=broken)
    assert walk.code != 0
    assert "Stopped before anything was made" in walk.said
    assert not {"up", "down"} & set(walk.verbs)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"BROKEN": "mlcluster up"}, "while the cluster was made"),
        ({"AGAIN": "3"}, "3 changes where there should be none"),
        ({"BROKEN": "condition=Ready node"}, "a node of pool gpu is ready: not within 0 minutes"),
        ({"BROKEN": "condition=Complete"}, "the job is complete: not within 0 minutes"),
        ({"BROKEN": "changed.yaml"}, "at the change"),
        ({"BROKEN": "mlcluster down"}, "while the cluster was being deleted"),
        ({"LEFT": "The account was not searched"}, "which did not say that nothing is left"),
    ],
)
def test_a_failure_stops_the_script_and_names_the_down_command(
    project_root: Path, tmp_path: Path, minimal: str, changed: dict[str, str], told: str
) -> None:
    walk = Walk(project_root, tmp_path, minimal, **changed)
    assert walk.code != 0
    assert told in walk.said
    assert f"mlcluster down {minimal} --plan\n  mlcluster down {minimal}\n" in walk.said


def test_an_existing_cluster_is_left_unchanged(project_root: Path, tmp_path: Path, minimal: str) -> None:
    walk = Walk(project_root, tmp_path, minimal, STATE="ready")
    assert walk.code != 0
    assert "sprout is there already" in walk.said
    assert not {"up", "down"} & set(walk.verbs)


def test_without_a_terminal_the_answer_is_no(project_root: Path, tmp_path: Path, minimal: str) -> None:
    walk = Walk(project_root, tmp_path, minimal, EKS_SMOKE_YES="")
    assert walk.code != 0
    assert "EKS_SMOKE_YES=1" in walk.said
    assert "up" not in walk.verbs


@pytest.mark.parametrize(("spec", "told"), [("", "name the spec file"), ("nowhere.yaml", "does not exist")])
def test_no_spec(project_root: Path, tmp_path: Path, spec: str, told: str) -> None:
    walk = Walk(project_root, tmp_path, spec)
    assert walk.code != 0
    assert told in walk.said
    assert walk.calls == []


def test_other_targets_are_refused(project_root: Path, tmp_path: Path) -> None:
    plan = str(project_root / "tests" / "golden" / "lab.plan.json")
    walk = Walk(project_root, tmp_path, str(project_root / "examples" / "lab.yaml"), PLAN=plan)
    assert walk.code != 0
    assert "not for the target eks" in walk.said
    assert "up" not in walk.verbs


def test_no_other_target_of_make_runs_it(project_root: Path) -> None:
    makefile = (project_root / "Makefile").read_text("utf-8")
    users = [line for line in makefile.splitlines() if "eks-smoke" in line and not line.startswith((".PHONY", "#"))]
    assert users == ["eks-smoke: install", "\t@sh examples/eks-smoke.sh $(SPEC)"]
