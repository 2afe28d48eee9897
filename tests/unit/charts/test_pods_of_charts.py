"""Errors of `plan --chart-dir` for missing archives; with a real Helm: tests/lab/test_chart_directory.py."""

from pathlib import Path

import pytest

from mlcluster.charts.pods import pods_of_charts
from mlcluster.errors import MlclusterError
from mlcluster.plan.model import Plan
from mlcluster.progress import Silent
from tests.specs import EXISTING, SYSTEM, planned

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned(SYSTEM, target=EXISTING, components={"keda": {}, "kueue": {}})


def refused(plan: Plan, directory: Path, helm: Path | None = None) -> MlclusterError:
    with pytest.raises(MlclusterError) as error:
        pods_of_charts(plan, directory, helm, Silent())
    return error.value


def test_every_missing_archive_is_named_with_the_command_that_pulls_it(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "keda-2.19.0.tgz").touch()
    error = refused(plan, tmp_path)
    assert error.happened.startswith(f"2 archives are missing in {tmp_path}: keda-2.20.2.tgz (it has 2.19.0), kueue-")
    assert f"helm pull keda --version 2.20.2 --repo https://kedacore.github.io/charts -d {tmp_path}" in error.hint
    assert "helm pull oci://" in error.hint


def test_a_path_that_is_not_a_directory(plan: Plan, tmp_path: Path) -> None:
    assert refused(plan, tmp_path / "nowhere").happened == f"{tmp_path / 'nowhere'} is not a directory"


def test_without_helm(plan: Plan, tmp_path: Path) -> None:
    for release in plan.releases:
        (tmp_path / f"{release.chart.rpartition('/')[2]}-{release.version}.tgz").touch()
    error = refused(plan, tmp_path)
    assert "Helm is neither on PATH" in error.happened
    assert "mlcluster lab build" in error.hint


def test_helm_that_cannot_be_run(plan: Plan, tmp_path: Path) -> None:
    for release in plan.releases:
        (tmp_path / f"{release.chart.rpartition('/')[2]}-{release.version}.tgz").touch()
    error = refused(plan, tmp_path, tmp_path / "helm")
    assert error.doing.startswith("rendering the chart keda-2.20.2.tgz of Release/keda")
    assert "mlcluster doctor" in error.hint


def test_a_plan_without_charts_needs_neither_archives_nor_helm(tmp_path: Path) -> None:
    bare = planned(SYSTEM)  # on `local` Kueue is a process
    assert pods_of_charts(bare, tmp_path, None, Silent()) == {}
