"""Comparison of the objects that a chart renders with the plan and the catalog."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from mlcluster.catalog.residue import Residue
from mlcluster.catalog.signatures import Signature
from mlcluster.plan.chart_facts import ChartFacts
from mlcluster.plan.components.mirror import mirrored_release
from mlcluster.plan.eks.karpenter import CRDS as KARPENTER
from mlcluster.plan.model import Plan, PlanPod, PlanRelease
from mlcluster.plan.overhead import lands_on
from mlcluster.plan.rendered_pods import accepts, rendered_pods
from mlcluster.plan.run_time_pods import made_at_run_time
from tests.charts.sets import ValueSet

MIRROR = "mirror.example.com"

KARPENTER_CRDS = frozenset({*KARPENTER, "nodeoverlays.karpenter.sh", "capacitybuffers.autoscaling.x-k8s.io"})
"""The chart karpenter-crd makes them from templates before the chart karpenter, whose crds folder has them too."""

OF_OTHER_CHARTS = frozenset({"inferenceservices.serving.kserve.io"})
"""Signs of KServe: its CRDs come with the chart kserve-crd."""

NOT_PULLED: Mapping[str, frozenset[str]] = {
    # For virtual machines and confidential containers (sandboxWorkloads.enabled, which no plan sets).
    "gpu-operator": frozenset(
        {
            "nvcr.io/nvidia/cloud-native/k8s-cc-manager",
            "nvcr.io/nvidia/cloud-native/k8s-driver-manager",
            "nvcr.io/nvidia/cloud-native/nvidia-sandbox-device-plugin",
            "nvcr.io/nvidia/cloud-native/vgpu-device-manager",
            "nvcr.io/nvidia/kubevirt-gpu-device-plugin",
        }
    ),
    "kserve-resources": frozenset({"kserve/art-explainer"}),  # for InferenceServices with an explainer
    "kube-prometheus-stack": frozenset({"quay.io/thanos/thanos"}),  # for a ThanosRuler, which no plan has
}
"""Chart -> repositories that its objects name and that nothing of a plan pulls."""

Shape = tuple[object, ...]


def pod_mismatches(plan: Plan, release: PlanRelease, facts: ChartFacts) -> list[str]:
    """Return the differences between the workloads of a chart and the pods that the plan has for its release."""
    theirs = _shapes(plan, rendered_pods(plan, release, facts.workloads, ""))
    mine = [pod for pod in plan.pods if pod.owner.id == release.id]
    ours, later = _shapes(plan, mine), {pod.workload for pod in mine if made_at_run_time(pod)}
    extra = [name for name in ours if name not in theirs and name not in later]
    told = [f"{name}: the plan has its pods, the chart has no such workload" for name in extra]
    for name, shape in theirs.items():
        if name not in ours:
            told.append(f"{name}: the chart has it, the plan has no pods of it: {shape}")
        elif ours[name] != shape:
            told.append(f"{name}: the chart has {shape}, the plan {ours[name]}")
    return [*told, *_elsewhere(plan, release, facts)]


def _elsewhere(plan: Plan, release: PlanRelease, facts: ChartFacts) -> Iterator[str]:
    """Yield the pools that the required node affinity of a workload excludes; PlanPod has no field for it."""
    for workload in facts.workloads:
        pods = [pod for pod in plan.pods if pod.owner.id == release.id and pod.workload == workload.name]
        for pool in plan.pools:
            if not accepts(workload, pool) and any(lands_on(pod, pool) for pod in pods):
                yield f"{workload.name}: its node affinity refuses pool {pool.name}, where the plan counts it"


def _shapes(plan: Plan, pods: Iterable[PlanPod]) -> dict[str, Shape]:
    """Return the workloads by name; pods of one daemon set are put together by the pools that they land on."""
    grouped: dict[str, list[PlanPod]] = {}
    for pod in pods:
        grouped.setdefault(pod.workload, []).append(pod)
    return {name: _shape(plan, group) for name, group in grouped.items()}


def _shape(plan: Plan, pods: list[PlanPod]) -> Shape:
    first = pods[0]
    landing = sorted({pool.name for pool in plan.pools for pod in pods if lands_on(pod, pool)})
    tolerations = sorted((one.key, one.operator, one.value, one.effect) for one in first.tolerations)
    selector = {} if first.kind == "DaemonSet" else dict(first.node_selector)
    requests = {name: amount for name, amount in sorted(first.requests.items()) if amount}
    counted = (first.replicas, "apart" if first.apart else "together")
    return (first.kind, first.namespace, requests, *counted, first.priority_class, landing, tolerations, selector)


def residue_mismatches(residue: Residue, chart: str, facts: Iterable[ChartFacts]) -> list[str]:
    """Return the leftover resources of a chart that the catalog's `residue` lacks, and the entries that match none.

    A CRD of a template is deleted with the chart; where the catalog names one of them, it names all. So it is with
    webhook configurations.
    """
    facts = tuple(facts)
    rendered = {name for one in facts for name in one.crds}
    kept = {name for one in facts for name in one.kept} - _deleted_with_another(chart)
    webhooks = {name for one in facts for name in one.webhooks}
    services = {name for one in facts for name in one.api_services}
    hooks = {name for one in facts for name in one.hook_residue}
    named = set(residue.crds)
    wanted = rendered if named & (rendered - kept) else kept
    return [
        *_missing("CRD", named, wanted),
        *(f"CRD {name}: in residue, but not in the chart" for name in sorted(named - rendered)),
        *_missing("webhook", set(residue.webhooks), webhooks if residue.webhooks else set()),
        *_missing("API service", set(residue.api_services), services),
        *(
            f"{name}: a hook that Helm does not delete is not in residue"
            for name in sorted(hooks)
            if name.rpartition("/")[2] not in residue.webhooks
        ),
    ]


def signature_mismatches(
    signature: Signature, chart: str, facts: Iterable[ChartFacts], workloads: Iterable[str] = ()
) -> list[str]:
    """Return the kinds of detection signatures of which none matches an object of the chart.

    Args:
        workloads: names of more workloads than the facts have.
    """
    facts = tuple(facts)
    names = [*workloads, *(one.name for each in facts for one in each.workloads if not one.hooks)]
    made = {
        "workloads": (names, signature.workloads),
        "webhooks": ([name for one in facts for name in one.webhooks], signature.webhooks),
        "apiServices": ([name for one in facts for name in one.api_services], signature.api_services),
    }
    told = [
        f"{what}: none of {', '.join(sorted(set(found)))} matches {', '.join(patterns)}"
        for what, (found, patterns) in made.items()
        if patterns and not any(fnmatchcase(name, pattern) for name in found for pattern in patterns)
    ]
    images = {repository(image) for one in facts for image in one.images}
    if not any(image.endswith(end) for image in images for end in signature.images):
        told.append(f"images: none of {', '.join(sorted(images))} ends like {', '.join(signature.images)}")
    if not any(chart == name for name in signature.charts):
        told.append(f"charts: {chart} is not among {', '.join(signature.charts)}")
    missing = set(signature.crds) - {name for one in facts for name in one.crds} - OF_OTHER_CHARTS
    return [*told, *(f"crds: the chart has no {name}" for name in sorted(missing))]


def mirrored(one: ValueSet) -> ValueSet:
    """Return the same release in a plan whose spec names a mirror for every image."""
    release = mirrored_release(one.release, MIRROR)
    return replace(one, release=release)


def repository(image: str) -> str:
    """Return an image without its tag and digest."""
    bare = image.partition("@")[0]
    head, slash, last = bare.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def _deleted_with_another(chart: str) -> frozenset[str]:
    """Return CRDs of a chart's crds folder that another release has made before, and so deletes."""
    return KARPENTER_CRDS if chart == "karpenter" else frozenset()


def _missing(what: str, ours: set[str], theirs: set[str]) -> Iterator[str]:
    """Yield the residue of the chart that is missing in the catalog, which may also list residue of other versions."""
    yield from (f"{what} {name}: the chart has it, leaves in the catalog has not" for name in sorted(theirs - ours))
