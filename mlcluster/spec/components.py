"""Components: what is installed beside the teams."""

from pydantic import ConfigDict

from mlcluster.spec.base import Duration, SpecModel


class KueueComponent(SpecModel):
    """Kueue: queues, quotas, admission."""

    install: bool = True
    """false: a Kueue of the pinned version is there already, configured as the plan's release says."""
    pods_ready_timeout: Duration = "30m"
    """A gang whose pods are not all running after this time goes back to the queue."""


class LaterComponent(SpecModel):
    """A component in the schema that this version does not install yet."""

    model_config = ConfigDict(extra="allow")


class Components(SpecModel):
    """Every component by name; an absent one takes its default."""

    kueue: KueueComponent = KueueComponent()
    gpu_operator: LaterComponent | None = None
    dcgm_exporter: LaterComponent | None = None
    rdma_device_plugin: LaterComponent | None = None
    multus: LaterComponent | None = None
