"""What would be destroyed, what lives in it, and who said so."""

from typing import Any

import pytest

from mlcluster.deploy.contents import live_in
from mlcluster.deploy.preview.destruction import Destruction, destructions, refuse_unnamed
from mlcluster.engine.events import Change, Changes
from mlcluster.engine.identity import RELEASE, identity_of
from mlcluster.errors import MlclusterError
from mlcluster.plan import names
from tests.fakes.api_server import FakeApiServer
from tests.fakes.installed import put, serve
from tests.fakes.kueue import put_claim, put_job, put_pod

pytestmark = pytest.mark.unit
CLOUD = {
    "Cluster": "eks:index:Cluster",
    "FileSystem": "aws:efs/fileSystem:FileSystem",
    "LustreFileSystem": "aws:fsx/lustreFileSystem:LustreFileSystem",
    "NodeGroup": "aws:eks/nodeGroup:NodeGroup",
    "Vpc": "aws:ec2/vpc:Vpc",
}


def changes(**by_op: list[str]) -> Changes:
    """Changes by operation."""
    return Changes(tuple(_change(identifier, op) for op, ids in by_op.items() for identifier in ids))


def _change(identifier: str, op: str) -> Change:
    kind, *space, name = identifier.split("/")
    type_ = CLOUD.get(kind, f"kubernetes:core/v1:{kind}")
    metadata: dict[str, Any] = {"name": name, "namespace": "".join(space)}
    if kind == "Node":
        metadata["labels"] = {names.POOL: name.rpartition("-")[0]}
    inputs = {"tags": {names.POOL: name}} if kind in CLOUD else {"metadata": metadata}
    if kind == "Release":
        type_, inputs = RELEASE, metadata
    return Change(identifier, type_, op, identity=identity_of(type_, identifier, inputs))


def keys(*previews: Changes, server: FakeApiServer | None = None) -> list[str]:
    with (server or FakeApiServer()).kube() as kube:
        return [one.key for one in destructions(kube, previews)]


def test_namespaces_that_are_deleted_or_replaced() -> None:
    found = changes(delete=["Namespace/a", "ConfigMap/a/b"], replace=["Namespace/b"], update=["Namespace/c"])
    assert keys(found) == ["namespace/a", "namespace/b"]


def test_what_is_no_more_than_an_object_goes_without_a_word() -> None:
    assert keys(changes(delete=["ClusterQueue/a", "RoleBinding/a/mlcluster:edit"], create=["Namespace/x"])) == []


def test_a_pool_goes_when_all_its_nodes_go() -> None:
    assert keys(changes(delete=["Node/train-0", "Node/train-1"], same=["Node/system-0"])) == ["pool/train"]


def test_a_pool_of_an_existing_cluster_goes_with_its_flavor() -> None:
    assert keys(changes(delete=["ResourceFlavor/h100"], same=["ResourceFlavor/cpu"])) == ["pool/h100"]
    both = keys(changes(delete=["Node/train-0"]), changes(delete=["ResourceFlavor/train"]))
    assert both == ["pool/train"]


def test_a_flavor_of_another_topology_is_still_the_flavor_of_its_pool() -> None:
    assert keys(changes(delete=["ResourceFlavor/train.1a2b3c4d"], create=["ResourceFlavor/train.5e6f7a8b"])) == []
    gone = changes(delete=["ResourceFlavor/train.1a2b3c4d"], same=["ResourceFlavor/train-big.1a2b3c4d"])
    assert keys(gone) == ["pool/train"]


def test_resources_of_aws_that_hold_data_or_work() -> None:
    deleted = ["Cluster/atlas", "FileSystem/data", "LustreFileSystem/scratch", "NodeGroup/train", "Vpc/atlas"]
    expected = ["cluster/atlas", "network/atlas", "pool/train", "volume/data", "volume/scratch"]
    assert keys(changes(delete=deleted)) == expected
    assert keys(changes(replace=deleted)) == expected
    assert keys(changes(update=deleted)) == []


def test_a_pool_that_shrinks_does_not_go() -> None:
    assert keys(changes(delete=["Node/train-1"], same=["Node/train-0"])) == []
    assert keys(changes(delete=["Node/train-1"], update=["Node/train-0"])) == []


def test_a_pool_whose_nodes_are_all_replaced_goes() -> None:
    assert keys(changes(replace=["Node/train-0", "Node/train-1"])) == ["pool/train"]


def test_pools_with_names_that_begin_alike_are_told_apart() -> None:
    found = changes(delete=["Node/train-0", "Node/train-big-0"], same=["Node/train-1", "Node/train-bigger-0"])
    assert keys(found) == ["pool/train-big"]


def test_a_pool_of_karpenter_goes_with_its_node_pool() -> None:
    """Karpenter drains and ends all nodes of a NodePool that is deleted, also when it comes back at once."""
    assert keys(changes(replace=["NodePool/train"], same=["ResourceFlavor/train"])) == ["pool/train"]
    assert keys(changes(delete=["NodePool/train", "ResourceFlavor/train"])) == ["pool/train"]
    assert keys(changes(update=["NodePool/train"])) == []


