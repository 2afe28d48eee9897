"""Pods of a rendered chart: the shapes of its workloads take the place of the declared ones."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from mlcluster.plan.chart_facts import Workload, matches
from mlcluster.plan.components.releases import release_ref
from mlcluster.plan.model import ItemRef, Plan, PlanPod, PlanRelease, Pool
from mlcluster.plan.overhead import lands_on
from mlcluster.plan.run_time_pods import made_at_run_time

Rendered = Mapping[str, tuple[PlanPod, ...]]
"""Id of a release -> the pods of its rendered chart."""

_EVERY_NODE = {"kubernetes.io/os": "linux"}
"""Node selectors of charts that every node of a plan satisfies; no pool carries the label."""


def rendered_pods(plan: Plan, release: PlanRelease, workloads: Iterable[Workload], source: str) -> tuple[PlanPod, ...]:
    """Return the pods of the workloads of a release; a daemon set has one for each pool on whose nodes it runs.

    Labels that only live nodes have, Karpenter's among them, are not in a plan: which pools refuse a pod by them is
    taken from its declared pods.

    Args:
        plan: of the release; its pools have the labels that components put on their nodes.
        source: the archive that was rendered.
    """
    scaled = (_scaled(plan, workload) for workload in workloads)
    pods = (pod for workload in scaled for pod in _pods(release, workload, plan.pools, source))
    kept_off = {pod.workload: pod.not_on for pod in plan.pods if pod.owner.id == release.id}
    return tuple(replace(pod, not_on=kept_off.get(pod.name, ())) for pod in pods)


def _scaled(plan: Plan, workload: Workload) -> Workload:
    """Return the workload with the replicas that a HorizontalPodAutoscaler of the plan gives it at least."""
    for entry in plan.objects:
        if entry.manifest["kind"] != "HorizontalPodAutoscaler":
            continue
        target = entry.manifest["spec"]["scaleTargetRef"]
        home = entry.manifest["metadata"]["namespace"]
        if (target["kind"], home, target["name"]) == (workload.kind, workload.namespace, workload.name):
            return replace(workload, replicas=int(entry.manifest["spec"].get("minReplicas", 1)))
    return workload


def with_rendered(declared: Iterable[PlanPod], rendered: Rendered) -> tuple[PlanPod, ...]:
    """Return the pods of a plan with those of its rendered charts in place of the declared ones.

    Declared pods of a rendered release stay where an operator makes them when it runs.
    """
    made: list[PlanPod] = []
    done: set[str] = set()
    for pod in declared:
        if pod.owner.id in rendered and pod.owner.id not in done:
            done.add(pod.owner.id)
            made += rendered[pod.owner.id]
        if pod.owner.id not in rendered or made_at_run_time(pod):
            made.append(pod)
    return tuple(made)


def accepts(workload: Workload, pool: Pool) -> bool:
    """Return whether the nodes of a pool take pods of a workload: node selector, required node affinity, taints."""
    terms = workload.node_terms
    labels = {**_EVERY_NODE, "kubernetes.io/arch": pool.arch, **pool.labels}
    meant = not terms or any(all(matches(labels, *expression) for expression in term) for term in terms)
    return meant and lands_on(_pod(workload, _selector(workload)), pool)


def _pods(release: PlanRelease, workload: Workload, pools: tuple[Pool, ...], source: str) -> Iterator[PlanPod]:
    pod = replace(
        _pod(workload, _selector(workload)),
        owner=release_ref(release.name),
        source=source,
        spec_path=release.spec_path,
        component=release.component,
    )
    if workload.kind != "DaemonSet":
        yield pod
        return
    for pool in pools:
        if accepts(workload, pool):
            yield replace(pod, node_selector=pool.selector, spec_path=pool.spec_path, pool=pool.name)


def _selector(workload: Workload) -> dict[str, str]:
    return {key: value for key, value in workload.node_selector.items() if _EVERY_NODE.get(key) != value}


def _pod(workload: Workload, selector: Mapping[str, str]) -> PlanPod:
    """Return the pod of a workload on its own, before it is known which release renders it."""
    return PlanPod(
        owner=ItemRef(workload.kind, workload.name, workload.namespace),
        kind=workload.kind,
        namespace=workload.namespace,
        node_selector=selector,
        tolerations=workload.tolerations,
        requests=workload.requests,
        priority_class=workload.priority_class,
        evidence="rendered",
        source="",
        spec_path=(),
        name=workload.name,
        replicas=workload.replicas,
        apart=workload.apart,
    )
