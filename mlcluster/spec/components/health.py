"""Node health components."""

from typing import Annotated

from pydantic import Field

from mlcluster.spec.base import Doc
from mlcluster.spec.components.base import ChartComponent

Xid = Annotated[int, Field(ge=1, le=999)]

UNHEALTHY_XIDS = (48, 64, 74, 79, 95, 119, 120)
"""XIDs after which a GPU needs at least a reset (NVIDIA's XID catalog, column "immediate action").

Double-bit ECC error, row remapping failure, NVLink error, GPU fallen off the bus, uncontained ECC error, GSP timeout,
GSP error. XID 63 reports a successful repair, and XID 94 affects one application only: both are reported as events.
"""

EVENT_XIDS = (63, 94)
APPLICATION_XIDS = frozenset({13, 31, 43, 45, 68, 109})
"""XIDs of application errors, which NVIDIA's device plugin ignores, too (k8s-device-plugin, internal/rm/health.go)."""


class NodeProblemDetector(ChartComponent):
    """Node Problem Detector, which reports GPU and node failures as node conditions."""

    gpu_xids: Annotated[list[Xid], Field(min_length=1, max_length=64), Doc(example=[48, 79, 119])] = list(
        UNHEALTHY_XIDS
    )
    """XIDs in the kernel log after which a GPU counts as unhealthy until the node restarts."""


class NodeReadiness(ChartComponent):
    """Node Readiness Controller, which taints nodes until their conditions are met."""
