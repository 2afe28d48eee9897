"""Objects of network and node health components on a real API server with strict validation.

The test installs the CRDs; the network check of a node runs in a shell.
"""

import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from mlcluster.lab.lab import Lab
from mlcluster.plan import build
from mlcluster.plan.model import Manifest, Plan
from mlcluster.spec.load import load
from tests.upstream import REFERENCE, needs_reference
from tests.waiting import wait_for

pytestmark = pytest.mark.lab

GOLDENS = Path(__file__).parents[1] / "golden" / "components"
JOBS = sorted((Path(__file__).parents[2] / "examples" / "jobs").glob("*.yaml"))
NAMES = (
    "rdma-shared-device-plugin",
    "sriov-network-device-plugin",
    "multus",
    "whereabouts",
    "network-operator",
    "node-problem-detector",
    "node-readiness-controller",
)
SPACE = "fabric-objects"
CRD = "CustomResourceDefinition"
OF_THE_CLOUD = frozenset({"karpenter.k8s.aws", "kueue.x-k8s.io"})
POLICY = REFERENCE / "crds/network-operator/mellanox.com_nicclusterpolicies.yaml"


@cache
def plan_of(name: str) -> Plan:
    return build(load(GOLDENS / name / "cluster.yaml").spec)


def crd(group: str, kind: str, version: str, spec: Manifest, *, scope: str = "Cluster") -> Manifest:
    """Return a CRD of upstream, reduced to the fields that the objects of the plan use."""
    schema = {"type": "object", "properties": {"spec": spec}, "required": ["spec"]}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": CRD,
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def rule_definition() -> Manifest:
    """Return the CRD of NodeReadinessRule v0.5.0: fields, enums, and the rules on the taint."""
    text: Manifest = {"type": "string"}
    status: Manifest = {"type": "string", "enum": ["True", "False", "Unknown"]}
    condition: Manifest = {
        "type": "object",
        "properties": {"type": text, "requiredStatus": status, "defaultStatus": status},
        "required": ["type", "requiredStatus"],
    }
    taint: Manifest = {
        "type": "object",
        "properties": {"key": text, "value": text, "effect": text},
        "required": ["key", "effect"],
        "x-kubernetes-validations": [
            {"rule": "self.key.startsWith('readiness.k8s.io/')"},
            {"rule": "size(self.key.split('/')) == 2"},
            {"rule": "self.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute']"},
        ],
    }
    labels: Manifest = {"type": "object", "additionalProperties": text}
    spec: Manifest = {
        "type": "object",
        "properties": {
            "conditions": {"type": "array", "items": condition, "minItems": 1, "maxItems": 32},
            "enforcementMode": {"type": "string", "enum": ["bootstrap-only", "continuous"]},
            "nodeSelector": {"type": "object", "properties": {"matchLabels": labels}},
            "taint": taint,
        },
        "required": ["conditions", "enforcementMode", "nodeSelector", "taint"],
        "x-kubernetes-validations": [
            {"rule": "self.enforcementMode != 'bootstrap-only' || self.conditions.all(c, !has(c.defaultStatus))"}
        ],
    }
    return crd("readiness.node.x-k8s.io", "NodeReadinessRule", "v1alpha1", spec)


def pool_definition() -> Manifest:
    """Return the CRD of IPPool of nv-ipam (Mellanox/nvidia-k8s-ipam, deploy/crds)."""
    text: Manifest = {"type": "string"}
    excluded: Manifest = {
        "type": "object",
        "properties": {"startIP": text, "endIP": text},
        "required": ["startIP", "endIP"],
    }
    requirement: Manifest = {
        "type": "object",
        "properties": {"key": text, "operator": text, "values": {"type": "array", "items": text}},
    }
    term: Manifest = {"type": "object", "properties": {"matchExpressions": {"type": "array", "items": requirement}}}
    selector: Manifest = {"type": "object", "properties": {"nodeSelectorTerms": {"type": "array", "items": term}}}
    spec: Manifest = {
        "type": "object",
        "properties": {
            "subnet": text,
            "perNodeBlockSize": {"type": "integer"},
            "gateway": text,
            "exclusions": {"type": "array", "items": excluded},
            "nodeSelector": selector,
        },
        "required": ["subnet", "perNodeBlockSize"],
    }
    return crd("nv-ipam.nvidia.com", "IPPool", "v1alpha1", spec, scope="Namespaced")


def crds() -> Iterator[Manifest]:
    """Return the CRDs of the plans, those of the reference, and two that neither has."""
    ours = {entry.id: entry.manifest for name in NAMES for entry in plan_of(name).objects if entry.id.startswith(CRD)}
    yield from ours.values()
    yield rule_definition()
    yield pool_definition()
    if POLICY.is_file():
        yield from yaml.safe_load_all(POLICY.read_text("utf-8"))


