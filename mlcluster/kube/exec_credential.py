"""Exec credential plugins such as `aws eks get-token`, and a cache of their tokens.

Protocol: kubernetes.io/docs/reference/config-api/client-authentication.v1.
"""

import datetime as dt
import json
import os
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from mlcluster.errors import MlclusterError

_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_SECONDS = 60  # too short for a plugin that opens a browser
_EARLY = dt.timedelta(seconds=30)  # renew a token this long before it expires


class ExecCredential:
    """A token that is renewed when it expires, shared by threads.

    Args:
        spec: the `exec` entry of a kubeconfig user.
        cluster: the kubeconfig cluster, passed to the plugin with `provideClusterInfo`.
        certificate: called with chain and key if the plugin returns a client certificate.
    """

    def __init__(
        self, spec: dict[str, Any], cluster: dict[str, Any], certificate: Callable[[bytes, bytes], None]
    ) -> None:
        self._spec, self._cluster, self._certificate = spec, cluster, certificate
        self._lock = threading.Lock()
        self._token: str | None = None
        self._ends: dt.datetime | None = None

    def token(self) -> str:
        """Return a valid token, "" if the plugin returned only a certificate.

        Raises:
            MlclusterError: the plugin is missing, failed, or returned something else.
        """
        with self._lock:
            now = dt.datetime.now(dt.UTC)
            if self._token is None or (self._ends is not None and self._ends - _EARLY <= now):
                self._token = self._renew()
            return self._token

    def _renew(self) -> str:
        status = self._ask().get("status") or {}
        ends = status.get("expirationTimestamp")
        self._ends = dt.datetime.fromisoformat(ends) if ends else None
        chain, key = status.get("clientCertificateData"), status.get("clientKeyData")
        if chain and key:
            self._certificate(chain.encode(), key.encode())
        elif not status.get("token"):
            raise self._failure("returned neither a token nor a certificate")
        return str(status.get("token") or "")

    def _ask(self) -> dict[str, Any]:
        command = str(self._spec.get("command") or "")
        version = self._spec.get("apiVersion")
        if version not in _VERSIONS:
            raise self._failure(f"uses {version}; supported: {', '.join(_VERSIONS)}")
        argv = [command, *map(str, self._spec.get("args") or [])]
        try:
            done = subprocess.run(argv, env=self._environment(), capture_output=True, check=False, timeout=_SECONDS)
        except FileNotFoundError:
            raise self._failure("is not installed", str(self._spec.get("installHint") or "")) from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self._failure(f"did not run: {type(error).__name__}") from None
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise self._failure(f"failed with exit code {done.returncode}: {lines[-1] if lines else 'no message'}")
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            raise self._failure("did not return JSON") from None
        if not isinstance(answer, dict):
            raise self._failure("did not return an ExecCredential")
        return answer

    def _environment(self) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": False}
        if self._spec.get("provideClusterInfo"):
            keys = {"server", "certificate-authority-data", "tls-server-name"}
            spec["cluster"] = {key: value for key, value in self._cluster.items() if key in keys}
        info = {"apiVersion": self._spec.get("apiVersion"), "kind": "ExecCredential", "spec": spec}
        extra = {item["name"]: item["value"] for item in self._spec.get("env") or []}
        return {**os.environ, **extra, "KUBERNETES_EXEC_INFO": json.dumps(info)}

    def _failure(self, problem: str, hint: str = "") -> MlclusterError:
        return MlclusterError("running the credential plugin", f"{self._spec.get('command')} {problem}", hint)
