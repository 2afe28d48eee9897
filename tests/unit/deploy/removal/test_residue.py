"""What Helm leaves behind goes with `down`, unless somebody else has a use for it."""

import pytest

from mlcluster.catalog.components import pins
from mlcluster.catalog.residue import Residue, residue_of, split_kind
from mlcluster.deploy.ownership.baseline import forget_found, found_before, note_found, noted_releases
from mlcluster.deploy.removal.namespaces import Installed
from mlcluster.deploy.removal.residue import clean_up, ever_installed
from tests.fakes.api_server import FakeApiServer
from tests.fakes.installed import notes, put, put_controller, put_service, release, serve
from tests.specs import EXISTING, SYSTEM, planned
from tests.unit.deploy.removal.test_namespaces import JOBSET, Told
from tests.upstream import REFERENCE, needs_reference

pytestmark = pytest.mark.unit


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer()


def noted(server: FakeApiServer, **crds: str) -> None:
    """Notes as `up` writes them."""
    put(server, "v1", "ConfigMap", "mlcluster-found", namespace="kube-system", data=dict(crds))


NOTHING = '{"namespace": "jobset-system", "definitions": [], "nodeLabels": []}'


def clean(server: FakeApiServer, *names: str, nodes: bool = True) -> tuple[list[str], list[str]]:
    """What was said, and what is kept."""
    told = Told()
    kept = clean_up(server.kube(), [release(name) for name in names], told, nodes=nodes)
    return told.said, kept


def test_a_definition_without_objects_goes(server: FakeApiServer) -> None:
    noted(server, jobset=NOTHING)
    name = serve(server, JOBSET, "jobsets")
    said, kept = clean(server, "jobset")
    assert kept == []
    assert said == [f"removed the CRD {name}, which jobset left behind: it has no objects"]
    assert server.get("CustomResourceDefinition", name) is None


def test_one_with_objects_is_kept_and_they_are_named(server: FakeApiServer) -> None:
    noted(server, jobset=NOTHING)
    name = serve(server, JOBSET, "jobsets")
    for number in range(4):
        put(server, "jobset.x-k8s.io/v1alpha2", "JobSet", f"j{number}", namespace="default")
    said, kept = clean(server, "jobset")
    reason = "4 of its objects are there: default/j0, default/j1, default/j2, ..."
    assert (said, kept) == ([], [f"CustomResourceDefinition/{name}: {reason}"])


def test_one_that_was_there_before_is_kept(server: FakeApiServer) -> None:
    name = serve(server, JOBSET, "jobsets")
    noted(server, jobset='{"definitions": ["jobsets.jobset.x-k8s.io"], "nodeLabels": []}')
    assert clean(server, "jobset")[1] == [f"CustomResourceDefinition/{name}: it was there before"]


def test_one_of_which_nobody_knows_is_kept(server: FakeApiServer) -> None:
    name = serve(server, JOBSET, "jobsets")
    reason = "no record tells whether it was there before"
    assert clean(server, "jobset")[1] == [f"CustomResourceDefinition/{name}: {reason}"]


def test_one_of_another_release_is_kept(server: FakeApiServer) -> None:
    noted(server, jobset=NOTHING)
    name = serve(server, JOBSET, "jobsets", annotations=notes(release("other", "theirs")))
    assert clean(server, "jobset")[1] == [f"CustomResourceDefinition/{name}: it belongs to the release theirs/other"]


def test_one_that_a_release_which_stays_has_too_is_kept(server: FakeApiServer) -> None:
    noted(server, jobset=NOTHING)
    name = serve(server, JOBSET, "jobsets")
    other = Installed("parent", "elsewhere", Residue(crds=(name,)))
    kept = clean_up(server.kube(), [release("jobset")], Told(), nodes=True, staying=[other])
    assert kept == [f"CustomResourceDefinition/{name}: parent has it too"]


def test_feature_discovery_stays_whole_for_the_operator_that_stays(server: FakeApiServer) -> None:
    """Both operators' charts bring its definitions, and one of them has no objects by default."""
    noted(server, **{"gpu-operator": NOTHING})
    name = serve(server, "nfd.k8s-sigs.io/v1alpha1/NodeFeatureGroup", "nodefeaturegroups")
    staying = [release("network-operator")]
    kept = clean_up(server.kube(), [release("gpu-operator")], Told(), nodes=True, staying=staying)
    assert kept == [f"CustomResourceDefinition/{name}: network-operator has it too"]


def test_what_somebody_runs_by_now_is_left_alone(server: FakeApiServer) -> None:
    """`up` made its notes and ended before it installed anything; then somebody else did."""
    noted(server, jobset=NOTHING)
    name = serve(server, JOBSET, "jobsets")
    put_controller(server, release("jobset"))
    assert clean(server, "jobset") == ([], ["the residue of jobset: another party runs it in jobset-system"])
    assert server.get("CustomResourceDefinition", name) is not None


def test_one_whose_objects_cannot_be_listed_is_kept(server: FakeApiServer) -> None:
    noted(server, jobset=NOTHING)
    serve(server, JOBSET, "jobsets")
    server.fail("GET", "v1alpha2/jobsets", 500, "InternalError", "conversion webhook failed")
    assert clean(server, "jobset")[1][0].endswith("its objects cannot be listed: conversion webhook failed")


