"""The Pulumi engine for one stack of one project: preview, up, destroy, drift, and the contents of the state."""

import json
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mlcluster.engine import locks, operation, recovery
from mlcluster.engine.adoption import Adopted, Held, objects_in, with_adopted, without
from mlcluster.engine.console import Console
from mlcluster.engine.events import Changes, Fold, OnEvent
from mlcluster.engine.home import StackHome
from mlcluster.engine.locks import Lock
from mlcluster.engine.program import TidyProgram
from mlcluster.engine.settings import StackSettings
from mlcluster.engine.state import (
    Pending,
    Resource,
    foreign_in,
    outputs_in,
    pending_in,
    provider_in,
    releases_in,
    resources_in,
    with_created,
    without_retention,
)
from mlcluster.errors import MlclusterError
from mlcluster.rules.upgrades import Deployed

_QUIET: dict[str, Any] = {"color": "never", "suppress_progress": True, "suppress_outputs": True}


@dataclass(frozen=True, slots=True)
class UpResult:
    """The result of `up`.

    Attributes:
        changes: the changes to the resources of the plan.
        drift: the differences on the server that the preceding refresh found; `changes` corrects them.
        seconds: wall time of the operation.
    """

    changes: Changes
    drift: Changes
    seconds: float


def _silent(text: str) -> None:
    del text


