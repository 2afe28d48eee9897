"""Quotas of every accelerator type of the catalog, and the labels of its nodes."""

import re

import pytest

from mlcluster.catalog import components
from mlcluster.catalog.eks import ami_type
from mlcluster.catalog.gpus import accelerator_label
from mlcluster.catalog.instances import instance_names, instance_type
from mlcluster.catalog.quotas import vcpu_quota
from tests.upstream import REFERENCE, needs_reference

pytestmark = pytest.mark.unit

ACCELERATED = sorted(name for name in instance_names() if instance_type(name).accelerator)
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


@pytest.mark.parametrize("name", ACCELERATED)
def test_every_accelerator_type_has_a_quota_for_both_ways_to_buy_it(name: str) -> None:
    on_demand, spot = vcpu_quota(name, spot=False), vcpu_quota(name, spot=True)
    assert on_demand is not None
    assert spot is not None
    assert on_demand.code != spot.code
    assert re.fullmatch(r"L-[0-9A-F]{8}", on_demand.code)
    assert re.fullmatch(r"L-[0-9A-F]{8}", spot.code)
    assert "On-Demand" in on_demand.name
    assert "Spot" in spot.name


def test_every_type_of_the_catalog_has_an_on_demand_quota() -> None:
    assert not [name for name in instance_names() if vcpu_quota(name, spot=False) is None]


@pytest.mark.parametrize(
    ("name", "spot", "code"),
    [
        ("m7i.2xlarge", False, "L-1216C47A"),
        ("m7i.2xlarge", True, "L-34B43A08"),
        ("g6e.48xlarge", False, "L-DB2E81BA"),
        ("gr6.4xlarge", True, "L-3819A6DF"),
        ("p5.48xlarge", False, "L-417A185B"),
        ("p6e-gb200.36xlarge", False, "L-417A185B"),
        ("p4d.24xlarge", True, "L-7212CCBC"),
        ("trn2.48xlarge", False, "L-2C3B7624"),
        ("inf2.48xlarge", False, "L-1945791B"),
        ("dl2q.24xlarge", False, "L-6E869C2A"),
        ("im4gn.large", False, "L-1216C47A"),
        ("u7in-16tb.224xlarge", False, "L-43DA4232"),
    ],
)
def test_the_quota_is_that_of_the_family(name: str, *, spot: bool, code: str) -> None:
    found = vcpu_quota(name, spot=spot)
    assert found is not None
    assert found.code == code


@pytest.mark.parametrize(("name", "spot"), [("hpc7a.96xlarge", True), ("mac2.metal", False), ("8xlarge", False)])
def test_an_unknown_quota_is_none(name: str, *, spot: bool) -> None:
    assert vcpu_quota(name, spot=spot) is None


@pytest.mark.parametrize("name", ACCELERATED)
def test_nvidia_types_have_an_ami_and_a_label_and_the_others_no_ami(name: str) -> None:
    facts = instance_type(name)
    assert LABEL_VALUE.fullmatch(accelerator_label(facts.accelerator))
    if facts.accelerator_manufacturer == "nvidia":
        assert ami_type("al2023", facts.arch, "nvidia").endswith("_NVIDIA")
    else:
        with pytest.raises(KeyError):
            ami_type("al2023", facts.arch, facts.accelerator_manufacturer)


def test_labels_are_spelt_as_the_autoscaler_documents_them() -> None:
    models = ["t4", "a10g", "l4", "a100", "h100"]
    assert [accelerator_label(model) for model in models] == [
        "nvidia-tesla-t4",
        "nvidia-a10g",
        "nvidia-l4",
        "nvidia-tesla-a100",
        "nvidia-h100",
    ]


@needs_reference
@pytest.mark.parametrize("name", ["cluster-autoscaler", "aws-efa-k8s-device-plugin", "nvidia-device-plugin"])
def test_charts_are_pinned_where_their_values_were_read(name: str) -> None:
    pin = components.pin(name)
    read = (REFERENCE / "charts" / pin.name / "SOURCE.txt").read_text("utf-8")
    found = re.search(r" at ([0-9a-f]{7}) | (v[0-9.]+),", pin.source)
    assert found is not None
    assert (found.group(1) or found.group(2)) in read
