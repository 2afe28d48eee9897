"""The admission policy that refuses pods that no node can hold: Kueue counts nodes together and would admit them.

Kueue 0.18.3 compares a workload with the quota of a flavor, which is that of all nodes of a pool. A pod of 16 GPUs fits
into the quota of two nodes of 8; it is admitted, keeps the quota, and is never scheduled. The same happens where Kueue
takes a pool of small nodes for a pod that only another pool can hold, so such a pod must name its pool.
"""

from collections.abc import Mapping, Sequence

from mlcluster.plan import job_kinds, names
from mlcluster.plan.model import Pool
from mlcluster.plan.pod_templates import template_policy, template_variables
from mlcluster.plan.policy import Policy, of_namespace
from mlcluster.plan.quantities import canonical, ordered, unit

_UNCOUNTED = "pods"
_MIB = 2**20
_MARGIN = 1.000001
"""For amounts that binary fractions cannot express."""
_LONGEST = 4096
"""Characters of a list of pools. The API server drops a message of more than 5 KiB (apiserver, pkg/apis/cel)."""


def pod_size(pools: Sequence[Pool], users: Mapping[str, str]) -> Policy:
    """Return the policy.

    Args:
        pools: with what a node of each holds beside its daemon sets.
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    kinds = job_kinds.kinds_of(users)
    resources = ordered({name for pool in pools for name in pool.usable if name != _UNCOUNTED})
    holding = "; a node holds ' + variables.nodes"
    listed = "variables.mine.map(p, variables.described[p]).join('; ')"
    return template_policy(
        "mlcluster-pod-size",
        kinds,
        [
            (
                "variables.fits.all(f, f.size() == 0 || f.exists(held, held))",
                f"'no node can hold this pod: ask for less in each pod, and for more pods{holding}",
            ),
            (
                f"'{names.SCHEDULER}' in namespaceObject.metadata.labels || variables.fits.all(f, f.all(held, held))",
                f"'Kueue may choose a pool with too small nodes: choose another by its label in nodeSelector{holding}",
            ),
        ],
        variables={
            **template_variables(kinds),
            **_tables(pools, resources),
            "shares": of_namespace(names.POOLS, "variables.names"),
            "mine": f"{list(range(len(pools)))}.filter(p, variables.names[p] in variables.shares)",
            "nodes": f"{listed}.size() <= {_LONGEST} ? {listed} : {listed}.substring(0, {_LONGEST}) + ' ...'",
            # For each template, of each pool that Kueue may choose for it: whether a node holds such a pod.
            "fits": f"variables.fresh.map(t, [{_asked()}].map(asked, {_fitting(pools, resources)})[0])",
        },
    )


def _tables(pools: Sequence[Pool], resources: Sequence[str]) -> dict[str, str]:
    """Return CEL lists with an entry for each pool; a CEL map would need values of one type."""
    selectors = [
        "{" + ", ".join(f"{key!r}: {value!r}" for key, value in sorted(pool.selector.items())) + "}" for pool in pools
    ]
    holds = [[_number(name, pool.usable.get(name, 0)) for name in resources] for pool in pools]
    return {
        "resources": f"{list(resources)!r}",
        "selectors": f"[{', '.join(selectors)}]",
        "names": f"{[pool.name for pool in pools]!r}",
        "holds": f"{holds!r}",
        "described": f"{[_described(pool, resources) for pool in pools]!r}",
    }


def _described(pool: Pool, resources: Sequence[str]) -> str:
    amounts = (f"{canonical(name, pool.usable[name])} {name}" for name in resources if pool.usable.get(name))
    labels = (f"{key}: {value}" for key, value in sorted(pool.selector.items()))
    return f"{', '.join(amounts)} ({', '.join(labels)})"


def _number(resource: str, amount: int) -> float:
    """Return an amount as the API server computes it from a quantity: cores, bytes, or pieces."""
    if resource == "cpu":
        return amount / 1000
    return float(amount * _MIB if unit(resource) == "MiB" else amount)


def _asked() -> str:
    """CEL: of each of `resources`, how much a pod of template `t` requests at least, as a floating-point number.

    Containers add up, with the sidecars among the init containers; every other init container runs alone.
    """
    has = "(has(c.resources) && has(c.resources.{0}) && r in c.resources.{0})"
    amount = "quantity(string(c.resources.{0}[r])).asApproximateFloat()"
    limit = f"({has.format('limits')} ? {amount.format('limits')} : 0.0)"
    one = f"({has.format('requests')} ? {amount.format('requests')} : {limit})"
    sidecar = "has(c.restartPolicy) && c.restartPolicy == 'Always'"
    init = "(has(t.spec.initContainers) ? t.spec.initContainers : [])"
    together = f"(t.spec.containers + {init}.filter(c, {sidecar})).map(c, {one}).sum()"
    alone = f"({init}.map(c, {one}) + [{together}]).max()"
    whole = "has(t.spec.resources) && has(t.spec.resources.requests) && r in t.spec.resources.requests"
    of_pod = "quantity(string(t.spec.resources.requests[r])).asApproximateFloat()"
    return f"variables.resources.map(r, {whole} ? {of_pod} : {alone})"


def _fitting(pools: Sequence[Pool], resources: Sequence[str]) -> str:
    """CEL: for each pool that Kueue may choose for template `t`, whether its nodes hold a pod that asks for `asked`.

    The flavor's labels agree with the node selector, the devices are there, and no GPU node is for pods without GPUs.
    A required node affinity is not evaluated: of such a pod only some pool has to hold it.
    """
    devices = {name for pool in pools if pool.accelerator is not None for name in pool.accelerator.shares}
    of_devices = [index for index, name in enumerate(resources) if name in devices]
    extended = [index for index, name in enumerate(resources) if "/" in name]
    tainted = [index for index, pool in enumerate(pools) if any(x.key == names.ACCELERATOR_TAINT for x in pool.taints)]
    label = "variables.selectors[p]"
    selects = (
        "(!has(t.spec.nodeSelector) || t.spec.nodeSelector.all(k, !(k in"
        f" {label}) || {label}[k] == t.spec.nodeSelector[k]))"
    )
    has_devices = f"{extended}.all(i, asked[i] == 0.0 || variables.holds[p][i] > 0.0)"
    for_gpus = f"(!(p in {tainted}) || {of_devices}.exists(i, asked[i] > 0.0))"
    holds = f"{list(range(len(resources)))}.all(i, asked[i] <= variables.holds[p][i] * {_MARGIN!r})"
    found = f"variables.mine.filter(p, {selects} && {has_devices} && {for_gpus}).map(p, {holds})"
    affinity = "t.spec.affinity.nodeAffinity"
    required = (
        f"has(t.spec.affinity) && has({affinity}) && has({affinity}.requiredDuringSchedulingIgnoredDuringExecution)"
    )
    return f"({required}) && {found}.exists(held, held) ? [true] : {found}"