@dataclass
class Engine:
    """The operations of one stack; each can raise MlclusterError with a hint.

    Attributes:
        home: the stack's directories and backend; its name is the stack's name.
        project: the Pulumi project, e.g. mlcluster-platform.
        program: registers the resources; the engine calls it in a thread of this process.
        settings: the cluster and provider of this run; the engine refuses values that differ from the recorded ones.
        binary: the pulumi executable.
        attach: ports of running providers by package; for tests and simulated providers.
        tell: receives messages for the user: interruptions and recoveries.
    """

    home: StackHome
    project: str
    program: Callable[[], object]
    settings: StackSettings
    binary: Path
    attach: Mapping[str, int] = field(default_factory=dict)
    tell: Callable[[str], object] = _silent
    _stack: Any = field(default=None, init=False, repr=False)
    _console: Console = field(init=False, repr=False)
    _checked: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        provider = self.settings.provider
        self._console = Console(self.home, self.project, self.binary, provider, self.attach, self._repair)

    def preview(self, on_event: OnEvent | None = None, *, refresh: bool = True) -> Changes:
        """Return the changes that `up` would make; with `refresh` it first reads the server, as `up` does."""
        fold = self._run(
            "previewing",
            lambda stack, take: stack.preview(on_event=take, refresh=refresh, **_QUIET),
            on_event,
            reads=True,
        )
        return fold.changes()

    def up(self, on_event: OnEvent | None = None, *, refresh: bool = True) -> UpResult:
        """Create or update the cluster to match the program, after removing a lock whose owner is provably dead."""
        began = time.monotonic()
        self._check_settings()
        self.recover_if_owner_dead()
        self.open()
        self.home.record(self.settings)
        doing = "bringing the cluster up"
        fold = self._run(doing, lambda stack, take: stack.up(on_event=take, refresh=refresh, **_QUIET), on_event)
        return UpResult(fold.changes(), fold.drift(), time.monotonic() - began)

    def destroy(self, on_event: OnEvent | None = None) -> Changes:
        """Delete every resource of the state; the empty stack stays until `remove_stack`."""
        self._check_settings()
        self.recover_if_owner_dead()
        doing = "taking the cluster down"
        return self._run(doing, lambda stack, take: stack.destroy(on_event=take, **_QUIET), on_event).changes()

    def drift(self, on_event: OnEvent | None = None) -> Changes:
        """Return how the server differs from the state: `delete` is missing there, `update` was changed there."""
        doing = "looking for drift"
        fold = self._run(
            doing, lambda stack, take: stack.preview_refresh(on_event=take, **_QUIET), on_event, reads=True
        )
        return fold.drift()

    def take_over(self) -> None:
        """Look up pending creations on the server: add managed objects to the state, and remove the rest from it."""
        doing = "looking for what a killed run left"
        before = self._console.exported()
        deployment, added = with_created(before.get("deployment") or {})
        self._console.replace({**before, "deployment": deployment})
        try:
            self._run(
                doing, lambda stack, take: stack.refresh(clear_pending_creates=True, on_event=take, **_QUIET), None
            )
        except MlclusterError:
            self._console.replace(before)  # the refresh failed, so the owner of these objects is unknown
            raise
        for urn in foreign_in(self._console.deployment(), added):
            self._console.run(doing, "state", "delete", urn, "--yes", "--stack", self.home.name)

    def held_objects(self) -> list[Held]:
        """Return the Kubernetes objects of the state, sorted by plan id; none if the stack does not exist."""
        return objects_in(self._console.deployment()) if self.exists() else []

    def adopt(self, adopted: Collection[Adopted], provider: Mapping[str, Any]) -> None:
        """Add objects that exist on the server to the state, and refresh them.

        Args:
            adopted: the objects to add.
            provider: inputs of the Kubernetes provider, used if the state contains no provider.
        """
        doing = "adding existing objects to the state"
        self.open()
        self.home.record(self.settings)
        before = self._console.exported()
        made = with_adopted(before.get("deployment") or {}, self.home.name, self.project, adopted, provider)
        self._console.replace({**before, "deployment": made[0]})
        urns = sorted(made[1])
        try:
            self._run(doing, lambda stack, take: stack.refresh(target=urns, on_event=take, **_QUIET), None)
        except MlclusterError:
            self._console.replace(before)
            raise

    def forget(self, urns: Collection[str]) -> None:
        """Remove resources from the state; the objects on the server stay unchanged."""
        before = self._console.exported()
        self._console.replace({**before, "deployment": without(before.get("deployment") or {}, urns)})

    def exists(self) -> bool:
        """Return whether the backend has this stack, without creating it."""
        checkpoint = self.home.checkpoint(self.project)
        return checkpoint.exists() if checkpoint is not None else bool(self._console.exported())

    def outputs(self) -> dict[str, Any]:
        """Return the outputs of the stack in plain text, which contain secrets; {} before the first `up`."""
        found: dict[str, Any] = json.loads(self._console.ask("output", "--json", "--show-secrets", missing="{}"))
        return found

    def resources(self) -> list[Resource]:
        """Return the resources of the state without the stack itself and its providers, sorted by plan id.

        Returns:
            [] for a stack that does not exist.
        """
        return resources_in(self._console.deployment()) if self.exists() else []

    def outputs_of(self, type_: str) -> dict[str, dict[str, Any]]:
        """Return the recorded outputs of every resource of a type, by plan id; {} if the stack was never created."""
        return outputs_in(self._console.deployment(), type_) if self.exists() else {}

    def releases(self) -> list[Deployed]:
        """Return the Helm releases of the state, with their versions."""
        return releases_in(self._console.deployment()) if self.exists() else []

    def is_empty(self) -> bool:
        """Return whether the state has no resource of the plan and no pending operation, or does not exist."""
        deployment = self._console.deployment()
        return not resources_in(deployment) and not pending_in(deployment)

    def pending(self) -> list[Pending]:
        """Return the pending operations of a killed run; `text` describes each."""
        return pending_in(self._console.deployment())

    def stop_retaining(self, plan_ids: Collection[str]) -> None:
        """Mark retained resources so that the next destroy deletes them."""
        exported = self._console.exported()
        changed = without_retention(exported.get("deployment") or {}, plan_ids)
        self._console.replace({**exported, "deployment": changed})

    def abandon(self) -> None:
        """Remove the stack and its state without deleting resources, if they are known to be gone."""
        if self.exists():
            self._console.run("forgetting the stack", "stack", "rm", "--force", "--yes", self.home.name)
        self._stack = None

    def remove_stack(self) -> None:
        """Remove the empty stack from its backend; the directories stay until `home.forget()`.

        Raises:
            MlclusterError: the state contains resources, or another run locks the stack.
        """
        if self.exists():
            self._console.run("removing the stack", "stack", "rm", "--yes", self.home.name)
        self._stack = None

    def lock(self) -> Lock | None:
        """Return the oldest lock of the stack; None if there is none, or if the backend is not a file backend."""
        found = locks.read_locks(self.home, self.project)
        return found[0] if found else None

    def unlock(self, *, assume_dead: bool = False) -> recovery.Recovered:
        """Remove the locks of dead owners, and resolve their pending operations.

        Args:
            assume_dead: the user confirms that owners on other hosts are dead.

        Raises:
            MlclusterError: an owner is alive, or is on another host without that confirmation.
        """
        return recovery.unlock(self, assume_dead=assume_dead)

    def recover_if_owner_dead(self) -> recovery.Recovered:
        """Remove lock and pending operations of a killed run if its process provably ended on this host."""
        return recovery.recover_if_owner_dead(self)

    def cancel(self) -> None:
        """Delete every lock of the stack without a check of its owner; `unlock` checks it."""
        self._console.run("removing the lock", "cancel", "--yes", "--stack", self.home.name)

    def say(self, text: str, /) -> object:
        """Show a message to the user."""
        return self.tell(text)

    def open(self) -> Any:
        """Return the SDK's stack, created in the backend on first use.

        Raises:
            MlclusterError: no engine, another cluster, another provider, or no backend.
        """
        if self._stack is None:
            self._check_settings()
            self._stack = self._opened()
        return self._stack

    def _check_settings(self) -> None:
        if self._checked:
            return
        recorded = self.home.settings() or self._recorded_in_state()
        if recorded is not None:
            recorded.check(self.settings)
        self._checked = True

    def _recorded_in_state(self) -> StackSettings | None:
        """Return the settings that the state implies, for a stack that another machine created in a shared backend.

        The outputs contain the UID of the cluster, and the notes in its objects identify the provider.
        """
        uid = "" if self.home.owns_backend else self.outputs().get("clusterUid", "")
        if not uid:
            return None
        provider = provider_in(self._console.deployment()) or self.settings.provider
        return replace(self.settings, cluster_uid=uid, provider=provider)

    def _opened(self) -> Any:
        command = self._console.process()
        work = self.home.prepare(self.project)
        environment = self._console.environment()
        from pulumi import automation

        options = automation.LocalWorkspaceOptions(
            work_dir=str(work),
            env_vars=environment,
            secrets_provider=self.home.secrets_provider,
            pulumi_command=command,
        )
        with operation.explained(self.home.spec, f"opening the stack {self.home.name}", command):
            return automation.create_or_select_stack(
                stack_name=self.home.name, project_name=self.project, program=TidyProgram(self.program), opts=options
            )

    def _run(self, doing: str, call: operation.Call, on_event: OnEvent | None, *, reads: bool = False) -> Fold:
        what = operation.Operation(doing, call, self.home.spec, on_event, reads)
        return operation.run(self.open(), what, say=self.say, repair=self._repair)

    def _repair(self) -> None:
        recovery.repair_unless_locked(self)
