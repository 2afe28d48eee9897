"""A preview before there is a cluster is the plan, and is labelled as such."""

from pathlib import Path

import pytest

from mlcluster.verbs.previewing import planned_text
from mlcluster.verbs.reading import read

pytestmark = pytest.mark.unit


def test_plan_stands_for_the_preview(project_root: Path) -> None:
    reading = read(project_root / "examples" / "lab.yaml")
    text = planned_text(reading)
    everything = len(reading.plan.resources) + len(reading.plan.objects)  # Kueue's release is a process of the lab
    assert text.startswith("Cluster lab")
    assert text.endswith(f"planned, not previewed: no cluster yet; {everything} to create")
