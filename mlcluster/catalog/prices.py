"""List prices of AWS resources other than EC2 instances, in us-east-1, and lower bounds of other prices.

Sources, read in 2026 as public pages quote them: EKS control plane (aws.amazon.com/eks/pricing), NAT gateway (AWS Price
List, 2025-10), public IPv4 addresses and interface endpoints (aws.amazon.com/vpc/pricing, /privatelink/pricing), KMS
(aws.amazon.com/kms/pricing), FSx for Lustre at 125 MB/s per TiB (aws.amazon.com/fsx/lustre/pricing).
"""

from collections.abc import Mapping

PRICE_REGION = "us-east-1"
PRICE_DATE = "2026-04"
HOURS = 730
"""Hours of a month, as AWS converts prices."""

EKS_CLUSTER = 0.10
"""In standard support; six times as much afterwards."""
NAT_GATEWAY = 0.045
PUBLIC_ADDRESS = 0.005
ENDPOINT_PER_ZONE = 0.01
LUSTRE_GIB = {("PERSISTENT_2", "SSD", 125): 0.145}
KMS_KEY = 1.0

LOWEST_REGION = 0.5
"""The share of a us-east-1 list price that no region goes below.

The lowest that was seen is 0.71: m8g in ap-south-1 at $0.06416 for $0.08976 (SkyPilot's catalog of AWS prices,
catalogs/v8/aws/vms.csv at e385a0d3). The rest is margin, because no source lists every type in every region.
"""

LOWEST_BOUGHT: Mapping[str, float] = {"onDemand": 1.0, "spot": 0.1, "reservation": 0.28, "capacityBlock": 0.28}
"""The share of the list price that a capacity type can cost: spot up to 90 % less (aws.amazon.com/ec2/spot/pricing),
commitments up to 72 % less (aws.amazon.com/savingsplans/compute-pricing)."""


def monthly(usd: float) -> float:
    """Return a price by the month as one by the hour."""
    return usd / HOURS
