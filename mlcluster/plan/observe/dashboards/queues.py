"""The dashboard of queues: pending workloads, waiting times, used and borrowed quota."""

from mlcluster.plan.model import Manifest
from mlcluster.plan.observe.dashboards.parts import Choice, Panel, Query, dashboard
from mlcluster.plan.observe.dashboards.shares import shares_table
from mlcluster.plan.observe.series import GPU_QUOTA, LEADER, WAIT_P50, WAIT_P95

_CHOSEN = f'cluster_queue=~"$queue",{LEADER}'


def queues_dashboard() -> Manifest:
    """Return the dashboard that shows why a job is pending."""
    # The queue of a team is called as the team is.
    panels = (*_workloads(), shares_table('team=~"$queue"', gpus=False), *_quota())
    choice = Choice("queue", "cluster_queue", "kueue_cluster_queue_info")
    return dashboard("mlcluster-queues", "mlcluster / Queues", panels, (choice,))


def _workloads() -> tuple[Panel, ...]:
    admitted = f"sum by (cluster_queue) (increase(kueue_admitted_workloads_total{{{_CHOSEN}}}[1h]))"
    inactive = f'max by (cluster_queue, status) (kueue_cluster_queue_status{{status!="active",{_CHOSEN}}}) == 1'
    return (
        Panel("Queues that admit nothing", "table", (Query(inactive),)),
        Panel(
            "Waiting",
            "timeseries",
            (Query(_by("kueue_pending_workloads", "status"), "{{cluster_queue}} {{status}}"),),
            stacked=True,
        ),
        Panel("Admitted", "timeseries", (Query(_by("kueue_admitted_active_workloads"), "{{cluster_queue}}"),)),
        Panel(
            "Wait before admission",
            "timeseries",
            (
                Query(f'{WAIT_P50}{{cluster_queue=~"$queue"}}', "{{cluster_queue}} half"),
                Query(f'{WAIT_P95}{{cluster_queue=~"$queue"}}', "{{cluster_queue}} 19 of 20"),
            ),
            "s",
        ),
        Panel(
            "Admissions per hour",
            "timeseries",
            (Query(admitted, "{{cluster_queue}}"),),
        ),
        Panel(
            "Evictions per hour",
            "timeseries",
            (
                Query(
                    f"sum by (cluster_queue, reason) (increase(kueue_evicted_workloads_total{{{_CHOSEN}}}[1h]))",
                    "{{cluster_queue}} {{reason}}",
                ),
            ),
        ),
    )


def _quota() -> tuple[Panel, ...]:
    by = "cluster_queue, resource"
    nominal = f"sum by ({by}) (kueue_cluster_queue_nominal_quota{{{GPU_QUOTA},{_CHOSEN}}})"
    reserved = f"sum by ({by}) (kueue_cluster_queue_resource_reservation{{{GPU_QUOTA},{_CHOSEN}}})"
    usage = f"sum by ({by}) (kueue_cluster_queue_resource_usage{{{GPU_QUOTA},{_CHOSEN}}})"
    pending = f"sum by ({by}) (kueue_cluster_queue_resource_pending{{{GPU_QUOTA},{_CHOSEN}}})"
    named = "{{cluster_queue}} {{resource}}"
    cpu = f'{{resource="cpu",{_CHOSEN}}}'
    cpu_used = f"sum by (cluster_queue) (kueue_cluster_queue_resource_reservation{cpu})"
    cpu_quota = f"sum by (cluster_queue) (kueue_cluster_queue_nominal_quota{cpu})"
    return (
        Panel(
            "GPU quota guaranteed and reserved",
            "timeseries",
            (
                Query(nominal, f"{named} guaranteed"),
                Query(reserved, f"{named} reserved"),
                Query(usage, f"{named} used"),
            ),
        ),
        Panel("GPUs borrowed", "timeseries", (Query(f"{reserved} - {nominal} > 0", named),), stacked=True),
        Panel("GPUs waited for", "timeseries", (Query(pending, named),), stacked=True),
        Panel(
            "CPU reserved of what is guaranteed",
            "timeseries",
            (Query(f"{cpu_used} / {cpu_quota}", "{{cluster_queue}}"),),
            "percentunit",
        ),
    )


def _by(metric: str, *more: str) -> str:
    return f"sum by ({', '.join(('cluster_queue', *more))}) ({metric}{{{_CHOSEN}}})"
