"""Kueue's rate of API requests and its number of workers, the same in clusters and in the lab.

Kueue's own defaults are 20 requests a second and one worker for each kind (v0.18.3, apis/config/v1beta2/defaults.go);
its chart sets 50 requests and up to 5 workers. Both take minutes to admit the Jobs that a team submits at once. The API
server protects itself by API Priority and Fairness, so a higher rate of one client takes nothing from others.
"""

from collections.abc import Mapping

_GROUP = "kueue.x-k8s.io"

CLIENT_CONNECTION: Mapping[str, int] = {"qps": 1000, "burst": 2000}
WORKERS: Mapping[str, int] = {
    "Job.batch": 20,
    "Pod": 5,
    "StatefulSet.apps": 5,
    f"Workload.{_GROUP}": 20,
    f"LocalQueue.{_GROUP}": 5,
    f"ClusterQueue.{_GROUP}": 5,
    f"ResourceFlavor.{_GROUP}": 1,
}
"""By kind and API group."""

JOB_KIND_WORKERS = 5
"""Of each other kind that Kueue manages, such as JobSet.jobset.x-k8s.io."""
