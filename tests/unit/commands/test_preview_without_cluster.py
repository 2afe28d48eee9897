"""A preview before there is a cluster is the plan, and is labelled as such."""

from pathlib import Path

import pytest

from mlcluster.deploy.preview.changes import planned_text
from mlcluster.deploy.session.workspace import load_workspace

pytestmark = pytest.mark.unit


def test_plan_replaces_the_preview_without_a_cluster(project_root: Path) -> None:
    workspace = load_workspace(project_root / "examples" / "lab.yaml")
    text = planned_text(workspace)
    everything = len(workspace.plan.resources) + len(workspace.plan.objects)  # Kueue's release is a process of the lab
    assert text.startswith("Cluster lab")
    assert text.endswith(f"planned, not previewed: no cluster yet; {everything} to create")
