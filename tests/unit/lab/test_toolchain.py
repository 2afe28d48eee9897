"""Finding and building the lab's programs, with a shell script in place of Go."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mlcluster.directories import cache_directory
from mlcluster.errors import InterruptedByUserError, MlclusterError
from mlcluster.lab.toolchain import (
    build,
    ensure,
    ensure_tool,
    find,
    find_tool,
    fit,
    optional,
    pins,
)
from mlcluster.lab.toolchain.find import directory, on_path
from mlcluster.progress import Silent, Task

pytestmark = pytest.mark.unit

ETCD = next(tool for tool in pins.TOOLS if tool.name == "etcd")


class Recorder(Silent):
    """Records the messages."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def only_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set PATH to a fake Go that records its arguments and builds every program except the one in `broken`."""
    tools = tmp_path / "path"
    chart = tmp_path / "kueue" / "charts" / "kueue"
    chart.mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: kueue")
    program(
        tools / "go",
        f"""
        echo "$@" >> {tmp_path}/calls
        case "$1" in
          version) echo go version go1.26.8 linux/amd64;;
          mod) echo '{{"Dir": "{tmp_path}/kueue"}}';;
          build)
            while [ "$1" != -o ]; do shift; done
            case "$3" in *"$(cat {tmp_path}/broken 2>/dev/null || echo nothing)") echo "$3: it is broken"; exit 1;; esac
            mkdir -p "$GOCACHE" "$GOMODCACHE"; echo "$3" > "$2"; /bin/chmod 755 "$2";;
        esac
        """,
    )
    for name in ("mkdir", "cat", "du"):
        (tools / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.delenv(build.KEEP_CACHES_VARIABLE, raising=False)
    return tmp_path


def calls(tmp_path: Path, verb: str) -> list[str]:
    return [line for line in (tmp_path / "calls").read_text().splitlines() if line.startswith(verb)]


def built() -> list[str]:
    return sorted(path.name for path in (directory() / "bin").iterdir())


def test_every_tool_has_a_pinned_version_and_is_a_tool_of_the_module() -> None:
    text = (pins.HERE / "go.mod").read_text()
    listed = {line.strip() for line in text.partition("\ntool (")[2].partition(")")[0].splitlines() if line.strip()}
    tools = (*pins.TOOLS, *optional.OPTIONAL)
    assert listed == {tool.package for tool in tools}
    assert all(fit.parse(pins.pinned(tool)) for tool in tools)


def test_versions_come_from_the_requirements_not_from_replacements() -> None:
    text = "require a/b v1.2.3 // indirect\nrequire (\n\tc/d v0.1.0\n)\nreplace (\n\tc/d => c/d v0.9.9\n)\n"
    assert pins.versions(text) == {"a/b": "1.2.3", "c/d": "0.1.0"}


def test_a_program_is_stamped_with_its_version() -> None:
    apiserver = next(tool for tool in pins.TOOLS if tool.name == "kube-apiserver")
    flags = apiserver.ldflags("1.36.3")
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3" in flags
    assert "-X k8s.io/component-base/version.gitMinor=36" in flags


def test_the_cache_key_changes_with_modules_and_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = pins.key()
    assert pins.key() == before
    for name in ("go.mod", "go.sum"):
        shutil.copy(pins.HERE / name, tmp_path / name)
    monkeypatch.setattr(pins, "HERE", tmp_path)
    assert pins.key() == before
    (tmp_path / "go.sum").write_text((tmp_path / "go.sum").read_text() + "\n")
    changed = pins.key()
    assert changed != before
    monkeypatch.setattr(pins, "STRIP", "-s")
    assert pins.key() not in {before, changed}


@pytest.mark.parametrize(("text", "version"), [
    ("etcd Version: 3.6.8", (3, 6, 8)),
    ("Kubernetes v1.36.3", (1, 36, 3)),
    ("Client Version: v1.32.4-dispatcher", None),
    ("Kubernetes v1.37.0-alpha.1", None),
    ("v3.22.0+g1a2b3c4", (3, 22, 0)),
    ("kwok version v0.8.0 go1.26.8 (linux/amd64)", (0, 8, 0)),
    ("v3.22", (3, 22, 0)),
    ("", None),
    ("no such command", None),
])  # fmt: skip
def test_versions_in_program_output(text: str, version: fit.Version | None) -> None:
    assert fit.parse(text) == version


@pytest.mark.parametrize(("name", "version", "pinned", "fits"), [
    ("kube-apiserver", (1, 36, 0), "1.36.3", True),
    ("kube-apiserver", (1, 35, 3), "1.36.3", False),
    ("etcd", (3, 6, 1), "3.6.8", True),
    ("etcd", (3, 5, 8), "3.6.8", False),
    ("helm", (3, 14, 0), "3.22.0", True),
    ("helm", (4, 0, 0), "3.22.0", False),
    ("pulumi", (3, 279, 9), "3.259.0", True),
    ("pulumi", (3, 280, 0), "3.259.0", False),
    ("pulumi", (3, 258, 9), "3.259.0", False),
    ("kueue", (0, 18, 3), "0.18.3", False),
])  # fmt: skip
def test_accepted_versions(name: str, version: fit.Version, pinned: str, *, fits: bool) -> None:
    assert fit.fits(name, version, pinned) is fits


def test_the_engines_range_is_that_of_the_sdk(project_root: Path) -> None:
    low, high = (f"{'.'.join(map(str, version[:2]))}" for version in fit.PULUMI_RANGE)
    assert f'"pulumi>={low},<{high}"' in (project_root / "pyproject.toml").read_text()


def test_an_accepted_program_on_path_is_preferred_and_run_once(tmp_path: Path) -> None:
    etcd = program(tmp_path / "etcd", f"echo x >> {tmp_path}/asked; echo etcd Version: 3.6.1")
    for _ in range(3):
        assert on_path(ETCD, which=lambda _: str(etcd)) == etcd
    assert (tmp_path / "asked").read_text() == "x\n"


def test_a_changed_program_is_run_again(tmp_path: Path) -> None:
    etcd = program(tmp_path / "etcd", "echo etcd Version: 3.6.1")
    assert on_path(ETCD, which=lambda _: str(etcd)) == etcd
    program(etcd, "echo etcd Version: 3.5.99")
    assert on_path(ETCD, which=lambda _: str(etcd)) is None


@pytest.mark.parametrize("text", ["exit 1", "echo etcd Version: 3.4.0", "echo hello"])
def test_a_program_of_another_version_is_ignored(tmp_path: Path, text: str) -> None:
    etcd = program(tmp_path / "etcd", text)
    assert on_path(ETCD, which=lambda _: str(etcd)) is None


def test_a_program_for_another_machine_is_ignored(tmp_path: Path) -> None:
    etcd = tmp_path / "etcd"
    etcd.write_bytes(b"\x7fELF not for us")
    etcd.chmod(0o755)
    assert on_path(ETCD, which=lambda _: str(etcd)) is None


def test_a_program_that_was_too_slow_is_run_again(tmp_path: Path) -> None:
    etcd = program(tmp_path / "etcd", f"[ -e {tmp_path}/quick ] || exec sleep 600\necho etcd Version: 3.6.1")
    assert fit.version_of("etcd", etcd, patience=0.1) is None
    (tmp_path / "quick").touch()
    assert fit.version_of("etcd", etcd) == (3, 6, 1)


def test_an_unreadable_version_cache_is_rewritten(tmp_path: Path) -> None:
    etcd = program(tmp_path / "etcd", "echo etcd Version: 3.6.1")
    memory = cache_directory() / "versions-on-path.json"
    memory.parent.mkdir(parents=True)
    memory.write_text("{half")
    assert on_path(ETCD, which=lambda _: str(etcd)) == etcd


def test_no_program_is_found_before_a_build(only_go: Path) -> None:
    assert find() is None
    assert find_tool("etcd") is None


def test_a_build_creates_all_programs_and_deletes_the_caches(only_go: Path) -> None:
    progress = Recorder()
    toolchain = ensure(progress)
    assert sorted(toolchain.binaries) == sorted(pins.NAMES) == built()
    assert (toolchain.chart / "Chart.yaml").is_file()
    assert not build.work_directory().exists()
    assert "13 GB" in progress.said[0]
    assert "ten to twenty minutes" in progress.said[0]
    assert ensure(progress) == toolchain
    assert len(calls(only_go, "build")) == len(pins.NAMES)
    assert len(progress.said) == 1


def test_the_caches_can_be_kept(only_go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.KEEP_CACHES_VARIABLE, "1")
    ensure(Silent())
    assert (build.work_directory() / "modules").is_dir()


def test_an_interrupted_build_has_a_hint(only_go: Path) -> None:
    class Interrupting(Silent):
        @contextmanager
        def task(self, title: str) -> Iterator[Task]:
            if "kueue" in title:
                raise KeyboardInterrupt
            with super().task(title) as task:
                yield task

    with pytest.raises(InterruptedByUserError) as caught:
        ensure(Interrupting())
    assert (caught.value.happened, caught.value.hint) == ("what is built so far stays", "the same command goes on")
    assert "helm" in built()


def test_one_tool_can_be_built_alone(only_go: Path) -> None:
    assert ensure_tool("pulumi", Silent()) == directory() / "bin" / "pulumi"
    assert built() == ["pulumi"]
    assert find() is None


def test_a_build_continues_where_it_failed(only_go: Path) -> None:
    (only_go / "broken").write_text("kueue")
    with pytest.raises(MlclusterError, match="it is broken"):
        ensure(Silent())
    finished = built()
    assert "kueue" not in finished
    assert "helm" in finished
    assert build.work_directory().is_dir()  # Go's caches stay until everything is there
    (only_go / "broken").unlink()
    ensure(Silent())
    assert len(calls(only_go, "build")) == len(pins.NAMES) + 1
    assert not build.work_directory().exists()


def test_an_incomplete_program_is_never_used(only_go: Path) -> None:
    (only_go / "broken").write_text("etcd/server/v3")
    with pytest.raises(MlclusterError):
        ensure_tool("etcd", Silent())
    assert built() == []


def test_without_go_and_wheel_there_is_a_hint(only_go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(only_go / "path" / "go", "echo go version go1.20 linux/amd64")
    monkeypatch.setattr("sys.executable", str(program(tmp_path / "python", "echo no module venv; exit 1")))
    with pytest.raises(MlclusterError, match="no module venv") as caught:
        ensure(Silent())
    assert "Go 1.26" in caught.value.hint


def test_a_full_disk_is_refused_with_both_figures(tmp_path: Path) -> None:
    with pytest.raises(MlclusterError, match=r"needs 13 GB for a while, .* has 4\.2 GB free") as caught:
        build.require_disk(tmp_path, 13_000_000_000, free=lambda _: 4_200_000_000)
    assert "MLCLUSTER_CACHE_DIR" in caught.value.hint
    build.require_disk(tmp_path, 13_000_000_000, free=lambda _: 13_000_000_000)


def test_free_space_is_read_at_the_future_directory(tmp_path: Path) -> None:
    assert build.free_bytes(tmp_path / "not" / "yet" / "there") == pytest.approx(
        shutil.disk_usage(tmp_path).free, rel=0.05
    )


def test_the_charts_copy_can_be_deleted(only_go: Path) -> None:
    """Files of a module are read-only; their copy must not be."""
    chart = only_go / "kueue" / "charts" / "kueue"
    (chart / "Chart.yaml").chmod(0o444)
    copied = ensure(Silent()).chart / "Chart.yaml"
    assert stat.S_IMODE(copied.stat().st_mode) & stat.S_IWUSR


def test_a_build_ignores_the_users_go_settings(only_go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlcluster.lab.toolchain import go

    monkeypatch.setenv("GOFLAGS", "-mod=mod")
    monkeypatch.setenv("GOOS", "windows")
    monkeypatch.setenv("GOPROXY", "https://proxy.example")
    found = go.environment(only_go)
    assert found["GOFLAGS"] == "-mod=readonly -modcacherw"
    assert "GOOS" not in found
    assert found["GOPROXY"] == "https://proxy.example"
    assert found["GOMODCACHE"].startswith(str(only_go))
    assert os.environ["GOOS"] == "windows"
