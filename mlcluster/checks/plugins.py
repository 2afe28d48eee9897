"""The provider plugins that the engine will ask for."""

from collections.abc import Sequence

from mlcluster.checks.model import Check, ok, problem
from mlcluster.engine.plugin_pins import Presence


def plugin_checks(found: Sequence[Presence], spec: str) -> list[Check]:
    """Return a check for each plugin.

    Args:
        found: where each is.
        spec: path of the spec that needs them, for the fix; "" when they are those of every target, so that none is
            missed yet.
    """
    return [_check(one, spec) for one in found]


def _check(one: Presence, spec: str) -> Check:
    name = f"plugin {one.pin.title}"
    if one.usable:
        return ok(name, f"{one.state.value} ({one.where})")
    why = f"needed by {', '.join(one.pin.needed_by)}"
    if not spec:
        return ok(name, f"{one.state.value}; {why}")
    return problem(name, f"{one.state.value}; {why}", f"Run `mlcluster plugins install {spec}`.")
