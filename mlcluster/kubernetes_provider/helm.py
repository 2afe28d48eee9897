"""Run the helm binary: arguments in, JSON out. Credentials go through a private file, values through stdin."""

import json
import os
import shutil
import subprocess
import tempfile
from typing import Any

from mlcluster.errors import MlclusterError

HELM = "MLCLUSTER_HELM"
"""Names the Helm executable; without it Helm 3 on PATH is used, else the one of the toolchain."""
_TAIL = 1500  # characters of helm's own words that a message keeps
_GRACE = 60.0  # seconds on top of helm's own timeout before we give up on it


def find_helm() -> str | None:
    """Return the Helm executable that releases use; None when there is none that fits."""
    given = os.environ.get(HELM)
    if given:
        return shutil.which(given)
    from mlcluster.lab.toolchain import find_tool  # costs an import that a cluster without releases does without

    found = find_tool("helm")
    return None if found is None else str(found)


class HelmError(MlclusterError):
    """Helm said no."""

    @property
    def not_found(self) -> bool:
        """There is no such release."""
        return "release: not found" in self.happened


class Helm:
    """One cluster's releases.

    Args:
        kubeconfig: its text; written to a 0600 file for the length of each call.
    """

    def __init__(self, kubeconfig: str) -> None:
        self._kubeconfig = kubeconfig

    def run(self, *argv: str, values: Any = None, seconds: float = 300.0) -> str:
        """Helm's stdout.

        Raises:
            HelmError: with the last of its stderr.
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
                raise HelmError(doing, "Helm 3 is not installed", f"put it on PATH or name it in {HELM}") from None
            except subprocess.TimeoutExpired:
                raise HelmError(doing, f"helm did not end within {seconds + _GRACE:.0f} s") from None
        if done.returncode:
            raise HelmError(doing, (done.stderr.strip() or done.stdout.strip())[-_TAIL:])
        return done.stdout

    def json(self, *argv: str, values: Any = None, seconds: float = 300.0) -> Any:
        """Helm's answer as JSON; None when it says nothing."""
        return json.loads(self.run(*argv, "-o", "json", values=values, seconds=seconds) or "null")
