"""The inputs of a stack's program under plain `pulumi up`, which come from the Pulumi config."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest

from mlcluster.kube.gates import Gates
from stacks import plain
from tests.specs import EXISTING, SYSTEM, cluster

pytestmark = pytest.mark.unit


class Recorder:
    """A program that records its arguments."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}

    def __call__(self, plan: Any, **given: Any) -> None:
        self.given = {"plan": plan, **given}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """Write the Pulumi config of a stack whose cluster receives no request."""
    path, spec = tmp_path / "kubeconfig", tmp_path / "cluster.yaml"
    spec.write_text(json.dumps(cluster(SYSTEM, target=EXISTING)), "utf-8")
    parts = {
        "contexts": [{"name": "a", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    }
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "a", **parts}), "utf-8")
    config = {"spec": str(spec), "kubeconfig": str(path), "clusterUid": "uid-1"}
    pulumi.runtime.set_all_config({f"mlcluster:{key}": value for key, value in config.items()})
    yield path
    pulumi.runtime.set_all_config({})


def test_the_platform_waits_for_its_releases(kubeconfig: Path) -> None:
    recorder = Recorder()
    plain.run(recorder, waits=True)
    ready = recorder.given.pop("ready")
    assert isinstance(ready, Gates)
    assert recorder.given.pop("plan").cluster.name == "atlas"
    assert recorder.given == {"kubeconfig": str(kubeconfig), "context": None, "cluster_uid": "uid-1"}
    ready._kube.close()


def test_other_stacks_and_previews_do_not_wait(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    plain.run(recorder)
    assert recorder.given["kubeconfig"] == str(kubeconfig)
    assert "ready" not in recorder.given
    monkeypatch.setattr("pulumi.runtime.is_dry_run", lambda: True)
    plain.run(recorder, waits=True)
    assert "ready" not in recorder.given
