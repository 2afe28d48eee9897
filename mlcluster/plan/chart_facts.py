"""Facts of a rendered chart: its workloads as the scheduler sees them, and the names of its other objects.

The objects come from `helm template`; `charts.rendering` runs it. Of a CRD only name and annotations are needed.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, cast

from mlcluster.plan.model import Amounts, Manifest, Toleration
from mlcluster.plan.taints import read_toleration
from mlcluster.quantities import add, ordered, parse

WorkloadKind = Literal["Deployment", "DaemonSet", "StatefulSet", "Job"]

WORKLOAD_KINDS = frozenset({"Deployment", "DaemonSet", "StatefulSet", "Job"})
FROM_CRDS = "mlcluster.dev/from-crds-folder"
"""Annotation that `charts.rendering` puts on a CRD of a chart's `crds/` folder, which Helm never deletes."""

_HOOK, _DELETION, _KEEP = "helm.sh/hook", "helm.sh/hook-delete-policy", "helm.sh/resource-policy"
_OF_CLUSTERS = frozenset(
    {"ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
)
"""Kinds of hooks that do not end with a namespace."""

_HOSTNAME = "kubernetes.io/hostname"
_IMAGE = re.compile(r"[a-z0-9][a-z0-9.:-]*/[A-Za-z0-9._/-]+(:[A-Za-z0-9._-]+|@sha256:[0-9a-f]{64})")


Term = tuple[tuple[str, str, tuple[str, ...]], ...]
"""A term of required node affinity: expressions of key, operator and values, all of which a node satisfies."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload of a rendered chart.

    Attributes:
        hooks: Helm hooks of a Job, e.g. ("pre-install", "pre-upgrade"); () for other objects.
        requests: of one pod, as the scheduler counts them.
        node_terms: required node affinity, of which a node satisfies one; () for none.
        apart: no two pods share a node (required anti-affinity on kubernetes.io/hostname).
        spread: topology keys of spread constraints that pods must keep (DoNotSchedule).
    """

    kind: WorkloadKind
    name: str
    namespace: str
    hooks: tuple[str, ...]
    replicas: int
    requests: Amounts
    tolerations: tuple[Toleration, ...]
    node_selector: Mapping[str, str]
    node_terms: tuple[Term, ...]
    apart: bool
    spread: tuple[str, ...]
    priority_class: str
    service_account: str
    images: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChartFacts:
    """Facts about the objects that a chart renders with its values.

    Attributes:
        images: of every workload, and those in flags, environment variables and custom resources.
        definitions: names of CRDs.
        kept: those of them that `helm uninstall` does not delete.
        webhooks: names of webhook configurations.
        api_services: names of APIServices.
        services: namespace/name.
        service_accounts: namespace/name.
        hook_residue: Kind/name of hooks outside of namespaces that Helm makes and never deletes.
    """

    workloads: tuple[Workload, ...]
    images: tuple[str, ...]
    crds: tuple[str, ...]
    kept: tuple[str, ...]
    webhooks: tuple[str, ...]
    api_services: tuple[str, ...]
    services: tuple[str, ...]
    service_accounts: tuple[str, ...]
    hook_residue: tuple[str, ...]


def chart_facts(objects: Iterable[Manifest], namespace: str) -> ChartFacts:
    """Return the facts of rendered objects; tests of the chart (`helm test`) are left out.

    Args:
        namespace: of the release: Helm puts objects that name no namespace there.
    """
    kept = [entry for entry in objects if "test" not in _hooks(entry)]
    workloads = tuple(_workload(entry, namespace) for entry in kept if entry["kind"] in WORKLOAD_KINDS)
    crds = [entry for entry in kept if entry["kind"] == "CustomResourceDefinition"]
    others = {image for entry in kept for image in _images(entry)}
    return ChartFacts(
        workloads=tuple(sorted(workloads, key=lambda one: (one.kind, one.name))),
        images=tuple(sorted(others.union(*(one.images for one in workloads)))),
        crds=_names(crds),
        kept=_names(entry for entry in crds if _is_kept(entry)),
        webhooks=_names(entry for entry in kept if entry["kind"].endswith("WebhookConfiguration")),
        api_services=_names(entry for entry in kept if entry["kind"] == "APIService"),
        services=_names((entry for entry in kept if entry["kind"] == "Service"), namespace),
        service_accounts=_names((entry for entry in kept if entry["kind"] == "ServiceAccount"), namespace),
        hook_residue=tuple(sorted(f"{entry['kind']}/{entry['metadata']['name']}" for entry in kept if _stays(entry))),
    )


def pod_requests(spec: Mapping[str, Any]) -> dict[str, int]:
    """Return the requests of a pod, as the scheduler counts them (k8s.io/component-helpers/resource, PodRequests).

    Containers and sidecars (init containers that restart) add up; every other init container runs beside the sidecars
    that stand before it. A limit without a request is the request (API defaults of a container).
    """
    together = add(*(_container_requests(one) for one in spec["containers"]))
    sidecars: dict[str, int] = {}
    most: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        own = add(_container_requests(container), sidecars)
        if container.get("restartPolicy") == "Always":
            sidecars = own
        most = {name: max(most.get(name, 0), own.get(name, 0)) for name in {**most, **own}}
    running = add(together, sidecars)
    highest = {name: max(most.get(name, 0), running.get(name, 0)) for name in {**running, **most}}
    overhead = {name: parse(name, str(amount)) for name, amount in (spec.get("overhead") or {}).items()}
    whole = {**add(highest, overhead), "pods": 1}
    return {name: whole[name] for name in ordered(whole) if whole[name]}


def _container_requests(container: Mapping[str, Any]) -> dict[str, int]:
    resources = container.get("resources") or {}
    wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: parse(name, str(amount)) for name, amount in wanted.items()}


