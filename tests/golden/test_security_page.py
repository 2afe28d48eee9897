"""docs/security.md names every admission policy of the plans, and no other."""

import re
from pathlib import Path

import pytest

from tests.specs import EXISTING, SYSTEM, TRAIN, Data, manifests, planned

pytestmark = pytest.mark.golden
VOLCANO = [{"name": "research"}, {"name": "simulation", "scheduler": "volcano", "guarantee": {"train": {"nodes": 1}}}]


def test_every_policy_is_explained(project_root: Path) -> None:
    page = (project_root / "docs" / "security.md").read_text("utf-8")
    components: Data = {"jobSet": {}, "mpiOperator": {}, "kubeRay": {}, "volcano": {}}
    plan = planned(SYSTEM, TRAIN, target=EXISTING, components=components, teams=VOLCANO)
    policies = set(manifests(plan, "ValidatingAdmissionPolicy"))
    assert "mlcluster-volcano" in policies
    assert set(re.findall(r"`(mlcluster-[a-z-]+)`", page)) == policies