def test_what_runs_on_the_nodes_of_a_node_pool_is_told() -> None:
    server = FakeApiServer()
    for node, pool in (("one", "train"), ("two", "other")):
        put(server, "v1", "Node", node, labels={"karpenter.sh/nodepool": pool})
    for name, node, phase in (("a", "one", "Running"), ("b", "two", "Running"), ("c", "one", "Succeeded")):
        put(server, "v1", "Pod", name, namespace="research", spec={"nodeName": node}, status={"phase": phase})
    daemon = put(server, "v1", "Pod", "d", namespace="kube-system", spec={"nodeName": "one"})
    daemon["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "d", "controller": True}]
    server.put(daemon)
    with server.kube() as kube:
        both = changes(delete=["NodePool/train", "ResourceFlavor/train"])
        assert destructions(kube, [both]) == [Destruction("pool", "train", ("1 pods (a)",))]


def test_volumes() -> None:
    found = changes(delete=["PersistentVolume/data", "PersistentVolumeClaim/a/data"])
    assert keys(found) == ["volume/a/data", "volume/data"]


def test_all_stacks_are_looked_at() -> None:
    assert keys(changes(delete=["Node/train-0"]), changes(delete=["Namespace/a"])) == ["namespace/a", "pool/train"]


def test_what_lives_in_a_namespace_is_told() -> None:
    server = FakeApiServer()
    for index in range(7):
        put_pod(server, f"p{index}", "a")
    put_pod(server, "done", "a", "Succeeded")
    put_pod(server, "broken", "a", "Failed")
    put_pod(server, "waits", "a", "Pending")
    put_pod(server, "elsewhere", "b")
    put_job(server, "busy", "a")
    put_job(server, "complete", "a", conditions=[{"type": "Complete", "status": "True"}])
    put_job(server, "failed", "a", conditions=[{"type": "Failed", "status": "True"}])
    put_claim(server, "data", "a")
    with server.kube() as kube:
        assert live_in(kube, "a") == ["1 jobs (busy)", "8 pods (p0, p1, p2, p3, p4, ...)", "1 volume claims (data)"]
        assert live_in(kube, "empty") == []
        (found,) = destructions(kube, [changes(delete=["Namespace/a"])])
    assert found == Destruction("namespace", "a", tuple(live_in(server.kube(), "a")))


def test_named_destructions_pass() -> None:
    one = Destruction("namespace", "a", ())
    refuse_unnamed([], ())
    refuse_unnamed([one], ["namespace/a"])
    refuse_unnamed([one], ["Namespace/A", "pool/none"])
    with pytest.raises(MlclusterError, match="namespace/a"):
        refuse_unnamed([one], ["pool/none"])


def test_unnamed_ones_are_refused_with_what_lives_in_them_and_the_flags() -> None:
    found = [
        Destruction("namespace", "a", ("1 jobs (busy)", "2 pods (x, y)")),
        Destruction("pool", "train", ()),
        Destruction("volume", "a/data", ()),
    ]
    with pytest.raises(MlclusterError) as caught:
        refuse_unnamed(found, ["volume/a/data"])
    assert caught.value.happened == (
        "this would delete namespace/a with 1 jobs (busy), 2 pods (x, y); pool/train with nothing running in it"
    )
    assert caught.value.hint == "if you mean it: --allow-destroy namespace/a --allow-destroy pool/train"
    assert caught.value.exit_code == 1


def test_another_kind_of_the_same_name_allows_nothing() -> None:
    with pytest.raises(MlclusterError, match="this would delete namespace/a"):
        refuse_unnamed([Destruction("namespace", "a", ())], ["pool/a", "a"])


def test_a_component_goes_without_a_word_when_nobody_uses_it() -> None:
    assert keys(changes(delete=["Release/jobset", "Release/kueue"])) == []


def test_a_component_that_runs_something_is_asked_for() -> None:
    server = FakeApiServer()
    serve(server, "jobset.x-k8s.io/v1alpha2/JobSet", "jobsets")
    put(server, "jobset.x-k8s.io/v1alpha2", "JobSet", "train", namespace="default")
    with server.kube() as kube:
        found = destructions(kube, [changes(delete=["Release/jobset"])])
    assert found == [Destruction("component", "jobset", ("1 JobSet objects (train)",))]
    assert keys(changes(update=["Release/jobset"]), server=server) == []


def test_a_definition_of_ours_is_asked_for_when_others_have_objects_of_it() -> None:
    """The MPI operator has no release: its definition is an object of ours, and takes every MPIJob along."""
    server = FakeApiServer()
    name = serve(server, "kubeflow.org/v2beta1/MPIJob", "mpijobs")
    gone = changes(delete=[f"CustomResourceDefinition/{name}"])
    assert keys(gone, server=server) == []
    put(server, "kubeflow.org/v2beta1", "MPIJob", "mine", namespace="default", labels={names.MANAGED_BY: names.MANAGER})
    assert keys(gone, server=server) == []
    put(server, "kubeflow.org/v2beta1", "MPIJob", "train", namespace="default")
    with server.kube() as kube:
        assert destructions(kube, [gone]) == [Destruction("definition", name, ("1 MPIJob objects (train)",))]
    assert destructions(None, [gone]) == []
    assert keys(changes(delete=["CustomResourceDefinition/not.there"]), server=server) == []
