"""Programs that are built only on request: controllers of components, and promtool.

They come from the same Go module as the rest, so all of them speak the lab's version of Kubernetes. What its sum of
requirements forbids is not here: KEDA would replace the API server's library for CEL, and
sigs.k8s.io/node-readiness-controller is not served as a module.
"""

import hashlib
from pathlib import Path

from mlcluster.lab.toolchain import pins
from mlcluster.lab.toolchain.pins import Edit, Tool

_EVERYWHERE, _LOOPBACK = 'fmt.Sprintf(":%d", ', 'fmt.Sprintf("127.0.0.1:%d", '


def _webhook(kind: str) -> Edit:
    """KubeRay 1.6.2 is written for controller-runtime 0.22, where a webhook is built in another way than in 0.24."""
    builder = "ctrl.NewWebhookManagedBy(mgr"
    return Edit(
        f"pkg/webhooks/v1/{kind.lower()}_webhook.go",
        f"{builder}).\n\t\tFor(&rayv1.{kind}{{}}).\n\t\tWithValidator(",
        f"{builder}, &rayv1.{kind}{{}}).\n\t\tWithCustomValidator(",
    )


OPTIONAL = (
    Tool(
        "jobset",
        "sigs.k8s.io/jobset",
        "sigs.k8s.io/jobset",
        ("sigs.k8s.io/jobset/pkg/version.GitVersion=v{v}",),
        manifests="charts/jobset",
    ),
    Tool(
        "kubeflow-trainer",
        "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager",
        "github.com/kubeflow/trainer/v2",
        manifests="charts/kubeflow-trainer",
    ),
    Tool(
        "mpi-operator",
        "github.com/kubeflow/mpi-operator/cmd/mpi-operator",
        "github.com/kubeflow/mpi-operator",
        ("github.com/kubeflow/mpi-operator/pkg/version.Version=v{v}",),
        # Its health server listens on port 8080 of every address, whatever it is told, and ends the process when the
        # port is taken: here on loopback, on the port that is meant for metrics, which nobody collects in a lab.
        edits=(
            Edit(
                "cmd/mpi-operator/app/server.go",
                f"{_EVERYWHERE}healthCheckPort)",
                f"{_LOOPBACK}opt.MonitoringPort)",
            ),
            Edit("cmd/mpi-operator/main.go", "startMonitoring(s.MonitoringPort)", "_ = startMonitoring"),
        ),
        manifests="manifests",
    ),
    Tool(
        "kuberay-operator",
        "github.com/ray-project/kuberay/ray-operator",
        "github.com/ray-project/kuberay/ray-operator",
        edits=(_webhook("RayCluster"), _webhook("RayJob"), _webhook("RayService")),
        manifests="config",
    ),
    Tool(
        "karpenter",
        "sigs.k8s.io/karpenter/kwok",
        "sigs.k8s.io/karpenter",
        ("sigs.k8s.io/karpenter/pkg/operator.Version={v}",),
        edits=tuple(
            Edit(
                "pkg/operator/operator.go",
                f"{_EVERYWHERE}options.FromContext(ctx).{port})",
                f"{_LOOPBACK}options.FromContext(ctx).{port})",
            )
            for port in ("MetricsPort", "HealthProbePort")
        ),
        manifests="kwok/charts",
    ),
    # Without service discovery it checks rules and configurations all the same, and is half as large.
    Tool(
        "promtool",
        "github.com/prometheus/prometheus/cmd/promtool",
        "github.com/prometheus/prometheus",
        tags=("remove_all_sd",),
    ),
)
NAMES = tuple(tool.name for tool in OPTIONAL)


def tool(name: str) -> Tool:
    """The optional tool `name`, one of `NAMES`."""
    return next(tool for tool in OPTIONAL if tool.name == name)


def key(wanted: Tool) -> str:
    """Names a build of one tool: changes with how it is built, within the key of the modules."""
    return hashlib.sha256(f"{wanted} {pins.STRIP}".encode()).hexdigest()[:8]


def place(wanted: Tool, directory: Path) -> Path:
    """Where the program and its manifests are, below the `directory` of the current pins."""
    return directory / "optional" / f"{wanted.name}-{key(wanted)}"
