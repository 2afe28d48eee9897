"""Checks of the labels and taints of pools: syntax of the keys, reserved domains, duplicate taints.

Sources: kubernetes.io/docs/concepts/overview/working-with-objects/labels (syntax, reserved prefixes), the API server's
validation of nodes (a taint is unique by key and effect).
"""

import re
from collections.abc import Iterable, Iterator

from mlcluster.catalog.gpus import ACCELERATOR_TAINT
from mlcluster.spec.base import SUBDOMAIN
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.pools import NodePool, Taint

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_RESERVED = ("kubernetes.io", "k8s.io", "x-k8s.io", "mlcluster.dev")


def label_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for invalid and reserved keys, and for duplicate taints."""
    for index, pool in enumerate(spec.node_pools):
        here: Loc = ("nodePools", index)
        yield from _labels((*here, "labels"), pool)
        yield from _selector((*here, "selector"), pool)
        yield from _taints(here, spec, pool)


def key_error(key: str) -> str:
    """Return the reason why Kubernetes rejects the key of a label or taint; "" for a valid key."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not re.fullmatch(SUBDOMAIN, prefix)):
        return f'expected a lowercase domain name before the slash, got "{prefix[:60]}"'
    if len(name) > 63:
        return f"expected a name of at most 63 characters, got {len(name)}"
    if not _NAME.fullmatch(name):
        return (
            "expected a name of letters, digits, dashes, dots and underscores that begins and ends with a letter or "
            f'digit, got "{name[:60]}"'
        )
    return ""


def reserved_domain(key: str) -> str:
    """Return the reserved domain of a key; "" without one."""
    prefix = key.rpartition("/")[0]
    return next((domain for domain in _RESERVED if prefix == domain or prefix.endswith(f".{domain}")), "")


def _key(loc: Loc, key: str, *, reserved: bool, about: bool = True) -> Iterator[Problem]:
    wrong = key_error(key)
    domain = reserved_domain(key) if reserved else ""
    if wrong:
        yield Problem(loc, wrong, "For example ml-purpose or example.com/purpose", key=about)
    elif domain:
        message = f"keys with the domain {domain} are reserved"
        yield Problem(loc, message, "Use a key with your own domain or without a domain", key=about)


@stop_at_unknown_value
def _labels(here: Loc, pool: NodePool) -> Iterator[Problem]:
    for key in pool.labels:
        yield from _key((*here, key), key, reserved=True)


@stop_at_unknown_value
def _selector(here: Loc, pool: NodePool) -> Iterator[Problem]:
    for key in pool.selector or {}:
        yield from _key((*here, key), key, reserved=False)


@stop_at_unknown_value
def _taints(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    first: dict[tuple[str, str], int] = {}
    for index, taint in enumerate(pool.taints):
        loc = (*here, "taints", index)
        yield from _key((*loc, "key"), taint.key, reserved=True, about=False)
        yield from _accelerator_taint((*loc, "key"), spec, taint)
        if (taint.key, taint.effect) in first:
            other = first[taint.key, taint.effect]
            message = f"duplicate taint {taint.key}:{taint.effect}; it is also taints[{other}]"
            yield Problem(loc, message, "Remove one of the two")
        first.setdefault((taint.key, taint.effect), index)


@stop_at_unknown_value
def _accelerator_taint(loc: Loc, spec: ClusterSpec, taint: Taint) -> Iterator[Problem]:
    if taint.key == ACCELERATOR_TAINT and spec.target.kind != "existing":
        message = f"{ACCELERATOR_TAINT} is the accelerator taint, which mlcluster adds to GPU pools"
        yield Problem(loc, message, "Remove this taint. To disable it, set `gpu: {taint: false}`")


def covered(selectors: Iterable[tuple[int, frozenset[tuple[str, str]]]]) -> Iterator[tuple[int, int]]:
    """Yield the pairs (a, b) of pools where the selector of a matches every node of b."""
    known = list(selectors)
    for position, (later, labels) in enumerate(known):
        for earlier, others in known[:position]:
            if others <= labels:
                yield earlier, later
            elif labels < others:
                yield later, earlier
