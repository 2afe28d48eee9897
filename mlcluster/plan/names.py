"""Labels, names and identities that several parts of the plan, and the code that reads it, agree on."""

DOMAIN = "mlcluster.dev"
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "mlcluster"
CLUSTER = f"{DOMAIN}/cluster"
TEAM = f"{DOMAIN}/team"
POOL = f"{DOMAIN}/pool"
SYSTEM_ONLY = f"{DOMAIN}/system-only"
"""Label of nodes on which only components run, on `eks` and `local`."""
SCHEDULER = f"{DOMAIN}/scheduler"
"""Label of the namespace of a team that Volcano queues instead of Kueue."""
TIERS = f"{DOMAIN}/tiers"
"""Annotation of a team's namespace: its tiers, comma separated; the tier policy reads it."""
POOLS = f"{DOMAIN}/pools"
"""Annotation of a team's namespace: the pools of its queue, comma separated; the policy on pod sizes reads it."""
GRACE_PERIOD = f"{DOMAIN}/max-grace-period-seconds"
"""Annotation of a team's namespace: how long its pods may take to end; the policy on grace periods reads it."""

CLOSED = f"{DOMAIN}/closed"
"""Annotation of a team's namespace: limits of the team that are 0, comma separated; the policy on Services reads it."""

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
WORKLOAD_PRIORITY = "kueue.x-k8s.io/priority-class"
ADMISSION_GATE = "kueue.x-k8s.io/admission"
LOCAL_QUEUE = "default"
"""Kueue gives jobs without a queue name the local queue of this name (Kueue 0.18, LocalQueueDefaulting)."""

KUEUE_USER = "system:serviceaccount:kueue-system:kueue-controller-manager"


def owned(cluster: str, **labels: str) -> dict[str, str]:
    """Return the labels of every managed object; a later run changes only objects with them."""
    return {MANAGED_BY: MANAGER, CLUSTER: cluster, **labels}


def managed_selector(cluster: str) -> str:
    """Return the label selector of every managed object of a cluster."""
    return ",".join(f"{key}={value}" for key, value in owned(cluster).items())
