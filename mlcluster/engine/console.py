"""Quick engine commands, which read a stack or edit its state, one process each."""

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
    """Quick engine commands for one stack of one project.

    Attributes:
        home: the stack's directories and backend.
        project: the Pulumi project.
        binary: the pulumi executable.
        provider: the Kubernetes provider that the engine uses.
        attach: ports of running providers by package, in addition to those of the caller's environment.
        mend: called before the second attempt, if a command read a partially written state.
    """

    home: StackHome
    project: str
    binary: Path
    provider: Provider
    attach: Mapping[str, int]
    repair: Callable[[], object]

    def process(self) -> "EngineCommand":
        """Return a new command object.

        Raises:
            MlclusterError: there is no engine, or its version is not supported.
        """
        doing = "starting the Pulumi engine"
        if not self.binary.is_file():
            raise MlclusterError(doing, f"there is no engine at {self.binary}", "Run `mlcluster doctor`.")
        from mlcluster.engine.command import EngineCommand

        checkpoint = self.home.checkpoint(self.project)
        with operation.explained(self.home.spec, doing, None):
            return EngineCommand(self.binary, lambda: None if checkpoint is None else checkpoint.exists())

    def environment(self) -> dict[str, str]:
        """Return the environment of the engine, and place the plugins where the engine looks for them."""
        told = self.home.environment()
        attach = {**plugins.attached(), **self.attach}
        if attach:
            told[plugins.ATTACH_VARIABLE] = ",".join(f"{name}:{port}" for name, port in sorted(attach.items()))
        self._place_plugins(attach)
        if attach or self.provider == "builtin":
            told["PULUMI_IGNORE_AMBIENT_PLUGINS"] = "true"
        return told

    def _place_plugins(self, attach: Mapping[str, int]) -> None:
        """Link the installed plugins, and if selected the built-in provider, into the stack's home."""
        from mlcluster import kubernetes_provider

        builtin = self.provider == "builtin"
        if not builtin:
            kubernetes_provider.uninstall(self.home.plugin_home)
        plugins.link_installed(self.home.plugin_home, without=kubernetes_provider.FOLDER if builtin else "")
        if builtin and "kubernetes" not in attach:
            kubernetes_provider.install(self.home.plugin_home)

    def run(self, doing: str, *args: str) -> str:
        """Return the output of a command, which is repeated once if the state was partially written."""
        command = self.process()
        work, environment = str(self.home.prepare(self.project)), self.environment()
        with operation.explained(self.home.spec, doing, command):
            try:
                return str(command.run(list(args), work, environment).stdout)
            except Exception:
                if not operation.read_half_written(command):
                    raise
                self.repair()
                return str(command.run(list(args), work, environment).stdout)

    def ask(self, *question: str, missing: str) -> str:
        """Return the output of `pulumi stack QUESTION`; `missing` if the stack does not exist."""
        from pulumi.automation import StackNotFoundError

        try:
            return self.run("reading the stack", "stack", *question, "--stack", self.home.name)
        except MlclusterError as error:
            if isinstance(error.__cause__, StackNotFoundError):
                return missing
            raise

    def exported(self) -> dict[str, Any]:
        """Return the whole state that `pulumi stack export` prints, with encrypted secrets; {} if there is none."""
        found: dict[str, Any] = json.loads(self.ask("export", missing="{}"))
        return found

    def deployment(self) -> dict[str, Any]:
        """Return the deployment of the state, {} if there is none; a file backend needs no process for this."""
        checkpoint = self.home.checkpoint(self.project)
        if checkpoint is not None:
            if not checkpoint.exists():
                return {}
            read = parse_checkpoint(checkpoint.read_text(encoding="utf-8"))
            if read is not None:  # else it has another version or is being written: let the engine read it
                return read
        return self.exported().get("deployment") or {}

    def replace(self, exported: Mapping[str, Any]) -> None:
        """Replace the state."""
        path = self.home.project_directory(self.project) / "deployment.json"
        write_private(path, json.dumps(exported))
        try:
            self.run("repairing the state", "stack", "import", "--file", str(path), "--stack", self.home.name)
        finally:
            path.unlink(missing_ok=True)
