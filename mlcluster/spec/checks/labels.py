"""Labels and taints of pools: the syntax of keys, the domains that are not for users, no taint twice.

Sources: kubernetes.io/docs/concepts/overview/working-with-objects/labels (syntax, reserved prefixes), the API server's
validation of nodes (a taint is unique by key and effect).
"""

import re
from collections.abc import Iterable, Iterator

from mlcluster.spec.base import SUBDOMAIN
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.pools import NodePool, Taint

ACCELERATOR_TAINT = "nvidia.com/gpu"
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_RESERVED = ("kubernetes.io", "k8s.io", "x-k8s.io", "mlcluster.dev")


def label_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Keys that the API server or mlcluster would not take, and taints given twice."""
    for index, pool in enumerate(spec.node_pools):
        here: Loc = ("nodePools", index)
        yield from _labels((*here, "labels"), pool)
        yield from _selector((*here, "selector"), pool)
        yield from _taints(here, spec, pool)


def key_error(key: str) -> str:
    """Why Kubernetes refuses `key` as the key of a label or taint; "" when it does not."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not re.fullmatch(SUBDOMAIN, prefix)):
        return f'the part before the slash, "{prefix[:60]}", is not a lower-case domain name'
    if len(name) > 63:
        return f"the name has {len(name)} characters; at most 63 are allowed"
    if not _NAME.fullmatch(name):
        return f'"{name[:60]}" is not letters, digits, dashes, dots and underscores between letters or digits'
    return ""


def reserved_domain(key: str) -> str:
    """The domain that keeps `key` from users, or ""."""
    prefix = key.rpartition("/")[0]
    return next((domain for domain in _RESERVED if prefix == domain or prefix.endswith(f".{domain}")), "")


def _key(loc: Loc, key: str, *, ours: bool, about: bool = True) -> Iterator[Problem]:
    wrong = key_error(key)
    domain = reserved_domain(key) if ours else ""
    if wrong:
        yield Problem(loc, wrong, "for example ml-purpose or example.com/purpose", key=about)
    elif domain:
        yield Problem(loc, f"keys of {domain} are not for users", "use a domain of your own, or none", key=about)


@as_far_as_known
def _labels(here: Loc, pool: NodePool) -> Iterator[Problem]:
    for key in pool.labels:
        yield from _key((*here, key), key, ours=True)


@as_far_as_known
def _selector(here: Loc, pool: NodePool) -> Iterator[Problem]:
    for key in pool.selector or {}:
        yield from _key((*here, key), key, ours=False)


@as_far_as_known
def _taints(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    first: dict[tuple[str, str], int] = {}
    for index, taint in enumerate(pool.taints):
        loc = (*here, "taints", index)
        yield from _key((*loc, "key"), taint.key, ours=True, about=False)
        yield from _accelerator_taint((*loc, "key"), spec, taint)
        if (taint.key, taint.effect) in first:
            other = first[taint.key, taint.effect]
            yield Problem(
                loc, f"{taint.key}:{taint.effect} is taints[{other}] already", "a taint is one key and effect"
            )
        first.setdefault((taint.key, taint.effect), index)


@as_far_as_known
def _accelerator_taint(loc: Loc, spec: ClusterSpec, taint: Taint) -> Iterator[Problem]:
    if taint.key == ACCELERATOR_TAINT and spec.target.kind != "existing":
        message = f"{ACCELERATOR_TAINT} is the accelerator taint, which mlcluster puts on GPU pools itself"
        yield Problem(loc, message, "remove this taint; gpu.taint: false switches it off")


def covered(selectors: Iterable[tuple[int, frozenset[tuple[str, str]]]]) -> Iterator[tuple[int, int]]:
    """Pairs (a, b) of pools where every node of b is surely a node of a too."""
    known = list(selectors)
    for position, (later, labels) in enumerate(known):
        for earlier, others in known[:position]:
            if others <= labels:
                yield earlier, later
            elif labels < others:
                yield later, earlier
