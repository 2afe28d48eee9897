"""The pins of charts against the metadata of the charts: versions, and the Kubernetes versions that they take."""

import re

import pytest

from mlcluster.catalog.components import ComponentPin, pin, pins
from mlcluster.rules.upgrades import chart_name
from tests.charts_at_hand import ABSENT, ARCHIVES, archives, metadata, versions_at_hand

pytestmark = [pytest.mark.unit, pytest.mark.skipif(not ARCHIVES.is_dir(), reason=ABSENT)]

CHARTS = [name for name, entry in pins().items() if entry.chart]

OTHER_VERSION = {
    "cert-manager": ("v1.21.0", "1.21.1 is a patch of it; only the tree of 1.21.0 is at hand"),
    "volcano": ("1.15.1", "1.15.3 is a patch of it; only the tree of 1.15.1 is at hand"),
}
"""Component -> the version that is at hand instead of the pinned one, and why."""

OTHER_OLDEST = {
    "gpu-operator": "the chart accepts any Kubernetes from 1.16 on; the table of supported platforms begins at 1.33",
    "keda": "the chart accepts 1.23; KEDA's own table begins at 1.30",
}
"""Component -> why the oldest Kubernetes version of the catalogue is another than `kubeVersion` of the chart."""

OTHER_APP = {
    "aws-efa-k8s-device-plugin": "chart and plugin have versions of their own",
    "cert-manager": "the tree has a placeholder, which the release replaces",
    "cluster-autoscaler": "chart and program have versions of their own; the image tag follows the cluster's minor",
    "dra-driver-nvidia-gpu": "the tree is of a development version of the release",
    "envoy-gateway": "the tree has a placeholder, which the release replaces",
    "gpu-operator": "the tree has a placeholder, which the release replaces",
    "karpenter": "the tree's Chart.yaml is behind; the controller's image is named by digest",
    "karpenter-crd": "the tree's Chart.yaml is behind; the chart has no image",
    "kube-prometheus-stack": "chart and operator have versions of their own",
    "node-readiness-controller": "the tag's Chart.yaml is behind",
    "prometheus-adapter": "chart and adapter have versions of their own",
}
"""Component -> why `appVersion` of its chart is another version than the chart's."""


def bare(version: str) -> str:
    return version.removeprefix("v")


def version_at_hand(entry: ComponentPin) -> str:
    return OTHER_VERSION[entry.name][0] if entry.name in OTHER_VERSION else entry.version


@pytest.mark.parametrize("name", CHARTS)
def test_a_pinned_chart_is_at_hand(name: str) -> None:
    entry = pin(name)
    assert version_at_hand(entry) in versions_at_hand(entry)
    if name in OTHER_VERSION:
        assert entry.version not in versions_at_hand(entry), "the exception is not needed any more"


@pytest.mark.parametrize("name", CHARTS)
def test_the_oldest_kubernetes_is_the_charts(name: str) -> None:
    entry = pin(name)
    lowest = re.search(r">=\s*v?(\d+\.\d+)", str(found(entry).get("kubeVersion", "")))
    if lowest is None:
        return
    if name in OTHER_OLDEST:
        oldest, accepted = ([int(part) for part in text.split(".")] for text in (entry.oldest, lowest[1]))
        assert oldest > accepted
    else:
        assert entry.oldest == lowest[1]


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_installs_the_program_of_its_own_version(name: str) -> None:
    entry = pin(name)
    program = str(found(entry).get("appVersion", ""))
    same = not program or bare(program) == bare(version_at_hand(entry))
    assert same is (name not in OTHER_APP)


def found(entry: ComponentPin) -> dict[str, object]:
    return dict(metadata(archives()[chart_name(entry.chart), version_at_hand(entry)]))


def test_images_with_the_version_of_a_chart_move_with_its_pin() -> None:
    """An image that names the program of the chart names it in the pinned version."""
    named = {
        (name, image)
        for name in CHARTS
        for image in pin(name).images.values()
        for tag in [image.rpartition(":")[2]]
        if image.rpartition("/")[2].partition(":")[0] in {chart_name(pin(name).chart), "gateway"}
        and ":" in image
        and bare(tag) != bare(pin(name).version)
    }
    assert named == set()
