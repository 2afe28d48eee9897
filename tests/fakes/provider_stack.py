"""A throw-away Pulumi stack that runs on the installed built-in provider, driven through the Automation API."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi import automation
from pulumi_kubernetes import Provider

from mlcluster.engine.program import TidyProgram
from mlcluster.kubernetes_provider import install

Object = dict[str, Any]
Program = Callable[[pulumi.ResourceOptions], None]

_QUIET = {"same", "refresh", "delete-replaced", "replace"}


@dataclass
class Step:
    """What the engine did to one resource."""

    op: str
    name: str
    diff: dict[str, str]
    keys: list[str]


@dataclass
class Run:
    """The outcome of one operation; `error` is the engine's whole text when it failed."""

    steps: list[Step] = field(default_factory=list)
    error: str = ""
    diagnostics: str = ""

    def ops(self) -> dict[str, str]:
        """Resource to operation; nothing for what stayed the same, and one of the three steps of a replacement."""
        return {step.name: step.op for step in self.steps if step.op not in _QUIET}

    def diff(self, name: str) -> dict[str, str]:
        """Property path to kind of change."""
        return next(step.diff for step in self.steps if step.name == name and step.diff)


class ProviderStack:
    """One stack in a directory of its own.

    Args:
        directory: everything lives here: home, state, work.
        kubeconfig: of the cluster to write to.
        pulumi: the engine.
        environment: for the engine and so for the provider's process.
        command: starts the engine; default: the SDK's own.
    """

    def __init__(
        self,
        directory: Path,
        kubeconfig: Path,
        pulumi: Path,
        environment: dict[str, str] | None = None,
        command: automation.PulumiCommand | None = None,
    ) -> None:
        home, self.state, work = directory / "home", directory / "state", directory / "work"
        for folder in (home, self.state, work):
            folder.mkdir(parents=True, exist_ok=True)
        install(home)
        self._kubeconfig = kubeconfig
        self.cluster: str | None = None  # the provider's clusterIdentifier
        self._stack = automation.create_or_select_stack(
            stack_name="dev",
            project_name="trial",
            program=lambda: None,
            opts=automation.LocalWorkspaceOptions(
                work_dir=str(work),
                pulumi_command=command or _command(home, _rooted(directory, pulumi)),
                env_vars={
                    "PULUMI_HOME": str(home),
                    "PULUMI_BACKEND_URL": f"file://{self.state}",
                    "PULUMI_CONFIG_PASSPHRASE": "open sesame",
                    "PULUMI_SKIP_UPDATE_CHECK": "true",
                    "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
                    **(environment or {}),
                },
            ),
        )

    def up(self, program: Program, *, refresh: bool = False) -> Run:
        return self._run(program, lambda **more: self._stack.up(refresh=refresh or None, **more))

    def preview(self, program: Program, *, refresh: bool = False) -> Run:
        return self._run(program, lambda **more: self._stack.preview(refresh=refresh or None, **more))

    def refresh(self) -> Run:
        return self._run(lambda _options: None, self._stack.refresh)

    def destroy(self) -> Run:
        return self._run(lambda _options: None, self._stack.destroy)

    def forget(self) -> None:
        """Lose the state, as after a run that was killed before it could write it."""
        deployment = self._stack.export_stack()
        deployment.deployment["resources"] = []
        self._stack.import_stack(deployment)

    def state_text(self) -> str:
        """Every byte that the backend keeps."""
        return "\n".join(path.read_text() for path in self.state.rglob("*.json"))

    def resource(self, name: str) -> Object:
        """A resource as the state has it."""
        resources = self._stack.export_stack().deployment["resources"]
        return next(item for item in resources if item["urn"].endswith(f"::{name}"))

    def _run(self, program: Program, operation: Callable[..., Any]) -> Run:
        def whole() -> None:
            provider = Provider("k8s", kubeconfig=str(self._kubeconfig), cluster_identifier=self.cluster)
            program(pulumi.ResourceOptions(provider=provider))

        self._stack.workspace.program = tidy = TidyProgram(whole)
        run = Run()
        try:
            operation(on_event=lambda event: _note(run, event), color="never", suppress_progress=True)
        except automation.CommandError as error:
            run.error = str(error)
        finally:
            tidy.tidy()
        return run


def custom(manifest: Object, options: pulumi.ResourceOptions, *needs: Any, name: str = "") -> pulumi.CustomResource:
    """Register one object as the platform program does: generically, whatever its kind."""
    version = manifest["apiVersion"]
    token = f"kubernetes:{version if '/' in version else 'core/' + version}:{manifest['kind']}"
    merged = pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(depends_on=[*needs]))
    return pulumi.CustomResource(token, name or manifest["metadata"]["name"], manifest, merged)


def _note(run: Run, event: Any) -> None:
    if event.diagnostic_event and event.diagnostic_event.severity != "debug":
        run.diagnostics += event.diagnostic_event.message
    done = event.res_outputs_event or (event.resource_pre_event if not event.res_outputs_event else None)
    if done is None or "pulumi:" in done.metadata.type:
        return
    metadata = done.metadata
    diff = {path: item.diff_kind.value for path, item in (metadata.detailed_diff or {}).items()}
    step = Step(str(metadata.op.value), metadata.urn.rpartition("::")[2], diff, metadata.keys or [])
    if event.res_outputs_event:
        run.steps.append(step)


def _command(home: Path, root: Path) -> automation.PulumiCommand:
    """Return the SDK's engine command, which runs `pulumi version` at once: its log belongs into `home` too."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PULUMI_HOME", str(home))
        return automation.PulumiCommand(root=str(root))


def _rooted(directory: Path, pulumi_binary: Path) -> Path:
    """The SDK wants `ROOT/bin/pulumi`."""
    link = directory / "engine" / "bin" / "pulumi"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.exists():
        link.symlink_to(pulumi_binary)
    return link.parent.parent
