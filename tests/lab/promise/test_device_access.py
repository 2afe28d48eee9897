"""Ways to a GPU that no request counts."""

from typing import Any

import pytest

from tests.lab.attacks import refused, refused_change
from tests.lab.workloads import Tenant, container, controller, job, pod, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
WORDS = "requests for GPUs decide which devices a container sees"


def _with(**more: Any) -> dict[str, Any]:
    return {**pod_spec(cpu="1"), "containers": [{**container(), **more}]}


VISIBLE = {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
FROM_FIELD = {"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
MOUNT = {"volumeMounts": [{"name": "devices", "mountPath": "/var/run/nvidia-container-devices/all"}]}


@pytest.mark.parametrize("more", [VISIBLE, {"env": [FROM_FIELD]}])
def test_visible_devices_are_the_plugin_s(products: Tenant, more: dict[str, Any]) -> None:
    assert WORDS in refused(products, pod("sees", "products", _with(**more)))
    assert WORDS in refused(products, job("sees", "products", _with(**more)))
    assert WORDS in refused(products, controller("Deployment", "sees", "products", _with(**more), replicas=1))
    first = {**pod_spec(cpu="1"), "initContainers": [{**container(), "name": "first", **more}]}
    assert WORDS in refused(products, pod("sees", "products", first))


def test_mounts_and_annotations_name_no_devices(products: Tenant) -> None:
    spec = {**_with(**MOUNT), "volumes": [{"name": "devices", "emptyDir": {}}]}
    assert WORDS in refused(products, pod("sees", "products", spec))
    for key in ("cdi.k8s.io/gpu", "nvidia.cdi.k8s.io/container.main"):
        made = pod("sees", "products", pod_spec(cpu="1"), annotations={key: "nvidia.com/gpu=all"})
        assert WORDS in refused(products, made)


def test_the_runtime_of_gpus_is_for_gpu_pods(products: Tenant) -> None:
    words = refused(products, job("sees", "products", pod_spec(cpu="1", runtimeClassName="nvidia")))
    assert "runtimeClassName" in words


def test_a_template_does_not_gain_device_access(products: Tenant) -> None:
    products.submit(controller("Deployment", "api", "products", pod_spec(cpu="1"), replicas=1))
    change = {"spec": {"template": {"spec": {"containers": [{**container(), **VISIBLE}]}}}}
    assert WORDS in refused_change(products, "apps/v1", "deployments/api", change)


def test_a_container_may_hide_all_devices(products: Tenant) -> None:
    """CUDA images request all devices by default; `none` disables that."""
    spec = _with(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"}])
    products.submit(pod("blind", "products", spec))
    wait_for("it runs", lambda: (products.pod("blind") or {})["status"]["phase"] == "Running")
    (blind,) = (products.pod("blind") or {})["spec"]["containers"]
    assert blind["env"] == spec["containers"][0]["env"]
