"""List prices of leftover resources, in USD per hour in us-east-1, without traffic costs.

Sources, public pages read in 2026: those of `catalog.prices`; EBS gp2, gp3 and load balancers
(aws.amazon.com/ebs/pricing, /elasticloadbalancing/pricing), EFS with elastic throughput (aws.amazon.com/efs/pricing).
A price that is not on these pages is None, never a guess.
"""

from collections.abc import Mapping
from typing import Any

from mlcluster.catalog.instances import instance_names, instance_type
from mlcluster.catalog.prices import (
    EKS_CLUSTER,
    ENDPOINT_PER_ZONE,
    HOURS,
    KMS_KEY,
    LUSTRE_GIB,
    NAT_GATEWAY,
    PRICE_DATE,
    PRICE_REGION,
    PUBLIC_ADDRESS,
    monthly,
)

GIB = 1024**3

FREE = 0.0
CLASSIC_BALANCER = 0.025
BALANCERS = {"application": 0.0225, "network": 0.0225}
GP2_GIB, GP3_GIB, GP3_IOPS, GP3_MIB = 0.10, 0.08, 0.005, 0.04
GP3_FREE_IOPS, GP3_FREE_MIB = 3000, 125
EFS_GIB, EFS_IA_GIB = 0.30, 0.016


def instance(name: str, state: str, lifecycle: str) -> float | None:
    """Return the price of an on-demand instance: 0 if it is stopped, None for spot instances."""
    if state not in {"running", "pending"}:
        return FREE
    if lifecycle == "spot" or name not in instance_names():
        return None
    return instance_type(name).usd_per_hour


def volume(thing: Mapping[str, Any]) -> float | None:
    """Return the price of an EBS volume, from its DescribeVolumes entry."""
    size = thing.get("Size", 0)
    if thing.get("VolumeType") == "gp2":
        return monthly(size * GP2_GIB)
    if thing.get("VolumeType") != "gp3":
        return None
    iops = max(0, thing.get("Iops", GP3_FREE_IOPS) - GP3_FREE_IOPS)
    speed = max(0, thing.get("Throughput", GP3_FREE_MIB) - GP3_FREE_MIB)
    return monthly(size * GP3_GIB + iops * GP3_IOPS + speed * GP3_MIB)


def efs(thing: Mapping[str, Any]) -> float | None:
    """Return the price of an EFS file system at its present size; None for One Zone and older throughput modes."""
    size = thing.get("SizeInBytes", {})
    if thing.get("ThroughputMode") != "elastic" or thing.get("AvailabilityZoneName") or size.get("ValueInArchive"):
        return None
    held = size.get("ValueInStandard", size.get("Value", 0)) * EFS_GIB + size.get("ValueInIA", 0) * EFS_IA_GIB
    return monthly(held / GIB)


def lustre(thing: Mapping[str, Any]) -> float | None:
    """Return the price of an FSx for Lustre file system, from its DescribeFileSystems entry."""
    about = thing.get("LustreConfiguration", {})
    speed = about.get("PerUnitStorageThroughput", 0)
    price = LUSTRE_GIB.get((about.get("DeploymentType", ""), thing.get("StorageType", ""), speed))
    return None if price is None else monthly(thing.get("StorageCapacity", 0) * price)


def endpoint(thing: Mapping[str, Any]) -> float | None:
    """Return the price of a VPC endpoint: gateway endpoints are free, interface endpoints are billed per zone."""
    kind = thing.get("VpcEndpointType")
    if kind == "Gateway":
        return FREE
    return ENDPOINT_PER_ZONE * len(thing.get("SubnetIds", [])) if kind == "Interface" else None


__all__ = [
    "EKS_CLUSTER",
    "HOURS",
    "KMS_KEY",
    "NAT_GATEWAY",
    "PRICE_DATE",
    "PRICE_REGION",
    "PUBLIC_ADDRESS",
    "monthly",
]
