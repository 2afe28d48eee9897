"""`mlcluster plugins list`, and errors of `install`. The engine is simulated; its messages are real.

They were printed by engine 3.259: an archive without its end, a mirror that refuses the connection, a proxy that does,
and a full file system of 64 KiB.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mlcluster.commands.plugins import install_plugins, list_plugins
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.progress import Progress
from tests.fakes.engine_plugins import install_dummy
from tests.fakes.plugin_archives import make_archive
from tests.specs import EXISTING, LOCAL, SYSTEM, Data, cluster

pytestmark = pytest.mark.unit

REFUSED = (
    'warning: Error downloading plugin: Get "http://127.0.0.1:1/x.tar.gz": proxyconnect tcp: dial tcp 127.0.0.1:1:'
    " connect: connection refused\nWill retry in 1.28s [5/5]\n"
    "error: [resource plugin kubernetes-4.34.2] downloading from : failed to download plugin: kubernetes-4.34.2: failed"
    " all 5 attempts\n"
)
NO_SUCH = (
    "warning: Error downloading plugin: 404 HTTP error fetching plugin from"
    " https://jo:secret@mirror.example.com/x.tar.gz\nWill retry in 1.28s [5/5]\nerror: failed all 5 attempts\n"
)
FULL = (
    "error: installing [resource plugin kubernetes-4.34.2] from big.tar.gz: untarring file /x: write /x: no space left"
    " on device\n"
)
CUT = "error: installing [resource plugin kubernetes-4.34.2] from cut.tar.gz: extracting: unexpected EOF\n"
DENIED = "error: open /x/plugins/resource-kubernetes-v4.34.2.lock: permission denied\n"
OPTIONAL = (
    "kubernetes v4.34.2 is optional: only for `kubernetesProvider: official`; "
    "`mlcluster plugins install FILE` installs it for a spec with this setting"
)
OFFICIAL = {**EXISTING, "kubernetesProvider": "official"}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the user's Pulumi home."""
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PULUMI_DEBUG_PROVIDERS", raising=False)
    return tmp_path / "home"


@pytest.fixture
def spec(tmp_path: Path) -> Callable[[Data], Path]:
    """Return a function that writes a spec for a target."""

    def write(target: Data) -> Path:
        path = tmp_path / "cluster.yaml"
        path.write_text(json.dumps(cluster(SYSTEM, target=target)), encoding="utf-8")
        return path

    return write


def _engine(directory: Path, words: str, code: int) -> Callable[[Progress], Path]:
    """Return a program that prints these words and ends with this code."""
    program = directory / "pulumi"
    (directory / "words").write_text(words, encoding="utf-8")
    program.write_text(f'#!/bin/sh\ncat "{directory}/words" >&2\nexit {code}\n', encoding="utf-8")
    program.chmod(0o755)
    return lambda _progress: program


