"""The Pulumi engine for one stack of one project: preview, up, destroy, drift, and what the state holds."""

import json
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mlcluster.engine import locks, operation, recovery
from mlcluster.engine.adopting import Adopted, Held, objects_in, with_adopted, without
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
    """What `up` did.

    Attributes:
        changes: per resource of the plan.
        drift: what the refresh before it found to differ on the server; `changes` puts it right.
        seconds: wall time of the operation.
    """

    changes: Changes
    drift: Changes
    seconds: float


def _silent(text: str) -> None:
    del text


@dataclass
class Engine:
    """Operations of one stack; each may raise MlclusterError with what happened and what to try.

    Attributes:
        home: the stack's directories and backend; its name is the stack's name.
        project: the Pulumi project, e.g. mlcluster-platform.
        program: registers the resources; the engine calls it in a thread of this process.
        settings: which cluster and provider this run is for; another one than recorded is refused.
        binary: the pulumi executable.
        attach: ports of providers that run already, by package; for tests and stand-ins.
        tell: told what a user should know meanwhile: interruptions and recoveries.
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
        self._console = Console(self.home, self.project, self.binary, provider, self.attach, self._mend)

    def preview(self, on_event: OnEvent | None = None, *, refresh: bool = True) -> Changes:
        """What `up` would do; with `refresh` it reads the server first, like `up` does by default."""
        fold = self._run(
            "previewing",
            lambda stack, take: stack.preview(on_event=take, refresh=refresh, **_QUIET),
            on_event,
            reads=True,
        )
        return fold.changes()

    def up(self, on_event: OnEvent | None = None, *, refresh: bool = True) -> UpResult:
        """Makes the cluster what the program says. A lock whose owner is provably dead is cleared first."""
        began = time.monotonic()
        self._check_settings()
        self.recover_if_owner_dead()
        self.open()
        self.home.record(self.settings)
        doing = "bringing the cluster up"
        fold = self._run(doing, lambda stack, take: stack.up(on_event=take, refresh=refresh, **_QUIET), on_event)
        return UpResult(fold.changes(), fold.drift(), time.monotonic() - began)

    def destroy(self, on_event: OnEvent | None = None) -> Changes:
        """Deletes everything that the state holds; the empty stack stays until `remove_stack`."""
        self._check_settings()
        self.recover_if_owner_dead()
        doing = "taking the cluster down"
        return self._run(doing, lambda stack, take: stack.destroy(on_event=take, **_QUIET), on_event).changes()

    def drift(self, on_event: OnEvent | None = None) -> Changes:
        """What differs on the server from the state: `delete` is gone there, `update` was changed there."""
        doing = "looking for drift"
        fold = self._run(
            doing, lambda stack, take: stack.preview_refresh(on_event=take, **_QUIET), on_event, reads=True
        )
        return fold.drift()

    def take_over(self) -> None:
        """Looks open creations up on the server: what is there and ours joins the state, the rest leaves it."""
        doing = "looking for what a killed run left"
        before = self._console.exported()
        deployment, added = with_created(before.get("deployment") or {})
        self._console.replace({**before, "deployment": deployment})
        try:
            self._run(
                doing, lambda stack, take: stack.refresh(clear_pending_creates=True, on_event=take, **_QUIET), None
            )
        except MlclusterError:
            self._console.replace(before)  # nobody has seen whose these objects are
            raise
        for urn in foreign_in(self._console.deployment(), added):
            self._console.run(doing, "state", "delete", urn, "--yes", "--stack", self.home.name)

    def held_objects(self) -> list[Held]:
        """The Kubernetes objects of the state, sorted by plan id; none for a stack that does not exist."""
        return objects_in(self._console.deployment()) if self.exists() else []

    def adopt(self, adopted: Collection[Adopted], provider: Mapping[str, Any]) -> None:
        """Puts objects that exist on the server into the state, and has the provider read them.

        Args:
            adopted: what to add.
            provider: inputs of the Kubernetes provider, for a state that has none.
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
        """Takes resources out of the state; the objects stay as they are on the server."""
        before = self._console.exported()
        self._console.replace({**before, "deployment": without(before.get("deployment") or {}, urns)})

    def exists(self) -> bool:
        """Whether the backend has this stack; makes nothing in it."""
        checkpoint = self.home.checkpoint(self.project)
        return checkpoint.exists() if checkpoint is not None else bool(self._console.exported())

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs in plain text; {} before the first `up`. Handle them as secrets."""
        found: dict[str, Any] = json.loads(self._console.ask("output", "--json", "--show-secrets", missing="{}"))
        return found

    def resources(self) -> list[Resource]:
        """Return the resources of the state without the stack itself and its providers, sorted by plan id.

        Returns:
            [] for a stack that does not exist.
        """
        return resources_in(self._console.deployment()) if self.exists() else []

    def outputs_of(self, type_: str) -> dict[str, dict[str, Any]]:
        """Return what the state records of every resource of a type, by plan id; {} for a stack never made."""
        return outputs_in(self._console.deployment(), type_) if self.exists() else {}

    def releases(self) -> list[Deployed]:
        """The Helm releases of the state, with their versions."""
        return releases_in(self._console.deployment()) if self.exists() else []

    def is_empty(self) -> bool:
        """Whether nothing is left: no resource of the plan, no open operation. True for a stack never made."""
        deployment = self._console.deployment()
        return not resources_in(deployment) and not pending_in(deployment)

    def pending(self) -> list[Pending]:
        """Operations that a killed run left open; `text` says each in words."""
        return pending_in(self._console.deployment())

    def stop_retaining(self, plan_ids: Collection[str]) -> None:
        """Has the next destroy delete these resources, which it would keep otherwise."""
        exported = self._console.exported()
        changed = without_retention(exported.get("deployment") or {}, plan_ids)
        self._console.replace({**exported, "deployment": changed})

    def abandon(self) -> None:
        """Forgets the stack with whatever it holds, when that is known to be gone."""
        if self.exists():
            self._console.run("forgetting the stack", "stack", "rm", "--force", "--yes", self.home.name)
        self._stack = None

    def remove_stack(self) -> None:
        """Removes the empty stack from its backend; the directories stay until `home.forget()`.

        Raises:
            MlclusterError: it still holds resources, or somebody holds it.
        """
        if self.exists():
            self._console.run("removing the stack", "stack", "rm", "--yes", self.home.name)
        self._stack = None

    def lock(self) -> Lock | None:
        """Who holds the stack, the oldest first; None for nobody and for backends that are not made of files."""
        found = locks.read_locks(self.home, self.project)
        return found[0] if found else None

    def unlock(self, *, assume_dead: bool = False) -> recovery.Recovered:
        """Clears the locks of dead owners and the operations that they left open.

        Args:
            assume_dead: the user vouches that a holder on another host is gone.

        Raises:
            MlclusterError: a holder lives, or is on another host and nobody vouches.
        """
        return recovery.unlock(self, assume_dead=assume_dead)

    def recover_if_owner_dead(self) -> recovery.Recovered:
        """Clears what a killed run left if its process provably ended on this host, and says what it did."""
        return recovery.recover_if_owner_dead(self)

    def cancel(self) -> None:
        """Deletes every lock of the stack without looking at its owner; `unlock` looks."""
        self._console.run("removing the lock", "cancel", "--yes", "--stack", self.home.name)

    def say(self, text: str, /) -> object:
        """Tells the user."""
        return self.tell(text)

    def open(self) -> Any:
        """The SDK's stack, made on first use; a new stack is created in the backend.

        Raises:
            MlclusterError: no engine, another cluster, the other provider, no backend.
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
        """In a shared backend another machine may have made the stack: its outputs say for which cluster.

        The notes in its objects say by which provider.
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
        return operation.run(self.open(), what, say=self.say, mend=self._mend)

    def _mend(self) -> None:
        recovery.mend_if_nobody_writes(self)
