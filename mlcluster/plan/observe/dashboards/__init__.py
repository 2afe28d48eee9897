"""Grafana dashboards, as ConfigMaps that its sidecar finds."""

import json

from mlcluster.plan.model import Manifest
from mlcluster.plan.observe.dashboards.cluster import cluster_dashboard
from mlcluster.plan.observe.dashboards.queues import queues_dashboard
from mlcluster.plan.observe.dashboards.teams import teams_dashboard


def dashboards(*, gpus: bool) -> dict[str, Manifest]:
    """Name of the ConfigMap -> dashboard; the first two are about GPUs."""
    about_gpus = {"mlcluster-cluster": cluster_dashboard(), "mlcluster-teams": teams_dashboard()}
    return {**(about_gpus if gpus else {}), "mlcluster-queues": queues_dashboard()}


def as_data(name: str, dashboard: Manifest) -> dict[str, str]:
    """Return the data of a dashboard's ConfigMap."""
    return {f"{name}.json": json.dumps(dashboard, indent=1) + "\n"}
