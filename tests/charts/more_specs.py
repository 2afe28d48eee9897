"""Specs with every chart, a pool for controllers alone and pools with taints of their own, which no example has."""

from collections.abc import Iterator

from tests.specs import Data, cluster

DEDICATED: Data = {"key": "platform", "value": "yes", "effect": "NoSchedule"}
CRITICAL: Data = {"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"}
SYSTEM: Data = {
    "name": "system",
    "instanceType": "m7i.4xlarge",
    "minSize": 3,
    "maxSize": 3,
    "taints": [DEDICATED, CRITICAL],
    "systemOnly": True,
}
GPUS: Data = {
    "name": "gpus",
    "instanceType": "p5.48xlarge",
    "maxSize": 4,
    "taints": [{"key": "dedicated", "value": "training", "effect": "NoExecute"}],
}
SERVING: Data = {"certManager": {}, "gateway": {}, "kserve": {"ingress": {"domain": "models.example.com"}}}
OBSERVE: Data = {"monitoring": {}, "keda": {}, "prometheusAdapter": {}}
JOBS: Data = {"jobSet": {}, "trainer": {}, "kubeRay": {}, "volcano": {}, "kueue": {"replicas": 2, "visibility": True}}


def more_specs() -> Iterator[tuple[str, Data]]:
    """Return name and spec of each."""
    existing, eks = {"kind": "existing"}, {"kind": "eks", "region": "us-west-2"}
    charts = {**SERVING, **OBSERVE, **JOBS, "nodeReadiness": {}}
    yield (
        "every chart, with operators",
        cluster(
            SYSTEM,
            {**GPUS, "network": {"rdma": {"rdma/hca": 8}}},
            target=existing,
            components={**charts, "gpuOperator": {}, "networkOperator": {"ofedDriver": True}},
        ),
    )
    yield (
        "every chart, without operators",
        cluster(
            SYSTEM,
            GPUS,
            target=existing,
            components={**charts, "nvidiaDevicePlugin": {}, "dcgmExporter": {}, "draDriver": {}},
        ),
    )
    for scaler in ("clusterAutoscaler", "karpenter"):
        fabric = {**GPUS, "minSize": 4, "network": {"efa": True}}
        yield f"taints on eks, {scaler}", cluster(SYSTEM, fabric, target={**eks, "autoscaler": scaler})
