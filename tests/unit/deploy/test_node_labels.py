"""What `up` would change on the nodes of an existing cluster, and what `down` takes off."""

import json
from pathlib import Path
from typing import Any

import pytest

from mlcluster.deploy.node_labels import marks_of, planned_marks, put_labels_first, put_marks, take_off_marks
from mlcluster.deploy.session.workspace import Workspace, load_workspace
from mlcluster.errors import MlclusterError
from mlcluster.plan.components.assembly import contributions
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.index import selected
from mlcluster.plan.components.instruction_labels import is_instruction
from mlcluster.plan.components.nvidia_device_plugin import MPS_CAPABLE
from mlcluster.plan.pools import plan_pools
from mlcluster.progress import Silent
from mlcluster.spec.load import parse
from tests.fakes.api_server import FakeApiServer
from tests.specs import EXISTING, LOCAL, SHAPE, SYSTEM, Data, cluster

pytestmark = pytest.mark.unit
POOL: Data = {
    **SHAPE,
    "labels": {"ml-purpose": "training"},
    "taints": [{"key": "dedicated", "value": "training", "effect": "NoExecute"}],
    "applyToNodes": {"labels": True, "taints": True},
}


def workspace(tmp_path: Path, *pools: Data, target: Data = EXISTING, **rest: Any) -> Workspace:
    path = tmp_path / "cluster.yaml"
    path.write_text(json.dumps(cluster(*pools, target=target, **rest)), "utf-8")
    return load_workspace(path)


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
    found = workspace(tmp_path, SYSTEM, POOL)
    assert planned_marks(found, server.kube()) == [
        "2 nodes get label ml-purpose=training",
        "2 nodes get taint dedicated=training:NoExecute, which evicts running pods that do not tolerate it",
    ]


def test_up_puts_them_on_and_down_takes_them_off(server: FakeApiServer, tmp_path: Path) -> None:
    found = workspace(tmp_path, SYSTEM, POOL)
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
    put_marks(workspace(tmp_path, SYSTEM, POOL), kube, Silent())
    plain = workspace(tmp_path, SYSTEM, {**POOL, "applyToNodes": {"taints": True}})
    assert planned_marks(plain, kube) == ["2 nodes lose label ml-purpose"]
    silent = workspace(tmp_path, SYSTEM, {key: value for key, value in POOL.items() if key != "applyToNodes"})
    assert planned_marks(silent, kube) == [
        "2 nodes lose label ml-purpose",
        "2 nodes lose taint dedicated=training:NoExecute",
    ]


def test_other_targets_make_their_nodes_with_them(server: FakeApiServer, tmp_path: Path) -> None:
    found = workspace(tmp_path, SYSTEM, target=LOCAL)
    assert marks_of(found) == []
    assert planned_marks(found, server.kube()) == []


def test_who_may_not_patch_nodes_is_told_before_anything_is_done(server: FakeApiServer, tmp_path: Path) -> None:
    server.can = lambda spec: spec["resourceAttributes"]["resource"] != "nodes"
    with pytest.raises(MlclusterError, match="we may not change nodes"):
        planned_marks(workspace(tmp_path, SYSTEM, POOL), server.kube())


OPTS_OUT: Data = {
    "name": "ready",
    "nodeShape": {"cpu": "64", "memory": "512Gi", "gpu": {"model": "a100", "count": 8, "memoryMib": 81920}},
    "maxSize": 2,
    "gpu": {"imageBrings": ["driver", "toolkit"], "mig": "all-1g.10gb"},
    "applyToNodes": {"labels": True, "taints": True},
    "taints": [{"key": "dedicated", "value": "training", "effect": "NoSchedule"}],
}
BARE: Data = {**OPTS_OUT, "name": "bare", "gpu": {}, "applyToNodes": {}}
DRIVER = "nvidia.com/gpu.deploy.driver"
MIG = "nvidia.com/mig.config"


@pytest.fixture
def mixed(tmp_path: Path) -> Workspace:
    """The image of one pool brings the driver, so its nodes decline what the operator installs on the other."""
    return workspace(tmp_path, SYSTEM, OPTS_OUT, BARE, components={"gpuOperator": {}})


@pytest.fixture
def labelled() -> FakeApiServer:
    """The operator was quicker than `up`."""
    server = FakeApiServer()
    metadata = {"name": "ready-0", "labels": {"example.com/pool": "ready", DRIVER: "true"}}
    server.put({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}})
    return server


def test_an_instruction_to_a_component_goes_over_its_own_label(labelled: FakeApiServer, mixed: Workspace) -> None:
    kube = labelled.kube()
    assert f"1 node gets label {DRIVER}=false in place of true, which another client set" in planned_marks(mixed, kube)
    put_marks(mixed, kube, Silent())
    found = labels(labelled, "ready-0")
    assert (found[DRIVER], found["nvidia.com/gpu.deploy.container-toolkit"]) == ("false", "false")
    assert planned_marks(mixed, kube) == []


def test_before_the_platform_go_the_labels_that_need_nothing_of_it(labelled: FakeApiServer, mixed: Workspace) -> None:
    """A MIG layout is a name in a ConfigMap that comes with the platform; taints wait for what tolerates them."""
    kube = labelled.kube()
    put_labels_first(mixed, kube, Silent())
    assert labels(labelled, "ready-0")[DRIVER] == "false"
    assert MIG not in labels(labelled, "ready-0")
    assert planned_marks(mixed, kube) == [
        f"1 node gets label {MIG}=all-1g.10gb",
        "1 node gets taint dedicated=training:NoSchedule",
    ]
    put_marks(mixed, kube, Silent())
    assert labels(labelled, "ready-0")[MIG] == "all-1g.10gb"


def test_before_the_platform_nothing_of_ours_changes_its_layout_or_goes(
    labelled: FakeApiServer, mixed: Workspace, tmp_path: Path
) -> None:
    kube = labelled.kube()
    put_marks(mixed, kube, Silent())
    before = labels(labelled, "ready-0")
    pool = {**OPTS_OUT, "gpu": {"imageBrings": ["driver"], "mig": "all-2g.20gb"}, "taints": []}
    changed = workspace(tmp_path, SYSTEM, pool, BARE, components={"gpuOperator": {}})
    put_labels_first(changed, kube, Silent())
    assert labels(labelled, "ready-0") == before
    assert planned_marks(changed, kube) == [
        f"1 node gets label {MIG}=all-2g.20gb",
        "1 node loses label nvidia.com/gpu.deploy.container-toolkit",
        "1 node loses taint dedicated=training:NoSchedule",
    ]


def component_labels(path: Path) -> set[str]:
    """Keys of the labels that components put on the pools of a spec."""
    spec = parse(path.read_bytes(), str(path)).spec
    pools = plan_pools(spec)
    made = contributions(ComponentContext(spec, pools, selected(spec, pools)))
    return {key for one in made.values() for labels in one.node_labels.values() for key in labels}


def test_each_label_of_a_component_is_an_instruction_or_a_fact(tmp_path: Path) -> None:
    """A component that puts another label on nodes has to say which of the two it is."""
    golden = Path(__file__).parents[2] / "golden" / "components"
    mixed = tmp_path / "mixed.yaml"
    mixed.write_text(json.dumps(cluster(SYSTEM, OPTS_OUT, BARE, target=EXISTING, components={"gpuOperator": {}})))
    keys = {key for path in (*golden.glob("*/cluster.yaml"), mixed) for key in component_labels(path)}
    assert {key for key in keys if not is_instruction(key)} == {MPS_CAPABLE}
    assert {MIG, DRIVER, "nvidia.com/device-plugin.config"} <= keys
