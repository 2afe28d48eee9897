"""Chart values of the spec, merged over those of mlcluster, which the spec cannot change."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from mlcluster.findings import Finding, finding
from mlcluster.plan.components.system_nodes import NODE_SELECTORS
from mlcluster.plan.model import Manifest, PlanRelease, ValuePath
from mlcluster.plan.secrecy import secret_overrides
from mlcluster.plan.value_paths import dotted, leaf_values, with_value
from mlcluster.spec.document import Loc


def with_overrides(
    release: PlanRelease, given: Mapping[str, Any], spec_path: Loc, managed: Collection[str] = ()
) -> tuple[PlanRelease, list[Finding]]:
    """Return the release with the values of the spec, and CMP001 for each of them that mlcluster sets.

    Args:
        given: `components.<name>.values` of the spec.
        spec_path: the path of `given` in the spec.
        managed: paths that mlcluster sets in some plans, from the catalog; a plan without such a path intentionally
            uses the chart's default.
    """
    taken: list[ValuePath] = []
    findings: list[Finding] = []
    values: Manifest = release.values
    for path, value in leaf_values(given):
        owner = _owned(release.values, path) or _left_out(managed, path)
        if owner is None:
            values = with_value(values, path, value)
            taken.append(path)
        else:
            where = (*spec_path, *path)
            what = "it" if owner == dotted(path) else owner
            message = f"{dotted(path)} of the chart {release.name} follows from the spec: mlcluster sets {what}"
            findings.append(
                finding("CMP001", where, message, "Remove it; docs/components.md lists the values that mlcluster sets")
            )
    made = replace(release, values=values, overrides=tuple(sorted(taken, key=dotted)))
    return made, [*findings, *_secrets(made, spec_path)]


def _secrets(release: PlanRelease, spec_path: Loc) -> Iterator[Finding]:
    for path in secret_overrides(release):
        message = f"{dotted(path)} of the chart {release.name} is a secret, which every reader of the spec can see"
        hint = (
            "Create a Secret in the cluster and name it here: most charts accept existingSecret or a reference to a key"
        )
        yield finding("CMP002", (*spec_path, *path), message, hint)


def _owned(values: Manifest, path: ValuePath) -> str | None:
    """Return the managed value that a path conflicts with: at the path, above it or below it."""
    node: Any = values
    for depth, key in enumerate(path, start=1):
        if key not in node:
            return None
        node = node[key]
        if not isinstance(node, Mapping):
            return dotted(path[:depth])
    return dotted(path) if not node else dotted((*path, next(leaf_values(node))[0][0]))


def _left_out(managed: Collection[str], path: ValuePath) -> str | None:
    """Return a value that mlcluster manages but leaves unset in this plan, or the node selector that a label adds to.

    The switch (`enabled`) of an unset part counts as the part. Labels of a node selector add up: a further label would
    keep a controller off the nodes that the plan counts on.
    """
    text = dotted(path)
    if text in managed or text.removesuffix(".enabled") in managed:
        return text
    above = dotted(path[:-1])
    return above if above in managed and path[-2] in NODE_SELECTORS else None
