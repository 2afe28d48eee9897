"""Controllers of jobs: JobSet 0.12, Kubeflow Trainer 2.3, MPI Operator 0.8, KubeRay 1.6; facts from their source."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlcluster.catalog.mpi_operator import RATE_FLAGS
from mlcluster.kube.client import Kube
from mlcluster.lab.controllers import rendering
from mlcluster.lab.controllers.adaptation import Manifest
from mlcluster.lab.controllers.controller import Controller, Site, webhook_trouble
from mlcluster.lab.controllers.rendering import Programs
from mlcluster.lab.ports import LOOPBACK

_RATE, _BURST = 500, 1000
"""Requests per second; the defaults of the controllers are lower, down to five."""


class JobSet(Controller):
    """Groups of Jobs."""

    name = "jobset"
    namespace = "jobset-system"
    groups = ("jobset.x-k8s.io",)

    def config(self, site: Site) -> Manifest:
        """Return a configuration with the lab's certificates, without leader election and metrics."""
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
        """Check that the webhooks add a success policy, and reject a policy that names an unknown job."""
        del site
        return webhook_trouble(
            kube,
            _job_set({}),
            _job_set({"successPolicy": {"operator": "All", "targetReplicatedJobs": ["another"]}}),
            lambda made: "successPolicy" in made["spec"],
        )


class Trainer(Controller):
    """Training jobs, which use JobSet and start after it."""

    name = "kubeflow-trainer"
    namespace = "kubeflow-system"
    groups = ("trainer.kubeflow.org",)

    def config(self, site: Site) -> Manifest:
        """Return a configuration as for JobSet; the certificate directory is not configurable but follows $TMPDIR."""
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
        """Check that the webhook rejects a job of a missing runtime."""
        del site
        metadata = {"name": "lab-probe", "namespace": "default"}
        spec = {"runtimeRef": {"name": "lab-probe-that-is-not-there"}}
        job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}
        return webhook_trouble(kube, None, job)


class MpiOperator(Controller):
    """MPI jobs. The operator has no webhook, and always elects a leader."""

    name = "mpi-operator"
    namespace = "mpi-operator"
    groups = ("kubeflow.org",)
    port_names = ("health",)
    health_path = "/healthz"

    def render(self, programs: Programs, manifests: Path, settings: Mapping[str, Any]) -> list[Manifest]:
        """Return the objects of the standalone installation, as the operator has no chart; it has no settings."""
        del settings
        return rendering.kustomize(programs, self.name, manifests / "overlays" / "standalone")

    def flags(self, site: Site) -> list[str]:
        """Return the arguments; the toolchain's build serves health checks on the loopback monitoring port."""
        return [
            f"-kubeConfig={site.kubeconfig}",
            f"-monitoring-port={site.ports['health']}",
            f"-lock-namespace={self.namespace}",
            *RATE_FLAGS,
        ]

    def prepare(self, kube: Kube) -> None:
        """Delete the lease of a killed operator, which would delay the next one by 15 seconds."""
        kube.delete("coordination.k8s.io/v1", "Lease", self.name, self.namespace)

    def trouble(self, kube: Kube, site: Site) -> str:
        """Check that the operator is the leader."""
        del site
        lease = kube.get_object("coordination.k8s.io/v1", "Lease", self.name, self.namespace) or {}
        return "" if (lease.get("spec") or {}).get("holderIdentity") else "it is not the leader yet"


class KubeRay(Controller):
    """Ray clusters, jobs and services. As in its chart, its webhooks are disabled."""

    name = "kuberay-operator"
    namespace = "kuberay"
    groups = ("ray.io",)
    port_names = ("health",)

    def render(self, programs: Programs, manifests: Path, settings: Mapping[str, Any]) -> list[Manifest]:
        """Return the objects from plain files: the module has no chart, and its kustomization takes four seconds."""
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
        """Return arguments without leader election and metrics."""
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
        """Return a setting for requests to Ray heads through the proxy, because this host cannot resolve their names.

        As in the values of its chart (plan.components.kube_ray), Redis cleanup is disabled.
        """
        more = {"HTTP_PROXY": f"http://{LOOPBACK}:1", "ENABLE_GCS_FT_REDIS_CLEANUP": "false"}
        return {**super().environment(site), **more}

    def trouble(self, kube: Kube, site: Site) -> str:
        """Return "", because only its health port can be probed."""
        del kube, site
        return ""


def _job_set(more: Manifest) -> Manifest:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
    job = {"name": "probe", "template": {"spec": {"template": {"spec": pod}}}}
    metadata = {"name": "lab-probe", "namespace": "default"}
    spec = {"replicatedJobs": [job], **more}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}
