"""The built-in Kubernetes provider on a real API server, with Helm releases that are only written down.

The charts of an EKS cluster come from registries; what they install is put into the cluster by the test. It is a
process of its own: the SDK and the provider each bring a copy of one protocol file.

    with serve_platform(tmp_path / "releases.json") as port: ...
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlcluster.kubernetes_provider.objects import Found
from mlcluster.kubernetes_provider.servicer import Provider

Values = dict[str, Any]


@dataclass
class WrittenReleases:
    """Releases by NAMESPACE/NAME, with the order in which they came and went; each call is added to a file."""

    journal: Path
    inputs: dict[str, Values] = field(default_factory=dict)

    def _note(self, call: str, identifier: str) -> None:
        with self.journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps([call, identifier]) + "\n")

    def preview(self, inputs: Values) -> Values:
        return dict(inputs)

    def create(self, inputs: Values, seconds: float) -> tuple[str, Values]:
        identifier = f"{inputs['namespace']}/{inputs['name']}"
        self._note("install", identifier)
        self.inputs[identifier] = dict(inputs)
        return identifier, dict(inputs)

    def update(self, identifier: str, inputs: Values, seconds: float) -> Values:
        self._note("upgrade", identifier)
        self.inputs[identifier] = dict(inputs)
        return dict(inputs)

    def read(self, identifier: str, inputs: Values) -> Found | None:
        known = self.inputs.get(identifier)
        return None if known is None else Found(dict(known), dict(known))

    def delete(self, identifier: str, inputs: Values, seconds: float) -> None:
        self._note("uninstall", identifier)
        self.inputs.pop(identifier, None)


class PlatformProvider(Provider):
    """The provider that users get, but for the releases."""

    def __init__(self, releases: WrittenReleases) -> None:
        super().__init__()
        self.written = releases

    def _releases(self) -> Any:
        return self.written


def calls(journal: Path) -> list[tuple[str, str]]:
    """What was asked of Helm so far: ("install", "kueue-system/kueue")."""
    lines = journal.read_text("utf-8").splitlines() if journal.exists() else []
    return [(call, identifier) for call, identifier in map(json.loads, lines)]


@contextmanager
def serve_platform(journal: Path, path: str | None = None) -> Iterator[int]:
    """Runs the provider until the context ends; yields its port.

    Args:
        path: its $PATH, on which it finds credential plugins; None for the caller's.
    """
    surroundings = os.environ if path is None else {**os.environ, "PATH": path}
    argv = [sys.executable, "-m", "tests.fakes.platform_provider", str(journal)]
    project = Path(__file__).parent.parent.parent
    with subprocess.Popen(argv, cwd=project, env=surroundings, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def _serve(journal: Path) -> None:
    from mlcluster.kubernetes_provider.server import serve

    server, port = serve(PlatformProvider(WrittenReleases(journal)))
    print(port, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
