"""Which programs a run finds before it changes anything."""

from pathlib import Path

import pytest

from mlcluster.deploy.session.tools import tools_of
from mlcluster.errors import MlclusterError
from mlcluster.progress import Silent
from tests.fakes.remembering import workspace_of
from tests.specs import EXISTING, SYSTEM, Data

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has the engine on PATH, no Helm, and nothing to build it with."""
    monkeypatch.setenv("MLCLUSTER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("MLCLUSTER_HELM", raising=False)
    (tmp_path / "pulumi").write_text("#!/bin/sh\necho v3.259.0\n")
    (tmp_path / "pulumi").chmod(0o755)


def test_a_wrong_helm_is_told_first_with_the_releases_that_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCLUSTER_HELM", "/no/such/helm")
    with pytest.raises(MlclusterError, match=r"/no/such/helm.*kueue") as caught:
        tools_of(workspace_of(SYSTEM, target=EXISTING), Silent())
    assert "MLCLUSTER_HELM" in str(caught.value.hint)


def test_helm_on_path_is_enough(tmp_path: Path) -> None:
    (tmp_path / "helm").write_text("#!/bin/sh\necho v3.19.0+g1\n")
    (tmp_path / "helm").chmod(0o755)
    assert tools_of(workspace_of(SYSTEM, target=EXISTING), Silent()).pulumi == tmp_path / "pulumi"


@pytest.mark.parametrize(
    "rest",
    [
        {"target": {**EXISTING, "kubernetesProvider": "official"}},
        {"target": EXISTING, "components": {"kueue": {"install": False}}},
    ],
    ids=["the official plugin has Helm inside", "no releases"],
)
def test_helm_is_not_asked_for_where_nothing_runs_it(
    rest: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLCLUSTER_HELM", "/no/such/helm")
    assert tools_of(workspace_of(SYSTEM, **rest), Silent()).pulumi == tmp_path / "pulumi"
