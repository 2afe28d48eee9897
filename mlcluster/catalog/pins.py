"""Versions of what we install, each with where it comes from. Bump them here and nowhere else."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChartPin:
    """A chart at one exact version.

    Attributes:
        chart: chart name, or the whole reference of an OCI chart.
        repository: URL of the chart repository; "" for OCI.
        source: where the facts about it were read.
    """

    name: str
    chart: str
    version: str
    repository: str
    namespace: str
    source: str


KUEUE = ChartPin(
    name="kueue",
    chart="oci://registry.k8s.io/kueue/charts/kueue",
    version="0.18.3",
    repository="",
    namespace="kueue-system",
    source="sigs.k8s.io/kueue v0.18.3, charts/kueue",
)

LAB_KUBERNETES = "1.36"
"""Minor version of the lab's control plane: k8s.io/kubernetes in lab/toolchain/go.mod."""