@pytest.fixture(scope="module")
def kube(lab: Lab) -> Iterator[Kube]:
    """Yield the shared control plane with a namespace and the kinds; both go in the end."""
    with Kube.from_kubeconfig(lab.kubeconfig) as client:
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        made = list(crds())
        for manifest in made:
            client.apply(manifest)
        api = "apiextensions.k8s.io/v1"

        def established() -> bool:
            found = [client.get_object(api, CRD, manifest["metadata"]["name"]) or {} for manifest in made]
            conditions = [one.get("status", {}).get("conditions") or [] for one in found]
            return all(
                {"Established"} & {one["type"] for one in some if one["status"] == "True"} for some in conditions
            )

        wait_for("every kind is there", established)
        yield client
        for manifest in made:
            client.delete(api, CRD, manifest["metadata"]["name"])
        client.delete("v1", "Namespace", SPACE)


def moved(manifest: Manifest) -> Manifest:
    """Return the object in the namespace of this test: others make their own."""
    metadata = {**manifest["metadata"], **({"namespace": SPACE} if "namespace" in manifest["metadata"] else {})}
    return {**manifest, "metadata": metadata}


def ours(name: str) -> list[Manifest]:
    """Return objects of the plan that the spec's components bring, without the cloud's and Kueue's."""
    plan = plan_of(name)
    return [
        entry.manifest
        for entry in plan.objects
        if entry.manifest["apiVersion"].partition("/")[0] not in OF_THE_CLOUD and entry.manifest["kind"] != CRD
    ]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[needs_reference] if name == "network-operator" else []) for name in NAMES],
)
def test_every_object_passes_strict_field_validation(kube: Kube, name: str) -> None:
    sent = ours(name)
    assert {manifest["kind"] for manifest in sent} & {"DaemonSet", "NicClusterPolicy"}
    for manifest in sent:
        kube.apply(moved(manifest), dry_run=True)


@pytest.mark.parametrize(
    ("name", "kind", "path", "value"),
    [
        ("multus", "DaemonSet", ("spec", "template", "spec", "tolerantions"), []),
        ("multus", "NetworkAttachmentDefinition", ("spec", "configuration"), "{}"),
        ("node-readiness-controller", "NodeReadinessRule", ("spec", "taint", "key"), "mlcluster.dev/gpu-unhealthy"),
        ("network-operator", "IPPool", ("spec", "blockSize"), 64),
    ],
)
def test_the_schemas_reject_an_invalid_object(
    kube: Kube, name: str, kind: str, path: tuple[str, ...], value: Any
) -> None:
    manifest = moved(next(found for found in ours(name) if found["kind"] == kind))
    inside = copy = yaml.safe_load(yaml.safe_dump(manifest))
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    with pytest.raises(ApiError):
        kube.apply(copy, dry_run=True)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in {"network-operator", "node-readiness-controller"}]
)
def test_daemon_sets_are_served_on_nodes(kube: Kube, name: str) -> None:
    """The API server sets defaults of a DaemonSet and keeps every planned field."""
    for manifest in ours(name):
        if manifest["kind"] == "DaemonSet":
            kept = kube.apply(moved(manifest), dry_run=True)["spec"]["template"]["spec"]
            assert [container["image"] for container in kept["containers"]]
            assert kept["affinity"] == manifest["spec"]["template"]["spec"]["affinity"]


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.stem)
def test_example_jobs_pass_strict_field_validation(kube: Kube, path: Path) -> None:
    manifests = [moved(manifest) for manifest in yaml.safe_load_all(path.read_text("utf-8"))]
    admitted = [kube.apply(manifest, dry_run=True) for manifest in manifests]
    assert [made["kind"] for made in admitted] == [manifest["kind"] for manifest in manifests] != []


def checked(script: str, root: Path) -> tuple[int, str]:
    """Return exit code and output of the network check on a node with the files below `root`."""
    text = script.replace("/host$1", f"{root}$1")
    assert text != script
    done = subprocess.run(["/bin/bash", "-c", text], check=False, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout.strip()


def test_a_node_is_ready_when_all_daemon_sets_run(tmp_path: Path) -> None:
    plan = plan_of("multus")
    entry = next(entry for entry in plan.objects if entry.id.startswith("ConfigMap/node-health/"))
    script = entry.manifest["data"]["network-ready.sh"]
    assert checked(script, tmp_path)[0] == 0
    wanted = [line.split('"')[1] for line in script.splitlines() if line.startswith('need "')]
    assert len(wanted) >= 6
    for path in wanted:
        ended, said = checked(script, tmp_path)
        assert ended == 0
        assert path in said
        (tmp_path / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path.lstrip("/")).touch()
    assert checked(script, tmp_path) == (1, "ready")
