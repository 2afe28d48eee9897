"""Metrics that rules and dashboards use, by exporter. A test compares every query with this list.

The metrics of DCGM are in `counters`; recording rules define those of mlcluster.
"""

KUBE_STATE_METRICS = frozenset(
    {
        "kube_node_info",
        "kube_node_labels",
        "kube_node_status_allocatable",
        "kube_node_status_capacity",
        "kube_node_status_condition",
        "kube_pod_container_resource_requests",
        "kube_pod_container_status_last_terminated_reason",
        "kube_pod_container_status_restarts_total",
        "kube_pod_container_status_terminated_reason",
        "kube_pod_owner",
        "kube_pod_start_time",
        "kube_pod_status_phase",
    }
)
"""kube-state-metrics 2, docs/metrics; kube_node_labels has only the configured labels."""

KUEUE = frozenset(
    {
        "kueue_admission_wait_time_seconds_bucket",
        "kueue_admitted_active_workloads",
        "kueue_admitted_workloads_total",
        "kueue_build_info",
        "kueue_cluster_queue_borrowing_limit",
        "kueue_cluster_queue_info",
        "kueue_cluster_queue_lending_limit",
        "kueue_cluster_queue_nominal_quota",
        "kueue_cluster_queue_resource_pending",
        "kueue_cluster_queue_resource_reservation",
        "kueue_cluster_queue_resource_usage",
        "kueue_cluster_queue_status",
        "kueue_cohort_subtree_quota",
        "kueue_evicted_workloads_total",
        "kueue_pending_workloads",
        "kueue_preempted_workloads_total",
        "kueue_reserving_active_workloads",
    }
)
"""Kueue 0.18.3, pkg/metrics/metrics.go; those of quota need metrics.enableClusterQueueResources."""

GPU_OPERATOR = frozenset({"gpu_operator_reconciliation_has_nfd_labels", "gpu_operator_reconciliation_status"})
"""GPU Operator 26.7."""
