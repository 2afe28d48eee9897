"""Components: the software that mlcluster installs on the cluster."""

from typing import Annotated

from pydantic import Field

from mlcluster.spec.base import Doc, SpecModel
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
from mlcluster.spec.components.observe import Keda, Monitoring, PrometheusAdapter
from mlcluster.spec.components.queues import JobSet, KubeRay, Kueue, LeaderWorkerSet, MpiOperator, Trainer, Volcano
from mlcluster.spec.components.serving import CertManager, Gateway, KServe

__all__ = ["ChartComponent", "Components"]


Registry = Annotated[str, Field(pattern=r"^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)*$", max_length=253)]


class Components(SpecModel):
    """Components by name. An empty mapping, `{}`, installs a component with its defaults."""

    registry: Annotated[
        Registry | None, Doc(example="registry.example.com/mirror", default="the upstream registries")
    ] = None
    """Registry that mirrors every chart and image. docs/air-gapped.md lists them."""
    gpu_operator: Annotated[
        GpuOperator | None,
        Doc(default="on `eks`, installed if a pool has NVIDIA GPUs and `nvidiaDevicePlugin` is not set"),
    ] = None
    """NVIDIA GPU Operator, which installs the GPU software that the node images do not contain."""
    dcgm_exporter: Annotated[DcgmExporter | None, Doc(default="not installed")] = None
    """Standalone DCGM exporter, instead of the one of the GPU operator."""
    nvidia_device_plugin: Annotated[NvidiaDevicePlugin | None, Doc(default="not installed")] = None
    """Standalone NVIDIA device plugin, instead of the GPU operator."""
    dra_driver: Annotated[DraDriver | None, Doc(default="not installed")] = None
    """NVIDIA DRA driver for compute domains and, optionally, GPUs."""
    rdma_device_plugin: Annotated[RdmaDevicePlugin | None, Doc(default="not installed")] = None
    """RDMA shared device plugin for the pools with `network.rdma`."""
    sriov_device_plugin: Annotated[
        SriovDevicePlugin | None, Doc(default="installed if a secondary network has `type: sriov` or `type: ib-sriov`")
    ] = None
    """SR-IOV network device plugin for the pools with `network.sriov`."""
    multus: Annotated[Multus | None, Doc(default="not installed")] = None
    """Multus, which attaches pods to secondary networks."""
    whereabouts: Annotated[Whereabouts | None, Doc(default="installed if a secondary network uses it")] = None
    """Whereabouts, which assigns IP addresses on secondary networks."""
    network_operator: Annotated[NetworkOperator | None, Doc(default="not installed", targets=("existing", "local"))] = (
        None
    )
    """NVIDIA Network Operator for NVIDIA (Mellanox) network cards."""
    efa_device_plugin: Annotated[
        EfaDevicePlugin | None, Doc(default="installed if a pool has `network.efa`", targets=("eks",))
    ] = None
    """AWS EFA device plugin, which registers EFA interfaces as a resource."""
    kueue: Kueue = Field(default_factory=Kueue)
    """Kueue, which queues workloads and admits them within the quotas of the teams."""
    job_set: Annotated[JobSet | None, Doc(default="installed if `trainer` is set")] = None
    """JobSet, which runs groups of Jobs that start, fail and finish together."""
    trainer: Annotated[Trainer | None, Doc(default="not installed")] = None
    """Kubeflow Trainer v2, which runs TrainJobs."""
    mpi_operator: Annotated[MpiOperator | None, Doc(default="not installed")] = None
    """MPI Operator, which runs MPIJobs."""
    kube_ray: Annotated[KubeRay | None, Doc(default="not installed")] = None
    """KubeRay, which runs RayJobs and RayClusters."""
    leader_worker_set: Annotated[LeaderWorkerSet | None, Doc(default="not installed")] = None
    """LeaderWorkerSet, which runs groups of a leader and its workers, such as multi-node inference."""
    volcano: Annotated[Volcano | None, Doc(default="not installed")] = None
    """Volcano, the scheduler of teams with `scheduler: volcano`."""
    keda: Annotated[Keda | None, Doc(default="not installed")] = None
    """KEDA, which scales workloads on events and queries."""
    prometheus_adapter: Annotated[PrometheusAdapter | None, Doc(default="not installed")] = None
    """Prometheus adapter, which serves GPU metrics for HorizontalPodAutoscalers. Needs `monitoring`."""
    kserve: Annotated[KServe | None, Doc(default="not installed")] = None
    """KServe, which serves models as InferenceServices."""
    cert_manager: Annotated[CertManager | None, Doc(default="installed if `kserve` is set")] = None
    """cert-manager, which issues certificates for webhooks and gateways."""
    gateway: Annotated[Gateway | None, Doc(default="installed if `kserve.ingress` is set")] = None
    """Envoy Gateway, for access to models from outside the cluster."""
    monitoring: Annotated[Monitoring | None, Doc(default="not installed")] = None
    """Prometheus, Grafana, alerts and dashboards."""
    node_problem_detector: Annotated[
        NodeProblemDetector | None, Doc(default="installed with the Node Readiness Controller")
    ] = None
    """Node Problem Detector, which reports GPU and node failures as node conditions."""
    node_readiness: Annotated[NodeReadiness | None, Doc(default="installed if a secondary network needs it")] = None
    """Node Readiness Controller, which taints nodes until their conditions are met."""
