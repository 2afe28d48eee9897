"""What is said when a chart cannot be had. The sentences are Helm's own, 3.22, as it printed them."""

from pathlib import Path

import pytest

from mlcluster.deploy.preview.chart_failures import ChartTrouble, chart_trouble, charts_explained, explained, helm_cache
from mlcluster.engine.failures import Failed, ResourcesFailedError, explain
from mlcluster.errors import MlclusterError
from tests.specs import EXISTING, SYSTEM, planned

pytestmark = pytest.mark.unit
REFUSED = (
    'looks like "https://helm.ngc.nvidia.com/nvidia" is not a valid chart repository or cannot be reached: '
    'Get "https://helm.ngc.nvidia.com/nvidia/index.yaml": dial tcp 10.0.0.1:443: connect: connection refused'
)
REGISTRY = (
    'failed to perform "FetchReference" on source: Get "https://registry.k8s.io/v2/kueue/charts/kueue/manifests/0.18.3"'
    ": dial tcp: lookup registry.k8s.io on 10.0.0.53:53: no such host"
)


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        (REFUSED, "unreachable"),
        (REGISTRY, "unreachable"),
        (f"helm install: {REFUSED}", "unreachable"),
        ('failed to download "gpu-operator" at version "v26.7.0"', "unreachable"),
        ('chart "gpu-operator" version "v26.7.0" not found in https://charts.example/ repository', "missing"),
        ("failed to fetch https://charts.example/gpu-operator-v26.3.3.tgz : 404 Not Found", "missing"),
        ('failed to perform "FetchReference" on source: registry.example/a/b:1.0.0: not found', "missing"),
        ('failed to perform "FetchReference" on source: GET "https://r/v2/a": response status code 401', "refused"),
        ("failed to fetch https://charts.example/index.yaml : 403 Forbidden", "refused"),
        ("resource Deployment/gpu-operator/gpu-operator not ready. status: InProgress", None),
        ("execution error at (kueue/templates/x.yaml:1:4): not found", None),
        ("pods is forbidden: User jo cannot create resource", None),
    ],
)
def test_helms_words_are_understood(said: str, trouble: ChartTrouble | None) -> None:
    assert chart_trouble(said) == trouble


def failed(*resources: tuple[str, str]) -> ResourcesFailedError:
    error = explain("bringing the cluster up", Failed("atlas", 255, "", resources))
    assert isinstance(error, ResourcesFailedError)
    return error


def test_chart_version_repository_and_cache_are_told(tmp_path: Path) -> None:
    plan = planned(SYSTEM, target=EXISTING)
    release = next(release for release in plan.releases if release.name == "kueue")
    for name in ("kueue-0.17.1.tgz", "kueue-viz-0.1.0.tgz", "jobset-0.12.0.tgz"):
        (tmp_path / name).touch()
    error = explained(failed(("Release/kueue", REGISTRY), ("Namespace/a", "no")), plan, tmp_path)
    first, chart, other = error.happened.split("\n  ")
    assert first == "2 failed"
    assert chart.startswith(f"Release/kueue: the chart kueue {release.version}: {release.chart} cannot be reached. ")
    assert REGISTRY in chart
    assert chart.endswith("Helm's cache has kueue-0.17.1.tgz, which it does not use by itself.")
    assert other == "Namespace/a: no"
    assert "components.registry" in error.hint
    assert "docs/air-gapped.md" in error.hint


def test_a_mirror_without_the_chart_says_how_to_fill_it(tmp_path: Path) -> None:
    plan = planned(SYSTEM, target=EXISTING, components={"registry": "registry.example.com/mirror"})
    said = 'failed to perform "FetchReference" on source: registry.example.com/mirror/charts/kueue:0.18.3: not found'
    error = explained(failed(("Release/kueue", said)), plan, tmp_path / "absent")
    assert "oci://registry.example.com/mirror/charts/kueue does not have it" in error.happened
    assert "Helm's cache has none" in error.happened
    version = next(release.version for release in plan.releases if release.name == "kueue")
    assert f"helm push kueue-{version}.tgz oci://registry.example.com/mirror/charts" in error.hint


def test_other_failures_stay_as_they_are(tmp_path: Path) -> None:
    error = failed(("Release/kueue", "timed out waiting for the condition"), ("Release/unknown", REFUSED))
    assert explained(error, planned(SYSTEM, target=EXISTING), tmp_path) is error


def test_around_an_operation() -> None:
    plan = planned(SYSTEM, target=EXISTING)
    with pytest.raises(MlclusterError, match="the chart kueue"), charts_explained(plan):
        raise failed(("Release/kueue", REGISTRY))
    with pytest.raises(MlclusterError, match="something else"), charts_explained(plan):
        raise MlclusterError("previewing", "something else")


def test_helms_own_variables_say_where_its_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HELM_REPOSITORY_CACHE", "HELM_CACHE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert helm_cache() == Path("~/.cache/helm/repository").expanduser()
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert helm_cache() == Path("/x/helm/repository")
    monkeypatch.setenv("HELM_CACHE_HOME", "/h")
    assert helm_cache() == Path("/h/repository")
    monkeypatch.setenv("HELM_REPOSITORY_CACHE", str(tmp_path))
    assert helm_cache() == tmp_path
