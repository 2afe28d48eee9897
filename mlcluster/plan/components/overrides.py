"""Values that the spec gives to a chart, laid over ours: what we set ourselves cannot be changed."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from mlcluster.findings import Finding, found
from mlcluster.plan.components.system_nodes import NODE_SELECTORS
from mlcluster.plan.model import Manifest, PlanRelease
from mlcluster.plan.places import place
from mlcluster.plan.secrecy import secret_overrides

Path = tuple[str, ...]


def with_overrides(
    release: PlanRelease, given: Mapping[str, Any], spec_path: str, ours: Collection[str] = ()
) -> tuple[PlanRelease, list[Finding]]:
    """The release with the spec's values, and CMP001 for each of them that hits one of ours, which stays.

    Args:
        given: `components.<name>.values` of the spec.
        spec_path: where they stand.
        ours: what the catalogue says that we set, wherever it is wanted: leaving it to the chart is an answer too.
    """
    taken: list[Path] = []
    findings: list[Finding] = []
    values: Manifest = release.values
    for path, value in leaves(given):
        owner = _owned(release.values, path) or _left_out(ours, path)
        if owner is None:
            values = _laid(values, path, value)
            taken.append(path)
        else:
            where = (*place(spec_path), *path)
            what = "it" if owner == ".".join(path) else owner
            message = f"{'.'.join(path)} of the chart {release.name} follows from the spec: mlcluster sets {what}"
            findings.append(
                found("CMP001", where, message, "remove it; docs/components.md says what follows from what")
            )
    made = replace(release, values=values, overrides=tuple(sorted(".".join(path) for path in taken)))
    return made, [*findings, *_secrets(made, spec_path)]


def _secrets(release: PlanRelease, spec_path: str) -> Iterator[Finding]:
    for path in secret_overrides(release):
        message = f"{path} of the chart {release.name} holds a secret, and whoever reads the spec reads it"
        hint = "make a Secret in the cluster and name it: most charts take existingSecret, or a reference to a key"
        yield found("CMP002", (*place(spec_path), *path.split(".")), message, hint)


def leaves(values: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value that is not itself a mapping with entries, with its path."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, (*above, key))
        else:
            yield (*above, key), value


def _owned(values: Manifest, path: Path) -> str | None:
    """What of ours the path hits: the path itself, something above it, or something below it."""
    node: Any = values
    for depth, key in enumerate(path, start=1):
        if key not in node:
            return None
        node = node[key]
        if not isinstance(node, Mapping):
            return ".".join(path[:depth])
    return ".".join(path) if not node else ".".join((*path, next(leaves(node))[0][0]))


def _left_out(ours: Collection[str], path: Path) -> str | None:
    """A value of ours that this plan does without, the switch of a part that it does without, or one more label.

    Labels of a node selector add up: another one would keep a controller off the nodes that the plan counts with.
    """
    written = ".".join(path)
    if written in ours or written.removesuffix(".enabled") in ours:
        return written
    above = ".".join(path[:-1])
    return above if above in ours and path[-2] in NODE_SELECTORS else None


def _laid(values: Manifest, path: Path, value: Any) -> Manifest:
    key, *rest = path
    below = _laid(values.get(key, {}), tuple(rest), value) if rest else value
    return {**values, key: below}
