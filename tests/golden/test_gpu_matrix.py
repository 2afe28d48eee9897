"""Image family x GPU sharing x fabric x autoscaler: owner of each duty, operator values, labels and resources.

The first combination has all values of the operator; the others have the differences from it.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.plan import build
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.gpu_owners import ownership
from mlcluster.plan.model import Plan, Pool
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.load import parse
from mlcluster.spec.problems import SpecInvalidError

pytestmark = pytest.mark.golden

GOLDEN = Path(__file__).with_name("gpu-matrix.yaml")
SHARING: dict[str, dict[str, Any]] = {
    "whole": {},
    "mig": {"mig": "all-1g.5gb"},
    "mig-single": {"mig": "all-1g.5gb"},
    "mig-balanced": {"mig": "all-balanced"},
    "time-slicing": {"timeSlicing": {"replicas": 4}},
    "mps": {"mps": {"replicas": 2}},
}
IMAGES = {"al2023": {"family": "al2023"}, "bottlerocket": {"family": "bottlerocket"}}
BROUGHT = {"nothing": [], "driver": ["driver", "toolkit"], "all": ["driver", "toolkit", "devicePlugin", "migManager"]}
AUTOSCALERS = ("none", "clusterAutoscaler", "karpenter")


def combinations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and spec of each: EKS images with EFA and autoscalers, other images with RDMA on an existing cluster."""
    for image, sharing, fabric, scaler in product(IMAGES, SHARING, ("none", "efa"), AUTOSCALERS):
        fixed = scaler != "clusterAutoscaler"
        pool = {"minSize": 2 if fixed else 0, "ami": IMAGES[image], "network": {"efa": fabric == "efa"}}
        target = {"kind": "eks", "region": "us-west-2", "autoscaler": scaler}
        yield f"{image} {sharing} {fabric} {scaler}", spec(target, {**pool, "gpu": SHARING[sharing]}, sharing)
    for image, sharing, fabric in product(BROUGHT, SHARING, ("none", "rdma")):
        network = {"rdma": {"rdma/hca": 8}} if fabric == "rdma" else {}
        gpu = {**SHARING[sharing], "imageBrings": BROUGHT[image]}
        yield (
            f"existing-{image} {sharing} {fabric}",
            spec({"kind": "existing"}, {"network": network, "gpu": gpu}, sharing),
        )


def spec(target: dict[str, Any], pool: dict[str, Any], sharing: str) -> dict[str, Any]:
    pools = [
        {"name": "system", "instanceType": "m7i.2xlarge", "minSize": 2, "maxSize": 2},
        {"name": "gpu", "instanceType": "p4d.24xlarge", "maxSize": 2, **pool},
    ]
    if target["kind"] == "existing":
        pools = [{**one, "selector": {"example.com/pool": one["name"]}} for one in pools]
    operator = {"migStrategy": "single"} if sharing == "mig-single" else {}
    asked = operator or target["kind"] == "existing"
    components: dict[str, Any] = {"gpuOperator": operator} if asked else {}
    if pool["network"].get("rdma"):
        components["rdmaDevicePlugin"] = {}
    return {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "atlas"},
        "target": target,
        "nodePools": pools,
        "components": components,
    }


def shown(data: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of the plan of a combination, or the reason for its rejection."""
    try:
        checked = parse(json.dumps(data).encode(), "cluster.yaml").spec
    except SpecInvalidError as error:
        return {"refused": [problem.message for problem in error.problems]}
    plan = build(checked)
    pool = plan.pools[1]
    return {
        "owners": owners(checked, plan),
        "values": {path: value for release in plan.releases if release.name == "gpu-operator"
                   for path, value in flat(release.values)},
        "labels": {key: value for key, value in pool.labels.items() if "/pool" not in key},
        "resources": resources(pool),
        **scaling(plan),
    }  # fmt: skip


def owners(checked: ClusterSpec, plan: Plan) -> dict[str, str]:
    """Return owner -> duties, in one line each."""
    chosen = {component.name: component.spec_path for component in plan.components}
    table = ownership(ComponentContext(checked, plan.pools, chosen))["gpu"]
    found: dict[str, list[str]] = {}
    for duty, owner in table.items():
        found.setdefault(owner or "nobody", []).append(duty)
    return {owner: " ".join(duties) for owner, duties in found.items()}


def resources(pool: Pool) -> dict[str, int]:
    """Return the resources that pods can request besides CPU and memory."""
    return {name: amount for name, amount in pool.usable.items() if "/" in name or name.startswith("hugepages")}


def scaling(plan: Plan) -> dict[str, Any]:
    """Return the node resources in the tags of the autoscaler."""
    prefix = "k8s.io/cluster-autoscaler/node-template/resources/"
    tags = [entry.inputs["tag"] for entry in plan.resources if entry.type.endswith(":Tag")]
    told = {tag["key"].removeprefix(prefix): tag["value"] for tag in tags if tag["key"].startswith(prefix)}
    limits = [entry.manifest["spec"]["limits"] for entry in plan.objects if entry.id == "NodePool/gpu"]
    found = {"tags": {key: value for key, value in told.items() if "/" in key}, "limits": limits[0] if limits else {}}
    return {key: value for key, value in found.items() if value}


def flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, Mapping):
            yield from flat(value, path)
        else:
            yield path, value


def matrix() -> dict[str, Any]:
    found = {name: shown(data) for name, data in combinations()}
    first, *others = (entry for entry in found.values() if "values" in entry)
    for entry in others:
        whole = entry.pop("values")
        changed = {path: value for path, value in whole.items() if first["values"].get(path) != value}
        gone = [path for path in first["values"] if path not in whole]
        entry.update({key: part for key, part in (("values", changed), ("without", gone)) if part})
    return found


class _Plain(yaml.CSafeDumper):
    """Without anchors: each combination is read by itself."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return matrix()


def test_the_matrix(found: dict[str, Any], update_golden: bool) -> None:
    parts = (yaml.dump({name: entry}, Dumper=_Plain, sort_keys=False, width=150) for name, entry in found.items())
    text = "\n".join(parts)
    if update_golden:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_every_combination_is_planned_or_refused_for_a_reason(found: dict[str, Any]) -> None:
    assert len(found) == 2 * 6 * 2 * 3 + 3 * 6 * 2
    for name, entry in found.items():
        assert entry.get("refused") or entry.get("resources"), name


def test_every_duty_of_a_planned_combination_has_one_owner(found: dict[str, Any]) -> None:
    for name, entry in found.items():
        if "owners" in entry:
            duties = [duty for line in entry["owners"].values() for duty in line.split()]
            assert len(duties) == len(set(duties)) == 9, name
            assert not {"driver", "toolkit", "devicePlugin"} & set(entry["owners"].get("nobody", "").split()), name
