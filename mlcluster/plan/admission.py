"""The admission policies of team namespaces: no way round the quota, no CPU pods on GPU nodes, no foreign tier.

Kueue's webhooks keep pods and jobs pending; these policies (CEL, which the API server evaluates itself) reject requests
that would bypass Kueue. Each is a file of `templates/policies`, with its reasons.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from mlcluster.plan.model import Manifest, PlanObject, Pool
from mlcluster.plan.objects import from_manifest
from mlcluster.plan.policy_values import SHARED, policy_values
from mlcluster.plan.templates import CONDITIONS, Values, applies, fill, filled, read

POLICIES = "policies"
NAMES = (
    "adoption", "as-submitted", "copied-finalizers", "counted-as-used", "device-access", "disruption-budgets",
    "events", "finalizers", "finished-work", "fixed-replicas", "gate-removal", "gpu-nodes", "grace-periods",
    "held-work", "job-templates", "kueue-marks", "owner-references", "pod-affinity", "pod-networks", "pod-size",
    "queue-gate", "role-bindings", "services", "stays-together", "team-boundaries", "tiers", "volcano",
)  # fmt: skip
"""Files of `templates/policies`: a list, so that a missing file is an error and not a cluster without a policy."""


def policy_objects(
    cluster: str,
    pools: tuple[Pool, ...],
    users: Mapping[str, str] = MappingProxyType({}),
    *,
    volcano: bool = False,
) -> list[PlanObject]:
    """Return every policy and its binding to the team namespaces, which denies the request.

    Args:
        users: component of the plan that makes things in teams' namespaces -> the user that its controller is
            (`job_kinds.controllers`).
        volcano: there are teams that Volcano queues.
    """
    values = policy_values(pools, users, volcano=volcano)
    templates = [read(f"{POLICIES}/{name}.yaml") for name in NAMES]
    return [
        made
        for template in templates
        if applies(template, values)
        for made in _policy_and_binding(cluster, template, values)
    ]


def _policy_and_binding(cluster: str, template: Manifest, values: Values) -> tuple[PlanObject, PlanObject]:
    policy = fill({key: value for key, value in template.items() if key not in CONDITIONS}, values)
    made = from_manifest(cluster, policy, spec_path=("teams",))
    named = replace(values, texts={"name": policy["metadata"]["name"]})
    binding = filled(f"{SHARED}/binding.yaml", named)
    return made, from_manifest(cluster, binding, needs=(made.id,), spec_path=("teams",))
