"""Daemon sets without a chart: their manifests, and the pods that follow from them."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mlcluster.catalog.components import pin
from mlcluster.plan import names
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import Manifest, PlanObject, PlanPod, Pool, Toleration
from mlcluster.plan.objects import RBAC_API, cluster_role_ref, make, object_id
from mlcluster.plan.taints import daemon_set_tolerations, toleration_manifests
from mlcluster.quantities import add, parse

APP = "app.kubernetes.io/name"
CONFIG = f"{names.DOMAIN}/config"
"""Annotation: a digest of the configuration that the pods read when they start."""

CNI_CONFIG, CNI_BINARIES = "/etc/cni/net.d", "/opt/cni/bin"
"""The directories that the kubelets of kubeadm, EKS, GKE and AKS use."""

PRIVILEGED = {"privileged": True}
NODE_CRITICAL = "system-node-critical"


@dataclass(frozen=True, slots=True)
class Made:
    """A managed daemon set, and its pod on the nodes of each pool."""

    object: PlanObject
    pods: tuple[PlanPod, ...]


def daemon_set(  # noqa: PLR0913 -- the parts of a daemon set
    context: ComponentContext,
    component: str,
    name: str,
    pools: Sequence[Pool],
    pod: Manifest,
    *,
    needs: tuple[str, ...] = (),
    reads: Sequence[PlanObject] = (),
    tolerations: Sequence[Toleration] | None = None,
) -> Made:
    """Return a daemon set on the nodes of these pools and of no others.

    Args:
        pod: the spec of its pod, without priority class, affinity and tolerations.
        needs: ids of the items that must exist before it.
        reads: config maps that its pods read when they start; a change of one restarts them.
        tolerations: default: every taint of the pools, startup taints among them.
    """
    tolerated = daemon_set_tolerations(context.spec, pools) if tolerations is None else tuple(tolerations)
    entry = make(
        context.cluster,
        "apps/v1",
        "DaemonSet",
        name,
        {"spec": _spec(name, _pod_spec(pod, pools, tolerated), reads)},
        namespace=pin(component).namespace,
        needs=(*(entry.id for entry in reads), *needs),
        spec_path=context.spec_path(component),
    )
    return Made(entry, tuple(_pod_on(pool, entry, pod, tolerated) for pool in pools))


def _pod_spec(pod: Manifest, pools: Sequence[Pool], tolerated: tuple[Toleration, ...]) -> Manifest:
    """Return the spec of a daemon set's pod, on the nodes of these pools."""
    return {
        "priorityClassName": NODE_CRITICAL,
        "affinity": pool_affinity(pools),
        "tolerations": toleration_manifests(tolerated),
        **pod,
    }


def _spec(name: str, pod_spec: Manifest, reads: Sequence[PlanObject]) -> Manifest:
    """Return the spec of a daemon set; its pod template has a digest of the config maps that the pods read."""
    labels = {APP: name}
    metadata: Manifest = {"labels": labels, **({"annotations": {CONFIG: _digest(reads)}} if reads else {})}
    return {
        "selector": {"matchLabels": labels},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
        "template": {"metadata": metadata, "spec": pod_spec},
    }


def _pod_on(pool: Pool, owner: PlanObject, pod: Manifest, tolerated: tuple[Toleration, ...]) -> PlanPod:
    """Return the shape of a daemon set's pod on the nodes of a pool."""
    return PlanPod(
        owner=owner.ref,
        kind="DaemonSet",
        namespace=owner.namespace,
        node_selector=pool.selector,
        tolerations=tolerated,
        requests=_requests(pod),
        priority_class=NODE_CRITICAL,
        evidence="rendered",
        source="the daemon set of this plan",
        spec_path=pool.spec_path,
        name=owner.name,
        pool=pool.name,
    )