def test_an_aggregated_api_without_its_service_goes(server: FakeApiServer) -> None:
    """It would keep every namespace from going."""
    service = {"namespace": "prometheus-adapter-system", "name": "webhook"}
    name = "v1beta1.custom.metrics.k8s.io"
    put(server, "apiregistration.k8s.io/v1", "APIService", name, spec={"service": service})
    put(server, "apiregistration.k8s.io/v1", "APIService", "v1.apps", spec={})
    said, _ = clean(server, "prometheus-adapter")
    assert said == [f"removed APIService {name}, which prometheus-adapter left behind: its Service has no endpoint"]
    assert server.get("APIService", "v1.apps") is not None


def test_one_that_somebody_else_serves_stays(server: FakeApiServer) -> None:
    of = release("prometheus-adapter")
    put(server, "v1", "Namespace", of.namespace)
    put_service(server, of, answers=True)
    spec = {"service": {"namespace": of.namespace, "name": "webhook"}}
    put(server, "apiregistration.k8s.io/v1", "APIService", "v1beta1.external.metrics.k8s.io", spec=spec)
    assert clean(server, "prometheus-adapter") == ([], [])


@pytest.mark.parametrize("noted_by_helm", [False, True])
def test_one_of_somebody_else_stays_while_nobody_answers_there(server: FakeApiServer, *, noted_by_helm: bool) -> None:
    """Its pods may be on their way: the name alone does not make it ours."""
    theirs = release("keda", "autoscaling")
    more = {"annotations": notes(theirs)} if noted_by_helm else {}
    service = {"namespace": release("keda").namespace if noted_by_helm else theirs.namespace, "name": "webhook"}
    metrics = "v1beta1.external.metrics.k8s.io"
    put(server, "apiregistration.k8s.io/v1", "APIService", metrics, spec={"service": service}, **more)
    hooks = [{"name": "a", "clientConfig": {"service": service}}]
    kind = "ValidatingWebhookConfiguration"
    put(server, "admissionregistration.k8s.io/v1", kind, "keda-admission", webhooks=hooks, **more)
    assert clean(server, "keda") == ([], [])
    assert server.get("APIService", metrics) is not None
    assert server.get(kind, "keda-admission") is not None


def test_labels_that_were_not_there_before_are_taken_off_nodes(server: FakeApiServer) -> None:
    before = '{"definitions": [], "nodeLabels": ["nvidia.com/gpu.workload.config"]}'
    noted(server, **{"gpu-operator": before})
    labels = {"nvidia.com/gpu.workload.config": "vm", "nvidia.com/gpu.present": "true", "role": "gpu"}
    put(server, "v1", "Node", "gpu-0", labels=labels)
    put(server, "v1", "Node", "cpu-0", labels={"role": "cpu"})
    said, kept = clean(server, "gpu-operator")
    assert (said, kept) == (["removed 1 labels (nvidia.com/*) of gpu-operator from 1 nodes"], [])
    node = server.get("Node", "gpu-0")
    assert node is not None
    assert node["metadata"]["labels"] == {"nvidia.com/gpu.workload.config": "vm", "role": "gpu"}


def test_without_notes_labels_stay(server: FakeApiServer) -> None:
    put(server, "v1", "Node", "gpu-0", labels={"nvidia.com/gpu.present": "true"})
    assert clean(server, "gpu-operator")[1] == ["node labels nvidia.com/*: no record tells which were there before"]
    assert clean(server, "gpu-operator", nodes=False) == ([], [])


def test_up_notes_what_it_finds_once(server: FakeApiServer) -> None:
    plan = planned(SYSTEM, target=EXISTING, components={"jobSet": {}})
    kube = server.kube()
    note_found(plan, kube, ["Release/jobset"])
    assert found_before(kube, "jobset") is None, "it is installed already"
    name = serve(server, JOBSET, "jobsets")
    note_found(plan, kube, [])
    found = found_before(kube, "jobset")
    assert found is not None
    assert found.crds == {name}
    serve(server, "jobset.x-k8s.io/v1alpha3/JobSet", "others")
    note_found(plan, kube, [])
    assert found_before(kube, "jobset") == found
    assert noted_releases(kube) == {"jobset": "jobset-system", "kueue": "kueue-system"}
    both = ever_installed(kube, [release("jobset", "elsewhere")])
    assert [(one.name, one.namespace) for one in both] == [("jobset", "elsewhere"), ("kueue", "kueue-system")]
    assert both[1].residue == residue_of("kueue")
    forget_found(kube)
    assert found_before(kube, "jobset") is None


@pytest.mark.parametrize("name", pins())
def test_the_catalog_says_it_in_words_that_are_read(name: str) -> None:
    residue = residue_of(name)
    kinds = [*residue.workloads, *(kind for kinds in residue.finalizers.values() for kind in kinds)]
    assert all(split_kind(kind)[0].rpartition("/")[2].startswith("v") for kind in kinds)
    assert all("." in crd for crd in residue.crds)


@needs_reference
def test_kinds_are_upstreams_own() -> None:
    """Of the components whose definitions are at hand; their names: tests/unit/catalog/test_chart_facts.py."""
    served = "\n".join(path.read_text("utf-8") for path in (REFERENCE / "crds").glob("*/*.yaml"))
    for name in ("kueue", "jobset", "network-operator"):
        residue = residue_of(name)
        kinds = [*residue.workloads, *(kind for kinds in residue.finalizers.values() for kind in kinds)]
        for kind in kinds:
            version, word = split_kind(kind)
            assert version == "v1" or (f"kind: {word}\n" in served and version.partition("/")[0] in served), kind


def test_a_component_that_nobody_knows_leaves_nothing() -> None:
    assert residue_of("mystery").crds == ()
