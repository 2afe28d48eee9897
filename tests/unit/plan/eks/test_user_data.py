"""User data: MIME parts for AL2023, TOML for Bottlerocket."""

import email
import tomllib
from typing import Any

import pytest
import yaml

from mlcluster.plan.eks.user_data import user_data
from tests.eks_contexts import eks_context
from tests.specs import SHARED, SYSTEM, TRAIN, Data

pytestmark = pytest.mark.unit

BOTTLEROCKET: Data = {"ami": {"family": "bottlerocket"}}


def text_of(pool: Data) -> str:
    context = eks_context(pool)
    return user_data(context, context.pools[0]).text


def parts_of(pool: Data) -> dict[str, str]:
    message = email.message_from_string(text_of(pool))
    assert message.is_multipart()
    assert not message.defects
    return {part.get_content_type(): str(part.get_payload()) for part in message.walk() if not part.is_multipart()}


def node_config(pool: Data) -> Any:
    document = yaml.safe_load(parts_of(pool)["application/node.eks.aws"])
    assert (document["apiVersion"], document["kind"]) == ("node.eks.aws/v1alpha1", "NodeConfig")
    return document["spec"]


def settings(pool: Data) -> Any:
    return tomllib.loads(text_of({**pool, **BOTTLEROCKET}))["settings"]


def test_user_data_of_al2023_has_the_number_of_pods_and_nothing_of_the_cluster() -> None:
    assert set(parts_of(SYSTEM)) == {"application/node.eks.aws"}
    assert node_config(SYSTEM) == {"kubelet": {"config": {"maxPods": 110}}}


def test_an_instance_store_becomes_one_raid() -> None:
    assert node_config(TRAIN) == {
        "kubelet": {"config": {"maxPods": 250}},
        "instance": {"localStorage": {"strategy": "RAID0"}},
    }


def test_the_store_of_another_spot_type_is_used_too() -> None:
    pool = {"name": "spot", "instanceType": "m7i.2xlarge", "maxSize": 2}
    pool["capacity"] = {"type": "spot", "also": ["m6id.2xlarge"]}
    assert node_config(pool)["instance"] == {"localStorage": {"strategy": "RAID0"}}


@pytest.mark.parametrize(
    ("pool", "pages"),
    [
        ({**SYSTEM, "hugepages2Mi": 512}, 512),
        ({**TRAIN, "network": {"efa": True}}, 5128),
        ({**TRAIN, "network": {"efa": True}, "hugepages2Mi": 6000}, 6000),
        (TRAIN, 0),
    ],
)
def test_al2023_sets_huge_pages_before_the_kubelet_starts(pool: Data, pages: int) -> None:
    script = parts_of(pool)["text/x-shellscript"]
    assert script.startswith("#!/bin/bash\n")
    assert f"sysctl --write vm.nr_hugepages={pages}\n" in script
    assert f"'vm.nr_hugepages = {pages}' > /etc/sysctl.d/" in script


def test_bottlerocket_settings() -> None:
    assert settings(SYSTEM) == {"kubernetes": {"max-pods": 110}}


def test_bottlerocket_moves_containers_to_the_instance_store() -> None:
    assert settings(TRAIN)["bootstrap-commands"] == {
        "instance-store": {
            "commands": [
                ["apiclient", "ephemeral-storage", "init"],
                [
                    *("apiclient", "ephemeral-storage", "bind", "--dirs"),
                    *("/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"),
                ],
            ],
            "essential": True,
            "mode": "always",
        }
    }


def test_bottlerocket_sets_huge_pages_by_sysctl() -> None:
    assert settings({**TRAIN, "network": {"efa": True}})["kernel"] == {"sysctl": {"vm.nr_hugepages": "5128"}}
    assert settings({**SYSTEM, "hugepages2Mi": 512})["kernel"] == {"sysctl": {"vm.nr_hugepages": "512"}}


@pytest.mark.parametrize(
    ("name", "layout", "key"),
    [
        ("p4d.24xlarge", "1g.5gb", "a100.40gb"),
        ("p4de.24xlarge", "3g.40gb", "a100.80gb"),
        ("p5.48xlarge", "7g.80gb", "h100.80gb"),
        ("p5en.48xlarge", "1g.18gb", "h200.141gb"),
        ("p6-b200.48xlarge", "2g.45gb", "b200.180gb"),
    ],
)
def test_bottlerocket_partitions_gpus_itself(name: str, layout: str, key: str) -> None:
    pool = {"name": "shared", "instanceType": name, "maxSize": 2, "gpu": {"mig": f"all-{layout}"}}
    assert settings(pool)["kubelet-device-plugins"] == {
        "nvidia": {"device-partitioning-strategy": "mig", "mig": {"profile": {key: layout}}}
    }


def test_bottlerocket_slices_time_without_renaming_the_resource() -> None:
    assert settings({**SHARED, "gpu": {"timeSlicing": {"replicas": 4}}})["kubelet-device-plugins"] == {
        "nvidia": {
            "device-sharing-strategy": "time-slicing",
            "time-slicing": {"replicas": 4, "rename-by-default": False, "fail-requests-greater-than-one": True},
        }
    }


def test_al2023_leaves_sharing_to_the_gpu_operator() -> None:
    assert "kubelet-device-plugins" not in text_of(SHARED)
