"""User data: the settings of a node at its first boot, by image family.

Sources: awslabs.github.io/amazon-eks-ami/nodeadm (NodeConfig, MIME parts), bottlerocket.dev settings 1.54
(kubernetes.max-pods, bootstrap-commands, kubelet-device-plugins), bottlerocket-core-kit packages/nvidia-migmanager.
EKS adds the cluster's address and certificate to the user data, so this module does not.
"""

from collections.abc import Iterable

from mlcluster.catalog.instances import instance_type
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Pool
from mlcluster.plan.values import Base64Text
from mlcluster.spec.eks_nodes import bottlerocket_mig_key, hugepages

_BOUNDARY = "==MLCLUSTER=="
_EPHEMERAL_DIRECTORIES = ("/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")


def user_data(context: EksContext, pool: Pool, *, karpenter: bool = False) -> Base64Text:
    """Return the user data of a pool's nodes: MIME parts for AL2023, TOML for Bottlerocket.

    Args:
        karpenter: Karpenter starts the nodes. It takes the plain text (`.text`), adds its own settings, and sets up the
            instance store of Bottlerocket itself (NodeClasses, "RAID0").
    """
    written = context.spec_pool(pool)
    pages = hugepages(written)
    store = has_instance_store(context, pool)
    if written.ami.family == "bottlerocket":
        text = _toml(_bottlerocket(context, pool, pages, store=store and not karpenter))
        # A different text would replace nodes: without the instance store table it has never ended with a newline.
        return Base64Text(text.removesuffix("\n") if store and karpenter else text)
    reserve = pages if pages or pool.accelerator is not None else None
    return Base64Text(_mime(_script(reserve), _node_config(pool.allocatable["pods"], store=store)))


def has_instance_store(context: EksContext, pool: Pool) -> bool:
    """Return whether the nodes' instance store becomes their ephemeral storage."""
    names = (pool.instance_type, *context.spec_pool(pool).capacity.also)
    return any(instance_type(name).local_nvme_gb for name in names)


def _mime(*parts: tuple[str, str] | None) -> str:
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"', ""]
    for kind, text in filter(None, parts):
        lines += [f"--{_BOUNDARY}", f"Content-Type: {kind}", "", text]
    return "\n".join([*lines, f"--{_BOUNDARY}--", ""])


def _script(pages: int | None) -> tuple[str, str] | None:
    """Return the script that sets huge pages; cloud-init runs it before nodeadm starts the kubelet."""
    if pages is None:
        return None
    lines = (
        "#!/bin/bash",
        "set -o errexit -o nounset",
        "# The node has what the plan counts, whatever the image sets aside.",
        f"echo 'vm.nr_hugepages = {pages}' > /etc/sysctl.d/99-mlcluster-hugepages.conf",
        f"sysctl --write vm.nr_hugepages={pages}",
        "",
    )
    return 'text/x-shellscript; charset="us-ascii"', "\n".join(lines)


def _node_config(pods: int, *, store: bool) -> tuple[str, str]:
    lines = [
        "---",
        "apiVersion: node.eks.aws/v1alpha1",
        "kind: NodeConfig",
        "spec:",
        "  kubelet:",
        "    config:",
        f"      maxPods: {pods}",
    ]
    if store:
        lines += ["  instance:", "    localStorage:", "      strategy: RAID0"]
    return "application/node.eks.aws", "\n".join([*lines, ""])


Table = tuple[str, dict[str, object]]


def _bottlerocket(context: EksContext, pool: Pool, pages: int, *, store: bool) -> Iterable[Table]:
    yield "settings.kubernetes", {"max-pods": pool.allocatable["pods"]}
    if pages:
        yield "settings.kernel.sysctl", {"vm.nr_hugepages": str(pages)}
    yield from _sharing(context, pool)
    if store:
        commands = [
            ["apiclient", "ephemeral-storage", "init"],
            ["apiclient", "ephemeral-storage", "bind", "--dirs", *_EPHEMERAL_DIRECTORIES],
        ]
        yield "settings.bootstrap-commands.instance-store", {"commands": commands, "essential": True, "mode": "always"}


def _sharing(context: EksContext, pool: Pool) -> Iterable[Table]:
    """Yield the GPU sharing settings of Bottlerocket, which runs its own device plugin and MIG manager."""
    gpu, plugin = context.spec_pool(pool).gpu, "settings.kubelet-device-plugins.nvidia"
    if gpu.mig is not None and gpu.partitioned and pool.accelerator is not None:
        key = bottlerocket_mig_key(pool.accelerator.model, pool.accelerator.memory_mib)
        yield plugin, {"device-partitioning-strategy": "mig"}
        yield f"{plugin}.mig.profile", {key: gpu.mig.removeprefix("all-")}
    elif gpu.time_slicing is not None:
        yield plugin, {"device-sharing-strategy": "time-slicing"}
        slicing = {"replicas": gpu.time_slicing.replicas, "rename-by-default": False}
        yield f"{plugin}.time-slicing", {**slicing, "fail-requests-greater-than-one": True}


def _toml(tables: Iterable[Table]) -> str:
    blocks = (f"[{name}]\n" + "".join(f'"{key}" = {_value(value)}\n' for key, value in table.items())
              for name, table in tables)  # fmt: skip
    return "\n".join(blocks)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)
