"""Check the provider plugins that the engine needs."""

from collections.abc import Sequence

from mlcluster.checks.model import Check, not_needed, ok, problem
from mlcluster.engine.plugin_pins import Presence


def plugin_checks(found: Sequence[Presence], spec: str) -> list[Check]:
    """Return a check for each plugin.

    Args:
        found: the installation state of each plugin.
        spec: path of the spec that needs them, for the hint; "" without a spec.
    """
    return [_check(one, spec) for one in found]


def _check(one: Presence, spec: str) -> Check:
    name = f"plugin {one.pin.title}"
    if one.usable:
        return ok(name, f"{one.state.value} ({one.where})")
    if not spec:
        setting = "kubernetesProvider: official" if one.pin.optional else "target.kind: eks"
        return not_needed(name, f"{one.state.value}; needed only for `{setting}`")
    why = f"needed by {', '.join(one.pin.needed_by)}"
    return problem(name, f"{one.state.value}; {why}", f"Run `mlcluster plugins install {spec}`.")