def _installing(directory: Path) -> Callable[[Progress], Path]:
    """Return a program that installs an empty plugin of the name and version that it is asked for."""
    program = directory / "pulumi"
    program.write_text(
        '#!/bin/sh\nfolder="$PULUMI_HOME/plugins/resource-$5-$6"\nmkdir -p "$folder"\n'
        'touch "$folder/pulumi-resource-$5"\nchmod +x "$folder/pulumi-resource-$5"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    return lambda _progress: program


def _installed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    done = json.loads(capsys.readouterr().out.splitlines()[-1])
    return [f"{one['name']} v{one['version']}" for one in done["installed"]]


def _none(_progress: Progress) -> Path:
    raise AssertionError("no engine is needed")


class TestList:
    def test_without_a_spec_everything_is_shown(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert list_plugins(None, "text") is ExitCode.OK
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[:2] for line in lines[1:-2]] == [
            ["aws", "7.51.1"],
            ["eks", "4.4.0"],
            ["kubernetes", "4.19.0"],
            ["kubernetes", "4.34.2"],
        ]
        assert lines[-2:] == ["3 of 3 missing: run `mlcluster plugins install`", OPTIONAL]

    def test_without_a_spec_the_official_provider_is_optional(self, capsys: pytest.CaptureFixture[str]) -> None:
        list_plugins(None, "json")
        plugins = json.loads(capsys.readouterr().out)["plugins"]
        optional = {(one["name"], one["version"]) for one in plugins if one["optional"]}
        assert optional == {("kubernetes", "4.34.2")}

    def test_the_hint_repeats_the_file(self, spec: Callable[[Data], Path], capsys: pytest.CaptureFixture[str]) -> None:
        path = spec(OFFICIAL)
        list_plugins(path, "text")
        assert capsys.readouterr().out.splitlines()[-1] == f"1 of 1 missing: run `mlcluster plugins install {path}`"
        other = path.rename(path.with_name("my cluster.yaml"))
        list_plugins(other, "text")
        assert capsys.readouterr().out.endswith(f"run `mlcluster plugins install '{other}'`\n")

    def test_of_a_spec(self, home: Path, spec: Callable[[Data], Path], capsys: pytest.CaptureFixture[str]) -> None:
        folder = install_dummy(home, "kubernetes", "4.34.2")
        list_plugins(spec(OFFICIAL), "json")
        document = json.loads(capsys.readouterr().out)
        assert (document["apiVersion"], document["kind"]) == ("mlcluster/v1alpha1", "PluginList")
        assert document["home"] == str(home)
        assert document["plugins"] == [
            {
                "name": "kubernetes",
                "version": "4.34.2",
                "neededBy": ["kubernetesProvider: official"],
                "optional": False,
                "state": "installed",
                "usable": True,
                "where": str(folder),
            }
        ]

    def test_nothing_is_needed_on_local(self, spec: Callable[[Data], Path], capsys: pytest.CaptureFixture[str]) -> None:
        list_plugins(spec(LOCAL), "text")
        assert "no plugin is needed" in capsys.readouterr().out


class TestInstallWithoutASpec:
    def test_by_default_only_plugins_for_eks_are_installed(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert install_plugins(None, None, "jsonl", _installing(tmp_path)) is ExitCode.OK
        assert _installed(capsys) == ["aws v7.51.1", "eks v4.4.0", "kubernetes v4.19.0"]
        assert install_plugins(None, None, "text", _none) is ExitCode.OK
        assert capsys.readouterr().out.splitlines()[-2:] == ["no plugin is missing", OPTIONAL]

    def test_a_directory_needs_no_archive_of_the_optional_plugin(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        archives = tmp_path / "archives"
        for name, version in (("aws", "7.51.1"), ("eks", "4.4.0"), ("kubernetes", "4.19.0")):
            make_archive(archives, name, version)
        assert install_plugins(None, archives, "jsonl", _installing(tmp_path)) is ExitCode.OK
        assert len(_installed(capsys)) == 3

    def test_an_archive_of_the_optional_plugin_is_installed(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        archive = make_archive(tmp_path, "kubernetes", "4.34.2")
        assert install_plugins(None, archive, "jsonl", _installing(tmp_path)) is ExitCode.OK
        assert _installed(capsys) == ["kubernetes v4.34.2"]


class TestInstall:
    def test_nothing_to_do_starts_no_engine(
        self, home: Path, spec: Callable[[Data], Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        install_dummy(home, "kubernetes", "4.34.2")
        assert install_plugins(spec(OFFICIAL), None, "text", _none) is ExitCode.OK
        assert capsys.readouterr().out.splitlines()[-1] == "no plugin is missing"

    @pytest.mark.parametrize(
        ("words", "happened", "hint"),
        [
            (REFUSED, "connection refused", "Check network and proxy"),
            (NO_SUCH, "404 HTTP error fetching plugin from https://***@mirror.example.com", "--from"),
            (FULL, "is full", "Free some space"),
            (DENIED, "permission denied", "writable"),
            ("", "no program of that name", "--from"),
        ],
    )
    def test_the_engine_refuses(
        self, words: str, happened: str, hint: str, spec: Callable[[Data], Path], tmp_path: Path
    ) -> None:
        with pytest.raises(MlclusterError) as caught:
            install_plugins(spec(OFFICIAL), None, "text", _engine(tmp_path, words, 1))
        assert caught.value.doing == "installing the plugin kubernetes v4.34.2"
        assert happened in caught.value.happened
        assert "secret" not in caught.value.happened
        assert hint in caught.value.hint

    def test_an_archive_that_the_engine_rejects_is_an_error(self, spec: Callable[[Data], Path], tmp_path: Path) -> None:
        archive = make_archive(tmp_path, "kubernetes", "4.34.2")
        with pytest.raises(MlclusterError, match="unexpected EOF") as caught:
            install_plugins(spec(OFFICIAL), archive, "text", _engine(tmp_path, CUT, 1))
        assert f"Fetch {archive.name} again" in caught.value.hint

    def test_an_engine_that_installs_nothing_is_noticed(self, spec: Callable[[Data], Path], tmp_path: Path) -> None:
        with pytest.raises(MlclusterError, match="installed no program of that name"):
            install_plugins(spec(OFFICIAL), None, "text", _engine(tmp_path, "", 0))

    def test_a_bad_archive_starts_no_engine_but_is_refused(
        self, spec: Callable[[Data], Path], tmp_path: Path, home: Path
    ) -> None:
        archive = make_archive(tmp_path / "plugins", "kubernetes", "4.34.2")
        archive.write_bytes(archive.read_bytes()[:50])
        with pytest.raises(MlclusterError, match="cannot be read as a gzipped archive"):
            install_plugins(spec(OFFICIAL), tmp_path / "plugins", "text", lambda _progress: tmp_path)
        assert not home.exists()

    def test_a_directory_without_the_archive(self, spec: Callable[[Data], Path], tmp_path: Path) -> None:
        with pytest.raises(MlclusterError, match=r"does not have pulumi-resource-kubernetes-v4\.34\.2-"):
            install_plugins(spec(OFFICIAL), tmp_path, "text", _none)

    def test_an_archive_of_another_plugin(self, spec: Callable[[Data], Path], tmp_path: Path) -> None:
        archive = make_archive(tmp_path, "random", "4.0.0")
        with pytest.raises(MlclusterError, match=r"is random v4\.0\.0; the plugins to install are kubernetes"):
            install_plugins(spec(OFFICIAL), archive, "text", _none)
