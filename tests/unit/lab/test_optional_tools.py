"""Programs that are built only on request, with a shell script in place of Go."""

import shutil
from pathlib import Path

import pytest

from mlcluster.errors import MlclusterError
from mlcluster.lab.toolchain import ensure_optional, find, find_optional, optional, pins
from mlcluster.lab.toolchain.find import directory
from mlcluster.progress import Silent

pytestmark = pytest.mark.unit

SOURCES = {
    "cmd/mpi-operator/app/server.go": 'Addr: fmt.Sprintf(":%d", healthCheckPort),',
    "cmd/mpi-operator/main.go": "startMonitoring(s.MonitoringPort)\n",
    "manifests/base/all.yaml": "kind: CustomResourceDefinition",
    "charts/jobset/Chart.yaml": "name: jobset\ndependencies:\n- name: other\n  version: 1\n\nkeywords:\n- jobs\n",
}


@pytest.fixture
def only_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set PATH to a fake Go that records its arguments and whose modules contain the files of `SOURCES`."""
    tools = tmp_path / "path"
    tools.mkdir()
    for name, text in SOURCES.items():
        file = tmp_path / "module" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o444)
    script = f"""#!/bin/sh
    echo "$@" >> {tmp_path}/calls
    case "$1" in
      version) echo go version go1.26.8 linux/amd64;;
      mod) echo '{{"Dir": "{tmp_path}/module"}}';;
      build)
        for argument in "$@"; do
          case "$argument" in
            -modfile=*) /bin/cp -r "$(dirname "${{argument#*=}}")/source" {tmp_path}/used
              /bin/cp "${{argument#*=}}" {tmp_path}/used.mod;;
          esac
        done
        while [ "$1" != -o ]; do shift; done
        echo built > "$2"; /bin/chmod 755 "$2";;
    esac
    """
    (tools / "go").write_text(script)
    (tools / "go").chmod(0o755)
    for name in ("du", "dirname"):
        (tools / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(tools))
    return tmp_path


def test_optional_programs_are_built_only_on_request(only_go: Path) -> None:
    assert not set(optional.NAMES) & set(pins.NAMES)
    assert find_optional("jobset") is None
    assert find() is None


def test_an_optional_program_is_built_once_with_its_manifests(only_go: Path) -> None:
    found = ensure_optional(["jobset"], Silent())["jobset"]
    assert found.path.name == "jobset"
    assert found == find_optional("jobset")
    chart = found.manifests / "Chart.yaml"
    assert chart.read_text() == "name: jobset\nkeywords:\n- jobs\n"  # charts of others are not in the module
    ensure_optional(["jobset"], Silent())
    assert (only_go / "calls").read_text().count("build") == 1
    assert not (directory() / "bin").exists()


def test_the_source_is_edited_in_a_copy(only_go: Path) -> None:
    ensure_optional(["mpi-operator"], Silent())
    server = (only_go / "used" / "cmd" / "mpi-operator" / "app" / "server.go").read_text()
    assert server == 'Addr: fmt.Sprintf("127.0.0.1:%d", opt.MonitoringPort),'
    assert (
        only_go / "module" / "cmd" / "mpi-operator" / "main.go"
    ).read_text() == "startMonitoring(s.MonitoringPort)\n"
    used = (only_go / "used.mod").read_text()
    assert used.startswith((pins.HERE / "go.mod").read_text())
    assert "replace github.com/kubeflow/mpi-operator => /" in used


def test_an_edit_that_does_not_match_is_an_error(only_go: Path) -> None:
    file = only_go / "module" / "cmd" / "mpi-operator" / "main.go"
    file.chmod(0o644)
    file.write_text("another()\n")
    with pytest.raises(MlclusterError, match=r"main\.go has changed: .* stands there 0 times"):
        ensure_optional(["mpi-operator"], Silent())
    assert find_optional("mpi-operator") is None


def test_a_changed_recipe_is_another_program_but_not_another_toolchain(monkeypatch: pytest.MonkeyPatch) -> None:
    before, whole = optional.key(optional.tool("jobset")), pins.key()
    changed = pins.Tool("jobset", "sigs.k8s.io/jobset", "sigs.k8s.io/jobset", tags=("other",))
    assert optional.key(changed) != before
    monkeypatch.setattr(optional, "OPTIONAL", (changed,))
    assert pins.key() == whole


@pytest.mark.parametrize("tool", optional.OPTIONAL, ids=optional.NAMES)
def test_no_program_listens_on_every_address(tool: pins.Tool) -> None:
    assert all('fmt.Sprintf(":%d"' not in edit.new for edit in tool.edits)
