"""Kueue 0.18.3: the release, its configuration, its pods (facts: handbook components.md 4.7, chart values v0.18.3)."""

import json

from mlcluster.catalog.pins import KUEUE
from mlcluster.plan import names
from mlcluster.plan.components.charts import chart_release, deployment_pod, realisation
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import Manifest, PlanPod, PlanRelease
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


def contribute(context: ComponentContext) -> Contribution:
    """The release and the controller's pod."""
    return Contribution(releases=(_release(context),), pods=_pods(context))


def _release(context: ComponentContext) -> PlanRelease:
    """By Helm, as a process of the lab, or there already."""
    in_cluster = {
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
    }
    configuration = kueue_configuration(context.spec)
    whole = configuration if context.target == "local" else {**configuration, **in_cluster}
    values = {
        "controllerManager": {"manager": {"priorityClassName": "system-cluster-critical"}},
        "managerConfig": {"controllerManagerConfigYaml": json.dumps(whole, indent=2)},
    }
    return chart_release(context, "kueue", values)


def _pods(context: ComponentContext) -> tuple[PlanPod, ...]:
    """The controller's pod, where it is one (chart values v0.18.3: 500m CPU, 512Mi)."""
    if realisation(context, "kueue") != "helm":
        return ()
    return (
        deployment_pod(
            context,
            RELEASE_ID,
            "kueue-controller-manager",
            {"cpu": "500m", "memory": "512Mi"},
            namespace=KUEUE.namespace,
            source=f"values.yaml of {KUEUE.source}",
            spec_path=SPEC_PATH,
            tolerations=(),
        ),
    )
