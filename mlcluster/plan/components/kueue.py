"""Kueue 0.18.3: the release, its configuration, its pods (facts: chart values v0.18.3)."""

import json

from mlcluster.catalog.kueue import CLIENT_CONNECTION, JOB_KIND_WORKERS, WORKERS
from mlcluster.catalog.pins import KUEUE
from mlcluster.plan import job_kinds, names
from mlcluster.plan.components.charts import chart_release, deployment_pod, realisation
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.replicas import spread
from mlcluster.plan.components.system_nodes import controller_tolerations
from mlcluster.plan.model import Manifest, PlanPod, PlanRelease
from mlcluster.plan.objects import KUEUE_API
from mlcluster.plan.observe.scrape import STACK
from mlcluster.plan.quota import for_teams
from mlcluster.plan.taints import toleration_manifests
from mlcluster.plan.topology import pool_levels, topology_findings

RELEASE_ID = "Release/kueue"
FRAMEWORKS = ("batch/job", "pod", "deployment", "statefulset")
SPEC_PATH = "components.kueue"
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
    """Kueue's own configuration (config.kueue.x-k8s.io/v1beta2), without anything that depends on where it runs.

    In the namespaces of Kueue's teams everything waits in a queue, with or without a queue name; elsewhere Kueue does
    not look. Hugepages are not counted: they come with EFA and never run out before the node's other resources. A
    framework without its custom resource definition would be looked for in vain, so only those of the plan are on.
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
    """Return how many workers each kind has that Kueue manages in this cluster; a kind without a number has one."""
    kinds = job_kinds.kinds_of(context.selected)
    return {**WORKERS, **{f"{kind.kind}.{kind.group}": JOB_KIND_WORKERS for kind in kinds}}


def contribute(context: ComponentContext) -> Contribution:
    """The release, the controller's pod, and what is unwise about topology."""
    pools = for_teams(context.pools)
    levels = pool_levels(context.spec, pools)
    findings = tuple(topology_findings(context.spec, pools, levels))
    return Contribution(releases=(_release(context),), pods=_pods(context), findings=findings)


def _managed(context: ComponentContext) -> list[Manifest]:
    teams: Manifest = {"key": names.TEAM, "operator": "Exists"}
    if all(team.scheduler == "kueue" for team in context.spec.teams):
        return [teams]
    return [teams, {"key": names.SCHEDULER, "operator": "DoesNotExist"}]


def _release(context: ComponentContext) -> PlanRelease:
    """By Helm, as a process of the lab, or there already."""
    in_cluster = {
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
    }
    configuration = kueue_configuration(context)
    whole = configuration if context.target == "local" else {**configuration, **in_cluster}
    probe = {"apiVersion": KUEUE_API, "kind": "ResourceFlavor", "metadata": {"name": "mlcluster-probe"}}
    return chart_release(
        context,
        "kueue",
        {"managerConfig": {"controllerManagerConfigYaml": json.dumps(whole, indent=2)}, **_values(context)},
        definitions=tuple(f"{kind}.kueue.x-k8s.io" for kind in KINDS),
        answers=(probe,),
    )


def _values(context: ComponentContext) -> Manifest:
    settings = context.spec.components.kueue
    controller: Manifest = {
        "manager": {"priorityClassName": "system-cluster-critical"},
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
    values: Manifest = {"controllerManager": controller}
    if context.has(STACK):
        values["enablePrometheus"] = False  # the monitor is ours, with the labels that Prometheus looks for
    if settings.visibility:
        values["enableVisibilityAPF"] = True
    return values


def _pods(context: ComponentContext) -> tuple[PlanPod, ...]:
    """The controller's pod, where it is one (chart values v0.18.3: 500m CPU, 512Mi)."""
    if realisation(context, "kueue") != "helm":
        return ()
    settings = context.spec.components.kueue
    return (
        deployment_pod(
            context,
            RELEASE_ID,
            "kueue-controller-manager",
            {"cpu": "500m", "memory": settings.memory},
            namespace=KUEUE.namespace,
            source=f"values.yaml of {KUEUE.source}",
            spec_path=SPEC_PATH,
            evidence="rendered",
            replicas=settings.replicas,
        ),
    )
