"""Controllers of jobs: JobSet 0.12, Kubeflow Trainer 2.3, MPI Operator 0.8, KubeRay 1.6; facts from their source."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlcluster.catalog.mpi_operator import RATE_FLAGS
from mlcluster.kube.client import Kube
from mlcluster.lab.controllers import rendering
from mlcluster.lab.controllers.arranging import Manifest
from mlcluster.lab.controllers.controller import Controller, Site, webhook_trouble
from mlcluster.lab.controllers.rendering import Programs
from mlcluster.lab.ports import LOOPBACK

_RATE, _BURST = 500, 1000
"""Requests a second, which everybody sets lower by default, down to five."""


class JobSet(Controller):
    """Groups of Jobs."""

    name = "jobset"
    namespace = "jobset-system"
    groups = ("jobset.x-k8s.io",)

    def config(self, site: Site) -> Manifest:
        """Certificates are ours, nobody else leads, metrics are not served."""
        return {
            "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
            "kind": "Configuration",
            "webhook": {"host": LOOPBACK, "port": site.ports["webhook"], "certDir": str(site.certificates)},
            "health": {"healthProbeBindAddress": f"{LOOPBACK}:{site.ports['health']}"},
            "metrics": {"bindAddress": "0"},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": False},
            "clientConnection": {"qps": _RATE, "burst": _BURST},
        }

    def trouble(self, kube: Kube, site: Site) -> str:
        """A set is given a success policy; one whose policy names a job that it does not have is refused."""
        del site
        return webhook_trouble(
            kube,
            _job_set({}),
            _job_set({"successPolicy": {"operator": "All", "targetReplicatedJobs": ["another"]}}),
            lambda made: "successPolicy" in made["spec"],
        )


class Trainer(Controller):
    """Training jobs on top of JobSet, which must be there first."""

    name = "kubeflow-trainer"
    namespace = "kubeflow-system"
    groups = ("trainer.kubeflow.org",)

    def config(self, site: Site) -> Manifest:
        """As for JobSet; where certificates are is no setting, but depends on $TMPDIR."""
        return {
            "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
            "kind": "Configuration",
            "webhook": {"host": LOOPBACK, "port": site.ports["webhook"]},
            "health": {"healthProbeBindAddress": f"{LOOPBACK}:{site.ports['health']}"},
            "metrics": {"bindAddress": "0", "secureServing": False},
            "leaderElection": {"leaderElect": False},
            "certManagement": {"enable": False},
            "clientConnection": {"qps": _RATE, "burst": _BURST},
        }

    def trouble(self, kube: Kube, site: Site) -> str:
        """A job of a runtime that nobody made is refused."""
        del site
        metadata = {"name": "lab-probe", "namespace": "default"}
        spec = {"runtimeRef": {"name": "lab-probe-that-is-not-there"}}
        job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}
        return webhook_trouble(kube, None, job)


class MpiOperator(Controller):
    """MPI jobs. It has no webhook, and always elects a leader."""

    name = "mpi-operator"
    namespace = "mpi-operator"
    groups = ("kubeflow.org",)
    port_names = ("health",)
    health_path = "/healthz"

    def render(self, programs: Programs, manifests: Path, settings: Mapping[str, Any]) -> list[Manifest]:
        """It has no chart; its standalone installation has nothing to set."""
        del settings
        return rendering.kustomize(programs, self.name, manifests / "overlays" / "standalone")

    def flags(self, site: Site) -> list[str]:
        """The toolchain builds it so that the monitoring port serves its health, on loopback."""
        return [
            f"-kubeConfig={site.kubeconfig}",
            f"-monitoring-port={site.ports['health']}",
            f"-lock-namespace={self.namespace}",
            *RATE_FLAGS,
        ]

    def prepare(self, kube: Kube) -> None:
        """The lease of one that was killed would keep the next one waiting for 15 seconds."""
        kube.delete("coordination.k8s.io/v1", "Lease", self.name, self.namespace)

    def trouble(self, kube: Kube, site: Site) -> str:
        """It works once it leads."""
        del site
        lease = kube.get_object("coordination.k8s.io/v1", "Lease", self.name, self.namespace) or {}
        return "" if (lease.get("spec") or {}).get("holderIdentity") else "it does not lead yet"


class KubeRay(Controller):
    """Ray clusters, jobs and services. As in its chart, its webhooks are off."""

    name = "kuberay-operator"
    namespace = "kuberay"
    groups = ("ray.io",)
    port_names = ("health",)

    def render(self, programs: Programs, manifests: Path, settings: Mapping[str, Any]) -> list[Manifest]:
        """Its module has no chart, and the kustomization of its source takes four seconds for what it does."""
        del settings
        rights = (manifests / "rbac" / f"{name}.yaml" for name in ("role", "role_binding", "service_account"))
        crds = sorted((manifests / "crd" / "bases").glob("*.yaml"))
        deployment = manifests / "manager" / "manager.yaml"
        rendered = rendering.plain(programs, self.name, [*crds, *rights, deployment])
        for item in rendered:
            for place in (item["metadata"], *item.get("subjects", ())):
                place["namespace"] = self.namespace
        return rendered

    def flags(self, site: Site) -> list[str]:
        """Nobody else leads, metrics are not served."""
        return [
            f"--kubeconfig={site.kubeconfig}",
            f"--health-probe-bind-address={LOOPBACK}:{site.ports['health']}",
            "--metrics-addr=0",
            "--enable-leader-election=false",
            "--reconcile-concurrency=8",
            f"--qps={_RATE}",
            f"--burst={_BURST}",
        ]

    def environment(self, site: Site) -> dict[str, str]:
        """It asks Ray heads for their jobs; without the proxy it would look up their names outside.

        It empties no Redis, as in the values of its chart (plan.components.kube_ray).
        """
        more = {"HTTP_PROXY": f"http://{LOOPBACK}:1", "ENABLE_GCS_FT_REDIS_CLEANUP": "false"}
        return {**super().environment(site), **more}

    def trouble(self, kube: Kube, site: Site) -> str:
        """Nothing answers but its health port."""
        del kube, site
        return ""


def _job_set(more: Manifest) -> Manifest:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
    job = {"name": "probe", "template": {"spec": {"template": {"spec": pod}}}}
    metadata = {"name": "lab-probe", "namespace": "default"}
    spec = {"replicatedJobs": [job], **more}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}