def pool_node_selector(pools: Iterable[Pool]) -> Manifest:
    """Return a node selector that only the nodes of these pools match.

    Pools that are selected by the same single label share a term.
    """
    by_keys: dict[tuple[str, ...], list[Pool]] = {}
    for pool in pools:
        by_keys.setdefault(tuple(pool.selector), []).append(pool)
    terms: list[Manifest] = []
    for keys, alike in by_keys.items():
        if len(keys) == 1:
            terms.append({"matchExpressions": [_in(keys[0], [pool.selector[keys[0]] for pool in alike])]})
        else:
            terms += [
                {"matchExpressions": [_in(key, [value]) for key, value in pool.selector.items()]} for pool in alike
            ]
    return {"nodeSelectorTerms": terms}


def pool_affinity(pools: Iterable[Pool]) -> Manifest:
    """Return the affinity of pods that run only on the nodes of these pools."""
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": pool_node_selector(pools)}}


def service_account(context: ComponentContext, component: str, name: str, rules: list[Manifest]) -> list[PlanObject]:
    """Return a service account, and its ClusterRole with the binding if there are rules."""
    namespace, path = pin(component).namespace, context.spec_path(component)
    account = make(context.cluster, "v1", "ServiceAccount", name, {}, namespace=namespace, spec_path=path)
    if not rules:
        return [account]
    role = make(context.cluster, RBAC_API, "ClusterRole", name, {"rules": rules}, spec_path=path)
    binding: Manifest = {
        "roleRef": cluster_role_ref(name),
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
    needs = (role.id, account.id)
    return [
        account,
        role,
        make(context.cluster, RBAC_API, "ClusterRoleBinding", name, binding, needs=needs, spec_path=path),
    ]


def config_map(context: ComponentContext, component: str, name: str, data: dict[str, str]) -> PlanObject:
    """Return a ConfigMap in the namespace of the component."""
    namespace, path = pin(component).namespace, context.spec_path(component)
    return make(context.cluster, "v1", "ConfigMap", name, {"data": data}, namespace=namespace, spec_path=path)


def bound(name: str) -> str:
    """Return the id of the binding of a service account."""
    return object_id("ClusterRoleBinding", name)


def image(context: ComponentContext, component: str, name: str = "", *, own: bool = True) -> str:
    """Return an image of the catalog, at the version of the spec if it has one.

    Args:
        name: name of the image among the component's images; default: the only image.
        own: the image has the component's own version.
    """
    found, settings = pin(component), context.settings(component)
    reference = found.images[name or component]
    given = settings.version if settings is not None else None
    return reference.replace(found.version, given) if own and given else reference


def from_host(name: str, path: str, kind: str = "") -> Manifest:
    """Return a volume with a file or folder of the node."""
    return {"name": name, "hostPath": {"path": path, **({"type": kind} if kind else {})}}


def from_config(name: str, config: str, *keys: str, mode: int | None = None) -> Manifest:
    """Return a volume with keys of a ConfigMap as files."""
    items = [{"key": key, "path": key} for key in keys]
    return {
        "name": name,
        "configMap": {"name": config, "items": items, **({"defaultMode": mode} if mode is not None else {})},
    }


def mount(name: str, path: str, *, read_only: bool = False, propagation: str = "") -> Manifest:
    """Return the mount of a volume."""
    return {
        "name": name,
        "mountPath": path,
        **({"readOnly": True} if read_only else {}),
        **({"mountPropagation": propagation} if propagation else {}),
    }


def node_name(variable: str) -> Manifest:
    """Return an environment variable with the name of the pod's node."""
    return {"name": variable, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}}


def _digest(reads: Sequence[PlanObject]) -> str:
    data = [entry.manifest["data"] for entry in reads]
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def _in(key: str, values: list[str]) -> Manifest:
    return {"key": key, "operator": "In", "values": values}


def _requests(pod: Manifest) -> dict[str, int]:
    """Return the requests of one pod: the sum of its containers, or those of an init container if they are higher."""
    together = add(*(_of(container) for container in pod["containers"]))
    for container in pod.get("initContainers", ()):
        alone = _of(container)
        together = {name: max(together.get(name, 0), alone.get(name, 0)) for name in {**together, **alone}}
    return {**together, "pods": 1}


def _of(container: Manifest) -> dict[str, int]:
    requests = container.get("resources", {}).get("requests", {})
    return {name: parse(name, text) for name, text in requests.items()}
