"""The helm binary, with JSON output. Credentials are passed in a private file, values through stdin."""

import json
import os
import shutil
import subprocess
import tempfile
from typing import Any

from mlcluster.errors import MlclusterError

HELM = "MLCLUSTER_HELM"
"""Environment variable with the Helm executable; by default Helm 3 on PATH, else the one of the toolchain."""
_TAIL = 1500  # characters of helm's output in an error
_GRACE = 60.0  # seconds in addition to helm's timeout, after which helm is killed


def find_helm() -> str | None:
    """Return the Helm executable that releases use; None if there is no suitable one."""
    given = os.environ.get(HELM)
    if given:
        return shutil.which(given)
    from mlcluster.lab.toolchain import find_tool  # a cluster without releases does not need this import

    found = find_tool("helm")
    return None if found is None else str(found)


class HelmError(MlclusterError):
    """Helm failed."""

    @property
    def not_found(self) -> bool:
        """Whether the release does not exist."""
        return "release: not found" in self.happened


class Helm:
    """The helm binary for one cluster.

    Args:
        kubeconfig: the text of the kubeconfig, written to a 0600 file during each call.
    """

    def __init__(self, kubeconfig: str) -> None:
        self._kubeconfig = kubeconfig

    def run(self, *argv: str, values: Any = None, seconds: float = 300.0) -> str:
        """Run a command, and return its stdout.

        Raises:
            HelmError: the command failed; the message contains the end of its stderr.
        """
        doing = f"helm {' '.join(argv[:2])}"
        with tempfile.NamedTemporaryFile("w", suffix=".kubeconfig", encoding="utf-8") as private:
            private.write(self._kubeconfig)
            private.flush()
            try:
                done = subprocess.run(
                    [find_helm() or "helm", *argv, "--kubeconfig", private.name],
                    input=None if values is None else json.dumps(values),
                    stdin=subprocess.DEVNULL if values is None else None,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=seconds + _GRACE,
                )
            except FileNotFoundError:
                raise HelmError(doing, "Helm 3 is not installed", f"Put it on PATH, or set {HELM} to it.") from None
            except subprocess.TimeoutExpired:
                raise HelmError(doing, f"helm did not end within {seconds + _GRACE:.0f} s") from None
        if done.returncode:
            raise HelmError(doing, (done.stderr.strip() or done.stdout.strip())[-_TAIL:])
        return done.stdout

    def json(self, *argv: str, values: Any = None, seconds: float = 300.0) -> Any:
        """Run a command, and return its JSON output; None if there is none."""
        return json.loads(self.run(*argv, "-o", "json", values=values, seconds=seconds) or "null")
