"""Components that keep work off broken nodes."""

from typing import Annotated

from pydantic import Field

from mlcluster.spec.components.base import ChartComponent

Xid = Annotated[int, Field(ge=1, le=999)]

UNHEALTHY_XIDS = (48, 64, 74, 79, 95, 119, 120)
"""Errors after which a GPU needs a reset or more (NVIDIA's XID catalogue, column "immediate action").

Double-bit ECC, row remapping failed, NVLink, fell off the bus, uncontained ECC, GSP timeout and error. Not 63, which
tells of a repair that worked, nor 94, which ends one application only: these two are told as events.
"""

TOLD_XIDS = (63, 94)
APPLICATION_XIDS = frozenset({13, 31, 43, 45, 68, 109})
"""What a program does wrong; NVIDIA's device plugin passes over the same (k8s-device-plugin, internal/rm/health.go)."""


class NodeProblemDetector(ChartComponent):
    """Node problem detector: tells broken GPUs and nodes as conditions."""

    gpu_xids: Annotated[list[Xid], Field(min_length=1, max_length=64)] = list(UNHEALTHY_XIDS)
    """XIDs in the kernel log that make a GPU unhealthy until the node starts anew."""


class NodeReadiness(ChartComponent):
    """Node readiness controller: taints nodes until, and unless, their conditions are good."""
