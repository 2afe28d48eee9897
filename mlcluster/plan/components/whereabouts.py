"""Whereabouts: addresses for secondary networks, one range for the whole cluster.

Facts: k8snetworkplumbingwg/whereabouts v0.9.4, doc/crds/ (daemonset-install.yaml, reconciler-deployment.yaml). The
daemon set frees the addresses of deleted pods on its node; addresses of a failed node or of force-deleted pods stay
allocated until the reconciler compares all allocations with the pods of the cluster.
"""

from mlcluster.catalog.components import pin
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import Contribution
from mlcluster.plan.components.daemon_sets import (
    APP,
    CNI_BINARIES,
    CNI_CONFIG,
    PRIVILEGED,
    bound,
    config_map,
    daemon_set,
    from_config,
    from_host,
    image,
    mount,
    node_name,
    service_account,
)
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import CLUSTER_CRITICAL, Workload, workload_pod
from mlcluster.plan.model import Manifest, PlanObject, PlanPod, Pool
from mlcluster.plan.objects import from_manifest, make
from mlcluster.plan.taints import toleration_manifests
from mlcluster.plan.templates import filled
from mlcluster.spec.secondary_networks import networks, pools_of

NAME = "whereabouts"
CONFIG_MAP = "whereabouts-config"
RECONCILER = "whereabouts-reconciler"
REQUESTS = {"cpu": "100m", "memory": "100Mi"}
RECONCILER_REQUESTS = {"cpu": "100m", "memory": "50Mi"}
RECONCILE = "*/15 * * * *"
"""Cron schedule on which the reconciler frees the addresses of killed pods; upstream's interval is a day."""

GROUP = "whereabouts.cni.cncf.io"
CRDS = ("crds/ippools.yaml", "crds/overlappingrangeipreservations.yaml")
_ALL = ["get", "list", "watch", "create", "update", "patch", "delete"]
_RULES = [
    {"apiGroups": [GROUP], "resources": ["ippools", "overlappingrangeipreservations", "nodeslicepools"], "verbs": _ALL},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]},
    {
        "apiGroups": ["k8s.cni.cncf.io"],
        "resources": ["network-attachment-definitions"],
        "verbs": ["get", "list", "watch"],
    },
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update", "get"]},
]
_NAMESPACE: Manifest = {
    "name": "WHEREABOUTS_NAMESPACE",
    "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
}


def contribute(context: ComponentContext) -> Contribution:
    """Return Whereabouts on the nodes of networks with its addresses, unless there is an existing installation."""
    settings = context.settings(NAME)
    if settings is not None and not settings.install:
        return Contribution()
    kinds = _crds(context)
    rights = service_account(context, NAME, NAME, _RULES)
    config = config_map(context, NAME, CONFIG_MAP, {"cron-expression": RECONCILE})
    needs = (*(kind.id for kind in kinds), bound(NAME))
    made = daemon_set(context, NAME, NAME, _pools(context), _pod(context), needs=needs)
    reconciler = _reconciler(context, (*needs, config.id))
    return Contribution(
        objects=(*kinds, *rights, config, made.object, reconciler),
        pods=(*made.pods, _reconciler_pod(context, reconciler)),
    )


def _pools(context: ComponentContext) -> list[Pool]:
    named = {
        pool.name
        for network in networks(context.spec)
        if network.ipam is not None and network.ipam.type == "whereabouts"
        for pool in pools_of(context.spec, network)
    }
    return [pool for pool in context.pools if pool.name in named] or list(context.pools)


def _crds(context: ComponentContext) -> list[PlanObject]:
    """Return the CRDs of the objects in which Whereabouts stores addresses."""
    path = context.spec_path(NAME)
    return [from_manifest(context.cluster, filled(crd), spec_path=path) for crd in CRDS]


def _pod(context: ComponentContext) -> Manifest:
    script = "SLEEP=false source /install-cni.sh\n/token-watcher.sh &\n/ip-control-loop -log-level verbose\n"
    container: Manifest = {
        "name": NAME,
        "image": image(context, NAME),
        "command": ["/bin/sh"],
        "args": ["-c", script],
        "env": [node_name("NODENAME"), _NAMESPACE],
        "securityContext": PRIVILEGED,
        "resources": {"requests": REQUESTS, "limits": {"memory": "200Mi"}},
        "volumeMounts": [
            mount("cnibin", "/host/opt/cni/bin"),
            mount("cni-net-dir", "/host/etc/cni/net.d"),
        ],
    }
    volumes = [from_host("cnibin", CNI_BINARIES), from_host("cni-net-dir", CNI_CONFIG)]
    return {"hostNetwork": True, "serviceAccountName": NAME, "containers": [container], "volumes": volumes}


def _reconciler(context: ComponentContext, needs: tuple[str, ...]) -> PlanObject:
    """Return the Deployment that frees leaked addresses; it has no leader election, so it has one replica."""
    schedule = from_config("cron-schedule", CONFIG_MAP)
    schedule["configMap"]["items"] = [{"key": "cron-expression", "path": "config"}]
    container: Manifest = {
        "name": RECONCILER,
        "image": image(context, NAME),
        "command": ["/ip-reconciler"],
        "args": ["-log-level", "verbose"],
        "env": [_NAMESPACE],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "resources": {"requests": RECONCILER_REQUESTS, "limits": {"memory": "200Mi"}},
        "volumeMounts": [mount("cron-schedule", "/cron-schedule")],
    }
    pod: Manifest = {
        "serviceAccountName": NAME,
        "priorityClassName": CLUSTER_CRITICAL,
        "tolerations": toleration_manifests(controller_tolerations(context)),
        "containers": [container],
        "volumes": [schedule],
    }
    labels = {APP: RECONCILER}
    body = {
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
    }
    namespace, path = pin(NAME).namespace, context.spec_path(NAME)
    return make(
        context.cluster, "apps/v1", "Deployment", RECONCILER, body, namespace=namespace, needs=needs, spec_path=path
    )


def _reconciler_pod(context: ComponentContext, reconciler: PlanObject) -> PlanPod:
    workload = Workload(RECONCILER, RECONCILER_REQUESTS, evidence="rendered", source="the Deployment of this plan")
    return workload_pod(context, NAME, workload, owner=reconciler.ref)
