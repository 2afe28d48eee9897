"""Kueue 0.18.3: the release, its configuration, its pods (facts: handbook components.md 4.7, chart values v0.18.3)."""

import json

from mlcluster.catalog.pins import KUEUE
from mlcluster.plan import names
from mlcluster.plan.model import ComponentPlan, Manifest, PlanPod, PlanRelease, Realisation
from mlcluster.spec.cluster import ClusterSpec

RELEASE_ID = "Release/kueue"
FRAMEWORKS = ("batch/job", "pod", "deployment", "statefulset")
SPEC_PATH = "components.kueue"


def kueue_configuration(spec: ClusterSpec) -> Manifest:
    """Kueue's own configuration (config.kueue.x-k8s.io/v1beta2), without anything that depends on where it runs.

    In team namespaces everything waits in a queue, with or without a queue name; elsewhere Kueue does not look.
    Hugepages are not counted: they come with EFA and never run out before the node's other resources.
    """
    timeout = spec.components.kueue.pods_ready_timeout
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "manageJobsWithoutQueueName": True,
        "managedJobsNamespaceSelector": {"matchExpressions": [{"key": names.TEAM, "operator": "Exists"}]},
        "integrations": {"frameworks": list(FRAMEWORKS)},
        "resources": {"excludeResourcePrefixes": ["hugepages-"]},
        "waitForPodsReady": {
            "timeout": timeout,
            "recoveryTimeout": timeout,
            "requeuingStrategy": {"backoffLimitCount": 10, "backoffBaseSeconds": 60},
        },
    }


def kueue_release(spec: ClusterSpec) -> PlanRelease:
    """The release: by Helm, as a process of the lab, or there already."""
    in_cluster = {
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
    }
    configuration = kueue_configuration(spec)
    whole = configuration if spec.target.kind == "local" else {**configuration, **in_cluster}
    return PlanRelease(
        id=RELEASE_ID,
        name=KUEUE.name,
        chart=KUEUE.chart,
        version=KUEUE.version,
        repository=KUEUE.repository,
        namespace=KUEUE.namespace,
        values={
            "controllerManager": {"manager": {"priorityClassName": "system-cluster-critical"}},
            "managerConfig": {"controllerManagerConfigYaml": json.dumps(whole, indent=2)},
        },
        needs=(),
        realisation=_realisation(spec),
        spec_path=SPEC_PATH,
    )


def kueue_component(spec: ClusterSpec) -> ComponentPlan:
    """What `plan` lists."""
    return ComponentPlan(KUEUE.name, KUEUE.version, _realisation(spec), SPEC_PATH)


def kueue_pods(spec: ClusterSpec) -> tuple[PlanPod, ...]:
    """The controller's pod, where it is one (chart values v0.18.3: 500m CPU, 512Mi)."""
    if _realisation(spec) != "helm":
        return ()
    return (
        PlanPod(
            owner=RELEASE_ID,
            kind="Deployment",
            namespace=KUEUE.namespace,
            node_selector={},
            tolerations=(),
            requests={"cpu": 500, "memory": 512, "pods": 1},
            priority_class="system-cluster-critical",
            evidence="declared",
            source=f"values.yaml of {KUEUE.source}",
            spec_path=SPEC_PATH,
        ),
    )


def _realisation(spec: ClusterSpec) -> Realisation:
    if spec.target.kind == "local":
        return "process"
    return "helm" if spec.components.kueue.install else "present"