def _workload(entry: Manifest, namespace: str) -> Workload:
    body = entry["spec"]
    pod = body["template"]["spec"]
    labels = body["template"].get("metadata", {}).get("labels") or {}
    count = body.get("parallelism" if entry["kind"] == "Job" else "replicas", 1)
    return Workload(
        kind=cast("WorkloadKind", entry["kind"]),
        name=entry["metadata"]["name"],
        namespace=entry["metadata"].get("namespace", namespace),
        hooks=_hooks(entry),
        replicas=1 if entry["kind"] == "DaemonSet" or count is None else int(count),
        requests=pod_requests(pod),
        tolerations=tuple(map(read_toleration, pod.get("tolerations") or ())),
        node_selector=dict(pod.get("nodeSelector") or {}),
        node_terms=_node_terms(pod),
        apart=_apart(pod, labels),
        spread=tuple(
            one["topologyKey"]
            for one in pod.get("topologySpreadConstraints") or ()
            if one.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
        ),
        priority_class=pod.get("priorityClassName") or "",
        service_account=pod.get("serviceAccountName") or "",
        images=tuple(sorted({one["image"] for one in _containers(pod)})),
    )


def _containers(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from pod["containers"]
    yield from pod.get("initContainers") or ()


def _node_terms(pod: Mapping[str, Any]) -> tuple[Term, ...]:
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return tuple(
        tuple(
            (one["key"], one["operator"], tuple(map(str, one.get("values") or ())))
            for one in term.get("matchExpressions") or ()
        )
        for term in required.get("nodeSelectorTerms") or ()
    )


def _apart(pod: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    affinity = (pod.get("affinity") or {}).get("podAntiAffinity") or {}
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    return any(one["topologyKey"] == _HOSTNAME and _selects(one.get("labelSelector"), labels) for one in terms)


def _selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector matches; a missing one matches nothing."""
    if selector is None:
        return False
    alike = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    return alike and all(
        matches(labels, one["key"], one["operator"], tuple(one.get("values") or ()))
        for one in selector.get("matchExpressions") or ()
    )


def matches(labels: Mapping[str, str], key: str, operator: str, values: tuple[str, ...]) -> bool:
    """Return whether labels satisfy one expression of a selector or a node selector term.

    Raises:
        ValueError: the operator is Gt or Lt, which no chart of the catalog uses, or unknown.
    """
    found = labels.get(key)
    match operator:
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case _:
            raise ValueError(f"{key}: cannot compare labels by {operator}")


def _images(node: Any) -> Iterator[str]:
    """Return every image: of a container, of a custom resource, in a flag, a variable or the JSON of a ConfigMap.

    A part of a custom resource with `enabled: false` is excluded.
    """
    if isinstance(node, Mapping):
        if node.get("enabled") is False:
            return
        image = node.get("image")
        if isinstance(image, str) and image:
            yield _whole_image(node, image)
        for key, value in node.items():
            if key not in {"image", "metadata"}:
                yield from _images(value)
    elif isinstance(node, list):
        for one in node:
            yield from _images(one)
    elif isinstance(node, str):
        yield from _written_image(node)


def _whole_image(node: Mapping[str, Any], image: str) -> str:
    """Return an image with the repository and the version that operators' custom resources write beside it."""
    repository, version = node.get("repository"), node.get("version")
    if not repository:
        return image
    mark = "@" if str(version).startswith("sha256:") else ":"
    return f"{repository}/{image}{mark}{version}" if version else f"{repository}/{image}"


def _written_image(text: str) -> Iterator[str]:
    if text.lstrip().startswith("{"):
        with suppress(json.JSONDecodeError):
            yield from _images(json.loads(text))
        return
    last = text.rpartition("=")[2]
    if "." in last.partition("/")[0] and _IMAGE.fullmatch(last):
        yield last


def _hooks(entry: Manifest) -> tuple[str, ...]:
    """Return the Helm hooks of an object."""
    written = (entry["metadata"].get("annotations") or {}).get(_HOOK, "")
    return tuple(one.strip().removesuffix("-success") for one in written.split(",") if one.strip())


def _stays(entry: Manifest) -> bool:
    """Return whether an object of the cluster is a hook, and no policy of it has Helm delete it when it is done."""
    annotations = entry["metadata"].get("annotations") or {}
    deleted = "hook-succeeded" in annotations.get(_DELETION, "")
    return bool(_hooks(entry)) and entry["kind"] in _OF_CLUSTERS and not deleted


def _is_kept(entry: Manifest) -> bool:
    annotations = entry["metadata"].get("annotations") or {}
    return FROM_CRDS in annotations or annotations.get(_KEEP) == "keep"


def _names(entries: Iterable[Manifest], namespace: str = "") -> tuple[str, ...]:
    return tuple(sorted({_name(entry["metadata"], namespace) for entry in entries}))


def _name(metadata: Mapping[str, Any], namespace: str) -> str:
    name = str(metadata["name"])
    return f"{metadata.get('namespace', namespace)}/{name}" if namespace else name
