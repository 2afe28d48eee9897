"""The wheel: its list of files, and the program that it installs, run in an empty directory."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def wheel(project_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, check=True, capture_output=True, cwd=project_root)
    return next(folder.glob("*.whl"))


def test_wheel_holds_programs_templates_data_and_nothing_else(wheel: Path, project_root: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    templates = [path for path in (project_root / "templates").rglob("*") if path.is_file()]
    assert len(templates) > 40
    for path in templates:
        assert f"mlcluster/_data/{path.relative_to(project_root)}" in names
    for expected in (
        "mlcluster/_data/stacks/platform/Pulumi.yaml",
        "mlcluster/_data/stacks/platform/__main__.py",
        "mlcluster/_data/stacks/local/program.py",
        "mlcluster/catalog/ec2_instances.csv",
        "mlcluster/lab/toolchain/go.mod",
        "mlcluster/lab/toolchain/go.sum",
        "mlcluster/py.typed",
    ):
        assert expected in names
    strays = {name.split("/")[0] for name in names} - {"mlcluster", wheel.name.rsplit("-", 3)[0] + ".dist-info"}
    assert not strays
    assert not [name for name in names if "__pycache__" in name]


def test_installed_wheel_plans_in_an_empty_directory(wheel: Path, project_root: Path, tmp_path: Path) -> None:
    """Run from the unpacked wheel alone: nothing of the checkout is on the path."""
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    empty = tmp_path / "empty"
    empty.mkdir()
    script = f"import sys; sys.path.insert(0, {str(site)!r}); import mlcluster; print(mlcluster.__file__); "
    run_it = "from mlcluster.cli import main; sys.argv = ['mlcluster', *sys.argv[1:]]; main()"
    environment = {**os.environ, "MLCLUSTER_STATE_DIR": str(tmp_path / "state")}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-P", "-c", script + run_it, *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=empty, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert str(site) in run("init", "made.yaml")
    assert "Cluster atlas" in run("plan", "made.yaml")
    assert "valid" in run("validate", str(project_root / "examples" / "lab.yaml"))
