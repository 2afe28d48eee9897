"""Quick commands of the engine: questions about a stack and edits of its state, one process each."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcluster.engine import operation, plugins
from mlcluster.engine.files import write_private
from mlcluster.engine.home import StackHome
from mlcluster.engine.settings import Provider
from mlcluster.engine.state import parse_checkpoint
from mlcluster.errors import MlclusterError

if TYPE_CHECKING:
    from mlcluster.engine.command import EngineCommand


@dataclass(frozen=True, slots=True)
class Console:
    """Runs commands for one stack of one project.

    Attributes:
        home: the stack's directories and backend.
        project: the Pulumi project.
        binary: the pulumi executable.
        provider: which Kubernetes provider the engine is to find.
        attach: ports of providers that run already, by package; beside those of the caller's environment.
        mend: called when a command met a state that was half written, before it is tried once more.
    """

    home: StackHome
    project: str
    binary: Path
    provider: Provider
    attach: Mapping[str, int]
    mend: Callable[[], object]

    def process(self) -> "EngineCommand":
        """A fresh engine process, not started yet.

        Raises:
            MlclusterError: there is no engine, or it does not fit.
        """
        doing = "starting the Pulumi engine"
        if not self.binary.is_file():
            raise MlclusterError(doing, f"there is no engine at {self.binary}", "Run `mlcluster doctor`.")
        from mlcluster.engine.command import EngineCommand

        checkpoint = self.home.checkpoint(self.project)
        with operation.explained(self.home.spec, doing, None):
            return EngineCommand(self.binary, lambda: None if checkpoint is None else checkpoint.exists())

    def environment(self) -> dict[str, str]:
        """What the engine is told; puts the plugins where it looks."""
        told = self.home.environment()
        attach = {**plugins.attached(), **self.attach}
        if attach:
            told[plugins.ATTACH_VARIABLE] = ",".join(f"{name}:{port}" for name, port in sorted(attach.items()))
        self._place_plugins(attach)
        if attach or self.provider == "builtin":
            told["PULUMI_IGNORE_AMBIENT_PLUGINS"] = "true"
        return told

    def _place_plugins(self, attach: Mapping[str, int]) -> None:
        """Puts the installed plugins, and the built-in provider where it is wanted, into the stack's home."""
        from mlcluster import kubernetes_provider

        builtin = self.provider == "builtin"
        if not builtin:
            kubernetes_provider.uninstall(self.home.plugin_home)
        plugins.link_installed(self.home.plugin_home, without=kubernetes_provider.FOLDER if builtin else "")
        if builtin and "kubernetes" not in attach:
            kubernetes_provider.install(self.home.plugin_home)

    def run(self, doing: str, *args: str) -> str:
        """What a command prints; it is tried once more when the state was half written."""
        command = self.process()
        work, environment = str(self.home.prepare(self.project)), self.environment()
        with operation.explained(self.home.spec, doing, command):
            try:
                return str(command.run(list(args), work, environment).stdout)
            except Exception:
                if not operation.read_half_written(command):
                    raise
                self.mend()
                return str(command.run(list(args), work, environment).stdout)

    def ask(self, *question: str, missing: str) -> str:
        """The answer of `pulumi stack QUESTION`, `missing` when there is no such stack."""
        from pulumi.automation import StackNotFoundError

        try:
            return self.run("reading the stack", "stack", *question, "--stack", self.home.name)
        except MlclusterError as error:
            if isinstance(error.__cause__, StackNotFoundError):
                return missing
            raise

    def exported(self) -> dict[str, Any]:
        """The whole state as `pulumi stack export` gives it, secrets encrypted; {} when there is none."""
        found: dict[str, Any] = json.loads(self.ask("export", missing="{}"))
        return found

    def deployment(self) -> dict[str, Any]:
        """What the state holds, {} when there is none; from a file backend without starting a process."""
        checkpoint = self.home.checkpoint(self.project)
        if checkpoint is not None:
            if not checkpoint.exists():
                return {}
            read = parse_checkpoint(checkpoint.read_text(encoding="utf-8"))
            if read is not None:  # else it is of another version or being written: let the engine read it
                return read
        return self.exported().get("deployment") or {}

    def replace(self, exported: Mapping[str, Any]) -> None:
        """Puts another state in place of the present one."""
        path = self.home.project_directory(self.project) / "deployment.json"
        write_private(path, json.dumps(exported))
        try:
            self.run("mending the state", "stack", "import", "--file", str(path), "--stack", self.home.name)
        finally:
            path.unlink(missing_ok=True)
