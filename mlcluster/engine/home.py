"""The files of a stack on this machine: its state, passphrase, project files, plugins and settings."""

import os
import secrets
import shlex
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mlcluster.directories import STATE_VARIABLE, state_directory
from mlcluster.engine.files import private_directory, write_private
from mlcluster.engine.settings import StackSettings, read_settings, write_settings
from mlcluster.errors import MlclusterError
from mlcluster.trust import require_trusted

BACKEND_VARIABLE = "MLCLUSTER_BACKEND_URL"
PASSPHRASE_VARIABLES = ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE")
KEPT_LOGS = 40
"""The number of log files to keep: the engine writes one for each command and operation, and removes none."""


class StackHome:
    """The directories of one stack, which `prepare` creates.

    Args:
        name: name of the stack: `metadata.name` of the spec.
        root: directory of this stack; default: `stacks/NAME` in the state directory.
        backend_url: URL of the state backend; default: files below `root`. `$MLCLUSTER_BACKEND_URL` overrides both.
        secrets_provider: "passphrase" or None for a passphrase, else the URL of a key (awskms://, gcpkms://, ...).
        spec: the spec file as the user typed it, for the commands in hints.
    """

    def __init__(
        self,
        name: str,
        root: Path | None = None,
        *,
        backend_url: str | None = None,
        secrets_provider: str | None = None,
        spec: str = "cluster.yaml",
    ) -> None:
        self.name = name
        self.spec = shlex.quote(spec)
        self.root = root or require_trusted(
            state_directory() / "stacks" / name, "opening the state directory", STATE_VARIABLE
        )
        self.secrets_provider = None if secrets_provider == "passphrase" else secrets_provider
        given = os.environ.get(BACKEND_VARIABLE) or backend_url
        self.owns_backend = not given
        self.backend_url = given or f"file://{self.root / 'state'}"

    @property
    def plugin_home(self) -> Path:
        """The PULUMI_HOME of this stack: plugins, workspaces and logs."""
        return self.root / "home"

    @property
    def state_files(self) -> Path | None:
        """The directory of a file backend, None for other backends."""
        parts = urlsplit(self.backend_url)
        return Path(unquote(parts.netloc + parts.path)).expanduser() if parts.scheme == "file" else None

    def project_directory(self, project: str) -> Path:
        """Return the directory of Pulumi.yaml and the stack's settings file, which contains the salt."""
        return self.root / "projects" / project

    def checkpoint(self, project: str) -> Path | None:
        """Return the path of a project's state file in a file backend, None for other backends."""
        base = self.state_files
        return base and base / ".pulumi" / "stacks" / project / f"{self.name}.json"

    def prepare(self, project: str) -> Path:
        """Create every directory and file that the engine needs, and return the project directory.

        Raises:
            MlclusterError: no space, no permission, or the passphrase of an existing stack is missing.
        """
        for directory in (self.root, self.plugin_home):
            private_directory(directory)
        if self.owns_backend:
            private_directory(self.root / "state")
        private_directory(self.root / "projects")
        work = private_directory(self.project_directory(project))
        description = f"name: {project}\nruntime: python\n"
        settings = work / "Pulumi.yaml"
        if not settings.exists() or settings.read_text(encoding="utf-8") != description:
            write_private(settings, description)
        if self._generates_passphrase():
            self._ensure_passphrase()
        self._prune_logs()
        return work

    def environment(self) -> dict[str, str]:
        """Return the additional environment of the engine, without the text of a generated passphrase."""
        told = {
            "PULUMI_HOME": str(self.plugin_home),
            "PULUMI_BACKEND_URL": self.backend_url,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        }
        if self._generates_passphrase():
            told["PULUMI_CONFIG_PASSPHRASE_FILE"] = str(self.root / "passphrase")
        elif not self.secrets_provider:
            name = next(name for name in PASSPHRASE_VARIABLES if name in os.environ)
            told[name] = os.environ[name]
        if not self.owns_backend and "PULUMI_ACCESS_TOKEN" in os.environ:
            told["PULUMI_ACCESS_TOKEN"] = os.environ["PULUMI_ACCESS_TOKEN"]
        return told

    def settings(self) -> StackSettings | None:
        """Return the settings that the last `up` recorded, None before the first."""
        return read_settings(self.root / "settings.json")

    def record(self, settings: StackSettings) -> None:
        """Record the settings; an empty UID does not replace the recorded one."""
        known = self.settings()
        now = known.merged(settings) if known else settings
        if now != known:
            private_directory(self.root)
            write_settings(self.root / "settings.json", now)

    def forget(self) -> None:
        """Delete all files of the stack from this machine; its state must be empty.

        Raises:
            MlclusterError: a file cannot be deleted.
        """
        try:
            shutil.rmtree(self.root)
        except FileNotFoundError:
            return
        except OSError as error:
            doing = "removing the stack's directory"
            raise MlclusterError(doing, str(error), f"Remove {self.root} by hand.") from error

    def _generates_passphrase(self) -> bool:
        if self.secrets_provider:
            return False
        return self.owns_backend or not any(name in os.environ for name in PASSPHRASE_VARIABLES)

    def _ensure_passphrase(self) -> None:
        path = self.root / "passphrase"
        if path.exists():
            return
        written = self.root / "state" / ".pulumi" / "stacks"
        if self.owns_backend and written.is_dir() and any(written.rglob("*.json")):
            raise MlclusterError(
                f"opening the stack {self.name}",
                f"its passphrase file {path} is missing, and without it the secrets of the state cannot be read",
                "Restore the file from a backup.",
            )
        write_private(path, secrets.token_urlsafe(32) + "\n")

    def _prune_logs(self) -> None:
        logs = sorted((self.plugin_home / "logs").glob("*.log"), key=lambda path: path.stat().st_mtime)
        for path in logs[:-KEPT_LOGS]:
            path.unlink(missing_ok=True)
