"""The limits of teams as lines of the plan's text."""

from mlcluster.plan.model import Plan

_LABELS = {
    "count/configmaps": "ConfigMaps",
    "count/secrets": "Secrets",
    "count/services": "Services",
    "services.loadbalancers": "load balancers",
    "count/ingresses.networking.k8s.io": "Ingresses",
    "count/jobs.batch": "Jobs",
    "count/persistentvolumeclaims": "volume claims",
    "requests.storage": "storage",
    "count/deployments.apps": "each other kind",
}
"""Key of a ResourceQuota -> its label. The text shows only these limits; the document has all."""


def limits_text(plan: Plan) -> list[str]:
    """Return a line for each group of teams with the same limits: how many objects such a team may store."""
    same: dict[str, list[str]] = {}
    for team in plan.teams:
        counts = ", ".join(f"{label} {team.limits[key]}" for key, label in _LABELS.items() if key in team.limits)
        same.setdefault(f"{counts}; pods end within {team.grace_period_seconds} s", []).append(team.name)
    return [f"{', '.join(teams)}: {limits}" for limits, teams in same.items()]
