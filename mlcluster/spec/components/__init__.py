"""Components: what is installed beside the teams."""

from typing import Annotated

from pydantic import Field

from mlcluster.spec.base import SpecModel
from mlcluster.spec.components.base import ChartComponent
from mlcluster.spec.components.gpu import DcgmExporter, DraDriver, GpuOperator, NvidiaDevicePlugin
from mlcluster.spec.components.health import NodeProblemDetector, NodeReadiness
from mlcluster.spec.components.network import (
    EfaDevicePlugin,
    Multus,
    NetworkOperator,
    RdmaDevicePlugin,
    SriovDevicePlugin,
    Whereabouts,
)
from mlcluster.spec.components.observe import Monitoring
from mlcluster.spec.components.queues import JobSet, KubeRay, Kueue, LeaderWorkerSet, MpiOperator, Trainer, Volcano
from mlcluster.spec.components.scale import Keda, PrometheusAdapter
from mlcluster.spec.components.serving import CertManager, Gateway, KServe

__all__ = ["ChartComponent", "Components"]


class Components(SpecModel):
    """Every component by name; an absent one takes its default."""

    registry: Annotated[str, Field(pattern=r"^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)*$", max_length=253)] | None = None
    """Mirror of every chart and image, e.g. registry.example.com/mirror; docs/air-gapped.md says what is fetched."""
    gpu_operator: GpuOperator | None = None
    """Default: on `eks`, where a pool has NVIDIA GPUs."""
    dcgm_exporter: DcgmExporter | None = None
    nvidia_device_plugin: NvidiaDevicePlugin | None = None
    dra_driver: DraDriver | None = None
    rdma_device_plugin: RdmaDevicePlugin | None = None
    sriov_device_plugin: SriovDevicePlugin | None = None
    multus: Multus | None = None
    whereabouts: Whereabouts | None = None
    network_operator: NetworkOperator | None = None
    efa_device_plugin: EfaDevicePlugin | None = None
    """Default: on `eks`, where a pool has EFA."""
    kueue: Kueue = Field(default_factory=Kueue)
    job_set: JobSet | None = None
    """Default: with trainer."""
    trainer: Trainer | None = None
    mpi_operator: MpiOperator | None = None
    kube_ray: KubeRay | None = None
    leader_worker_set: LeaderWorkerSet | None = None
    volcano: Volcano | None = None
    keda: Keda | None = None
    prometheus_adapter: PrometheusAdapter | None = None
    kserve: KServe | None = None
    cert_manager: CertManager | None = None
    """Default: with whatever needs it."""
    gateway: Gateway | None = None
    monitoring: Monitoring | None = None
    node_problem_detector: NodeProblemDetector | None = None
    node_readiness: NodeReadiness | None = None
    """Default: with whatever needs it."""
