"""Kueue 0.18.3: the release, its configuration, its pods (facts: chart values v0.18.3)."""

import json
from collections.abc import Iterable, Iterator

from mlcluster.catalog.kueue import CLIENT_CONNECTION, JOB_KIND_WORKERS, WORKERS
from mlcluster.findings import Finding
from mlcluster.plan import job_kinds, names
from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.replicas import spread
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import CLUSTER_CRITICAL, Workload, workload_pod
from mlcluster.plan.model import Manifest, PlanPod
from mlcluster.plan.objects import KUEUE_API
from mlcluster.plan.observe.scrape import STACK
from mlcluster.plan.quota import for_teams
from mlcluster.plan.taints import toleration_manifests
from mlcluster.plan.topology import pool_levels, topology_findings

NAME = "kueue"
FRAMEWORKS = ("batch/job", "pod", "deployment", "statefulset")
LABELS = {"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"}
KINDS = (
    "admissionchecks",
    "clusterqueues",
    "cohorts",
    "localqueues",
    "multikueueclusters",
    "multikueueconfigs",
    "provisioningrequestconfigs",
    "resourceflavors",
    "topologies",
    "workloadpriorityclasses",
    "workloads",
)
FAIR = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


def kueue_configuration(context: ComponentContext) -> Manifest:
    """Return Kueue's configuration (config.kueue.x-k8s.io/v1beta2), without the parts that depend on the target.

    In the namespaces of Kueue's teams every workload waits in a queue, with or without a queue name; Kueue ignores
    other namespaces. It does not count huge pages: they come with EFA and never run out before the node's other
    resources. Only the frameworks of the plan are enabled, because Kueue cannot find the CRDs of others.
    """
    settings = context.spec.components.kueue
    configuration: Manifest = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "manageJobsWithoutQueueName": True,
        "managedJobsNamespaceSelector": {"matchExpressions": _managed(context)},
        "integrations": {"frameworks": [*FRAMEWORKS, *job_kinds.frameworks(context.selected)]},
        "resources": {"excludeResourcePrefixes": ["hugepages-"]},
        "clientConnection": dict(CLIENT_CONNECTION),
        "controller": {"groupKindConcurrency": _workers(context)},
        "waitForPodsReady": {
            "timeout": settings.pods_ready_timeout,
            "recoveryTimeout": settings.pods_ready_timeout,
            "requeuingStrategy": {"backoffLimitCount": 10, "backoffBaseSeconds": 60},
        },
    }
    if settings.fair_sharing is not None:
        configuration["fairSharing"] = {"preemptionStrategies": list(FAIR)}
    if settings.keep_finished is not None:
        configuration["objectRetentionPolicies"] = {"workloads": {"afterFinished": settings.keep_finished}}
    if settings.visibility:
        configuration["featureGates"] = {"VisibilityOnDemand": True}
    return configuration


def _workers(context: ComponentContext) -> dict[str, int]:
    """Return the number of workers of each kind that Kueue manages in this cluster; other kinds have one worker."""
    kinds = job_kinds.kinds_of(context.selected)
    return {**WORKERS, **{f"{kind.kind}.{kind.group}": JOB_KIND_WORKERS for kind in kinds}}


def _findings(context: ComponentContext) -> Iterable[Finding]:
    pools = for_teams(context.pools)
    return topology_findings(context.spec, pools, pool_levels(context.spec, pools))


def _managed(context: ComponentContext) -> list[Manifest]:
    teams: Manifest = {"key": names.TEAM, "operator": "Exists"}
    if all(team.scheduler == "kueue" for team in context.spec.teams):
        return [teams]
    return [teams, {"key": names.SCHEDULER, "operator": "DoesNotExist"}]


def _whole_configuration(context: ComponentContext) -> str:
    """Return the configuration as JSON; for the Kueue process of the lab, the lab sets ports and leader election."""
    configuration = kueue_configuration(context)
    in_cluster = {
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
    }
    whole = configuration if context.target == "local" else {**configuration, **in_cluster}
    return json.dumps(whole, indent=2)


def _values(context: ComponentContext) -> Manifest:
    settings = context.spec.components.kueue
    controller: Manifest = {
        "manager": {"priorityClassName": CLUSTER_CRITICAL},
        "tolerations": toleration_manifests(controller_tolerations(context)),
    }
    if settings.memory != "512Mi":
        memory = {"memory": settings.memory}
        controller["manager"]["resources"] = {"requests": memory, "limits": memory}
    if settings.replicas > 1:
        controller |= {
            "replicas": settings.replicas,
            "podDisruptionBudget": {"enabled": True, "minAvailable": settings.replicas - 1},
            "topologySpreadConstraints": spread(LABELS),
        }
    values: Manifest = {
        "managerConfig": {"controllerManagerConfigYaml": _whole_configuration(context)},
        "controllerManager": controller,
    }
    if context.has(STACK):
        values["enablePrometheus"] = False  # mlcluster makes the monitor, with the labels that Prometheus selects
    if settings.visibility:
        values["enableVisibilityAPF"] = True
    return values


def _pods(context: ComponentContext) -> Iterator[PlanPod]:
    """Yield the pods of the controller (chart values v0.18.3: 500m CPU, 512Mi)."""
    settings = context.spec.components.kueue
    controller = Workload(
        "kueue-controller-manager",
        {"cpu": "500m", "memory": settings.memory},
        replicas=settings.replicas,
        evidence="rendered",
        source="values.yaml of {source}",
    )
    yield workload_pod(context, NAME, controller)


COMPONENT = ChartComponent(
    name=NAME,
    values=_values,
    pods=_pods,
    crds=tuple(f"{kind}.kueue.x-k8s.io" for kind in KINDS),
    webhook_probes=({"apiVersion": KUEUE_API, "kind": "ResourceFlavor", "metadata": {"name": "mlcluster-probe"}},),
    findings=_findings,
)
contribute = COMPONENT.contribute
