"""The admission policy on the ways to a GPU that no resource request counts."""

from collections.abc import Mapping

from mlcluster.plan import job_kinds
from mlcluster.plan.pod_templates import all_containers, template_policy
from mlcluster.plan.policy import Policy, asks_accelerator

VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
"""The NVIDIA Container Toolkit gives a container the devices that this variable names, whether requested or not."""

_HARMLESS = ("none", "void", "")
"""Values that name no device; the MPI operator gives the empty one to its launchers."""

_MOUNTS = "/var/run/nvidia-container-devices"
"""The toolkit reads device names from mounts below this path too."""

_CDI = "cdi.k8s.io/"
"""The domain of annotations by which container runtimes and their plugins inject devices."""

_CONTAINERS = all_containers("t.spec")
_REASON = "requests for GPUs decide which devices a container sees"


def device_access(resources: list[str], users: Mapping[str, str]) -> Policy:
    """Return the policy; images and ConfigMaps can set the variable too, and only the toolkit can ignore that.

    Args:
        resources: accelerators by the names that pods ask for.
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    validations = [_variable(), _mounts(), _runtime_class(resources), _annotations()]
    return template_policy("mlcluster-device-access", job_kinds.kinds_of(users), validations)


def _variable() -> tuple[str, str]:
    harmless = ", ".join(repr(value) for value in _HARMLESS)
    given = f"has(e.valueFrom) || (has(e.value) && !(e.value in [{harmless}]))"
    named = f"(e.name == '{VISIBLE_DEVICES}' && ({given}))"
    return (
        f"variables.fresh.all(t, {_CONTAINERS}.all(c, !has(c.env) || !c.env.exists(e, {named})))",
        f"{_REASON}: leave {VISIBLE_DEVICES} out",
    )


def _mounts() -> tuple[str, str]:
    below = f"c.volumeMounts.exists(m, m.mountPath.startsWith('{_MOUNTS}'))"
    return (
        f"variables.fresh.all(t, {_CONTAINERS}.all(c, !has(c.volumeMounts) || !{below}))",
        f"{_REASON}: mount nothing below {_MOUNTS}",
    )


def _runtime_class(resources: list[str]) -> tuple[str, str]:
    return (
        (
            "variables.fresh.all(t, !has(t.spec.runtimeClassName)"
            f" || !t.spec.runtimeClassName.startsWith('nvidia') || {asks_accelerator(resources, 't.spec')})"
        ),
        "a runtimeClassName nvidia* is for pods that ask for a GPU: leave it out, or ask for a GPU",
    )


def _annotations() -> tuple[str, str]:
    return (
        (
            "variables.fresh.all(t, !has(t.metadata) || !has(t.metadata.annotations)"
            f" || !t.metadata.annotations.exists(k, k.contains('{_CDI}')))"
        ),
        f"{_REASON}: leave annotations {_CDI}* out",
    )
