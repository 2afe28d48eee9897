"""What `up` would change on the nodes of an existing cluster, and what `down` takes off."""

import json
from pathlib import Path
from typing import Any

import pytest

from mlcluster.errors import MlclusterError
from mlcluster.progress import Silent
from mlcluster.verbs.node_marks import marks_of, planned_marks, put_marks, take_off_marks
from mlcluster.verbs.reading import Reading, read
from tests.fakes.api_server import FakeApiServer
from tests.specs import EXISTING, LOCAL, SHAPE, SYSTEM, Data, cluster

pytestmark = pytest.mark.unit
POOL: Data = {
    **SHAPE,
    "labels": {"ml-purpose": "training"},
    "taints": [{"key": "dedicated", "value": "training", "effect": "NoExecute"}],
    "applyToNodes": {"labels": True, "taints": True},
}


def reading(tmp_path: Path, *pools: Data, target: Data = EXISTING) -> Reading:
    path = tmp_path / "cluster.yaml"
    path.write_text(json.dumps(cluster(*pools, target=target)), "utf-8")
    return read(path)


@pytest.fixture
def server() -> FakeApiServer:
    """Two nodes of the pool, and one of another."""
    server = FakeApiServer()
    for name, pool in (("own-0", "own"), ("own-1", "own"), ("system-0", "system")):
        metadata = {"name": name, "labels": {"example.com/pool": pool}}
        server.put({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}})
    return server


def labels(server: FakeApiServer, name: str) -> Any:
    return (server.get("Node", name) or {})["metadata"]["labels"]


def test_each_label_and_taint_is_shown_with_the_number_of_nodes(server: FakeApiServer, tmp_path: Path) -> None:
    found = reading(tmp_path, SYSTEM, POOL)
    assert planned_marks(found, server.kube()) == [
        "2 nodes get label ml-purpose=training",
        "2 nodes get taint dedicated=training:NoExecute, which evicts running pods that do not tolerate it",
    ]


def test_up_puts_them_on_and_down_takes_them_off(server: FakeApiServer, tmp_path: Path) -> None:
    found = reading(tmp_path, SYSTEM, POOL)
    kube = server.kube()
    put_marks(found, kube, Silent())
    assert labels(server, "own-1") == {"example.com/pool": "own", "ml-purpose": "training"}
    assert labels(server, "system-0") == {"example.com/pool": "system"}
    assert planned_marks(found, kube) == []
    metadata = {"name": "own-2", "labels": {"example.com/pool": "own"}}
    server.put({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}})
    assert planned_marks(found, kube)[0] == "1 node gets label ml-purpose=training"
    put_marks(found, kube, Silent())
    take_off_marks(kube, Silent())
    for name in ("own-0", "own-1", "own-2"):
        assert labels(server, name) == {"example.com/pool": "own"}
        assert not (server.get("Node", name) or {})["spec"].get("taints")


def test_without_the_word_nothing_is_put_and_what_was_goes(server: FakeApiServer, tmp_path: Path) -> None:
    kube = server.kube()
    put_marks(reading(tmp_path, SYSTEM, POOL), kube, Silent())
    plain = reading(tmp_path, SYSTEM, {**POOL, "applyToNodes": {"taints": True}})
    assert planned_marks(plain, kube) == ["2 nodes lose label ml-purpose"]
    silent = reading(tmp_path, SYSTEM, {key: value for key, value in POOL.items() if key != "applyToNodes"})
    assert planned_marks(silent, kube) == [
        "2 nodes lose label ml-purpose",
        "2 nodes lose taint dedicated=training:NoExecute",
    ]


def test_other_targets_make_their_nodes_with_them(server: FakeApiServer, tmp_path: Path) -> None:
    found = reading(tmp_path, SYSTEM, target=LOCAL)
    assert marks_of(found) == []
    assert planned_marks(found, server.kube()) == []


def test_who_may_not_patch_nodes_is_told_before_anything_is_done(server: FakeApiServer, tmp_path: Path) -> None:
    server.can = lambda spec: spec["resourceAttributes"]["resource"] != "nodes"
    with pytest.raises(MlclusterError, match="we may not change nodes"):
        planned_marks(reading(tmp_path, SYSTEM, POOL), server.kube())
