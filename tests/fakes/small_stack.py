"""A namespace with config maps as a stack on the in-memory provider; also runs as a process of its own to be killed.

    python -m tests.fakes.small_stack VERB ROOT PORT COUNT BINARY

prints a line when the operation begins and a JSON line at its end.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from mlcluster.engine import programs
from mlcluster.engine.engine import Engine
from mlcluster.engine.home import StackHome
from mlcluster.engine.settings import StackSettings
from mlcluster.errors import MlclusterError
from mlcluster.plan.model import Plan

SETTINGS = StackSettings(cluster_uid="uid-1", provider="builtin", target="local", spec_name="atlas")


@dataclass(frozen=True)
class Thing:
    """An object of a plan."""

    id: str
    manifest: dict[str, Any]
    needs: tuple[str, ...] = ()


@dataclass
class SmallPlan:
    """What `stacks/platform` needs of a plan."""

    objects: tuple[Thing, ...]
    releases: tuple[Any, ...] = ()
    defining_objects: tuple[Any, ...] = ()
    immutable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def small_plan(count: int, **fields: Any) -> SmallPlan:
    """One namespace and `count` config maps in it, listed before what they need; `fields` go into each of them."""
    labels = {"app.kubernetes.io/managed-by": "mlcluster", "mlcluster.dev/cluster": "atlas"}
    namespace = Thing(
        "Namespace/a", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": labels}}
    )
    maps = [
        Thing(
            f"ConfigMap/a/{index}",
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"m{index}", "namespace": "a", "labels": labels},
                **fields,
            },
            ("Namespace/a",),
        )
        for index in range(count)
    ]
    return SmallPlan((*maps, namespace))


def small_engine(
    root: Path,
    port: int,
    plan: SmallPlan | Plan,
    binary: Path,
    *,
    settings: StackSettings = SETTINGS,
    told: Any = None,
) -> Engine:
    """An engine whose stack lives in `root` and whose provider listens on `port`."""
    program = partial(
        programs.load("platform").program, plan, kubeconfig="/absent", context=None, cluster_uid=settings.cluster_uid
    )
    tell = told.append if told is not None else (lambda text: None)
    return Engine(StackHome("atlas", root), "mlcluster-platform", program, settings, binary, {"kubernetes": port}, tell)


def main(arguments: Sequence[str]) -> int:
    """Runs one verb and says how it ended."""
    verb, root, port, count, binary = arguments
    engine = small_engine(Path(root), int(port), small_plan(int(count)), Path(binary))
    engine.tell = lambda text: print(json.dumps({"told": text}), flush=True)
    engine.open()
    print(json.dumps({"begins": verb}), flush=True)
    try:
        getattr(engine, verb)()
    except MlclusterError as error:
        kind = type(error).__name__
        end = {"error": kind, "happened": error.happened, "hint": error.hint, "exit": int(error.exit_code)}
        print(json.dumps(end), flush=True)
        return int(error.exit_code)
    print(json.dumps({"ended": verb}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
