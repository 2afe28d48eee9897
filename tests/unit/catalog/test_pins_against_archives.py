"""The pins of charts against the metadata of the charts: versions, and the Kubernetes versions that they take.

Exceptions for trees apply to archives in ../shared, packaged from the repositories of upstream; the archives that
`make charts` pulls are the releases themselves.
"""

import re

import pytest

from mlcluster.catalog.components import ComponentPin, chart_name, pin, pins
from mlcluster.charts.archives import Archive, exact
from tests.charts.archive_versions import DIFFERENT
from tests.charts.contents import archive_of, metadata
from tests.charts.sources import PLACES, PULLED, at_hand, needs_archives

pytestmark = [pytest.mark.unit, needs_archives]

CHARTS = [name for name, entry in pins().items() if entry.chart]

OTHER_OLDEST = {
    "gpu-operator": "the chart accepts any Kubernetes from 1.16 on; the table of supported platforms begins at 1.33",
    "keda": "the chart accepts 1.23; KEDA's own table begins at 1.30",
}
"""Component -> why the oldest Kubernetes version of the catalog is another than `kubeVersion` of the chart."""

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


def is_tree(archive: Archive) -> bool:
    return archive.path.parent != PULLED


def test_every_archive_is_found_by_its_file_name() -> None:
    assert {one.path for one in at_hand()} == {path for place in PLACES for path in place.glob("*.tgz")}


@pytest.mark.parametrize("name", CHARTS)
def test_a_pinned_chart_is_at_hand(name: str) -> None:
    entry = pin(name)
    archive = archive_of(entry.chart, entry.version)
    recorded = DIFFERENT.get(chart_name(entry.chart))
    if is_tree(archive):
        assert archive.version == (recorded[1] if recorded else entry.version)
    if recorded:
        trees = [one for one in at_hand() if is_tree(one)]
        assert exact(trees, entry.chart, entry.version) is None, "the exception is not needed any more"


def oldest_of_chart(entry: ComponentPin) -> str:
    """Return the oldest Kubernetes version that a chart accepts; "" if it names none."""
    accepted = str(metadata(archive_of(entry.chart, entry.version)).get("kubeVersion", ""))
    lowest = re.search(r">=\s*v?(\d+\.\d+)", accepted)
    return lowest[1] if lowest else ""


def test_the_oldest_kubernetes_is_that_of_the_chart() -> None:
    known = {name: found for name in CHARTS if (found := oldest_of_chart(pin(name)))}
    assert len(known) > 8
    others = {name for name, found in known.items() if pin(name).oldest != found}
    assert others == set(OTHER_OLDEST)
    for name in OTHER_OLDEST:
        oldest, accepted = ([int(part) for part in text.split(".")] for text in (pin(name).oldest, known[name]))
        assert oldest > accepted


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_installs_the_program_of_its_own_version(name: str) -> None:
    entry = pin(name)
    archive = archive_of(entry.chart, entry.version)
    program = str(metadata(archive).get("appVersion", ""))
    same = not program or bare(program) == bare(archive.version)
    assert same is (name not in OTHER_APP) or (same and not is_tree(archive))


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
