"""The built-in Kubernetes provider against the official plugin: `python -m benchmarks.providers [--official PLUGIN]`.

One engine, one API server, the same objects: the platform of a spec without what needs Kueue. Rounds alternate, so that
other work on the machine hits both. Besides wall time it counts CPU of the engine and the provider, which other work
changes less. The official plugin is in no package registry; without its path only the built-in figures are printed.
"""

import argparse
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mlcluster.engine.engine import Engine
from mlcluster.engine.home import StackHome
from mlcluster.engine.programs import load
from mlcluster.engine.settings import Provider, StackSettings
from mlcluster.kube.client import Kube
from mlcluster.kubernetes_provider import FOLDER
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain, find
from mlcluster.plan import build
from mlcluster.plan.model import Plan
from mlcluster.progress import Silent
from mlcluster.spec.load import parse

OBJECTS = 51
_SERVED_BY_OTHERS = ("kueue.x-k8s.io", "monitoring.coreos.com")


@dataclass(frozen=True)
class Cost:
    """Seconds of one operation: by the clock, and of the processes that it started."""

    wall: float
    cpu: float


def objects_of(mark: str) -> Plan:
    """Return a plan of `OBJECTS` objects, the platform of a spec whose names hold `mark`; each round has its own."""
    teams = "\n".join(
        f"  - {{name: {mark}-{n}, guarantee: {{cpu: {{nodes: 1}}}}, members: {{edit: {{groups: [g{n}]}}}}}}"
        for n in range(11)
    )
    spec = parse(
        "apiVersion: mlcluster/v1alpha1\nkind: Cluster\n"
        f"metadata: {{name: {mark}}}\ntarget: {{kind: existing}}\nnodePools:\n"
        "  - {name: cpu, instanceType: m7i.2xlarge, maxSize: 40, selector: {pool: cpu}}\n"
        f"teams:\n{teams}\n".encode(),
        "bench.yaml",
    ).spec
    plan = build(spec)
    fit = [one for one in plan.objects if one.id.partition("/")[2].startswith(mark)]
    fit = [one for one in fit if not one.manifest["apiVersion"].startswith(_SERVED_BY_OTHERS)]
    kept = sorted(fit, key=lambda one: one.manifest["kind"] != "Namespace")[:OBJECTS]
    ids = {one.id for one in kept}
    bare = [replace(one, needs=tuple(need for need in one.needs if need in ids)) for one in kept]
    return replace(plan, objects=tuple(bare), releases=())


@contextmanager
def bare_lab(toolchain: Toolchain, folder: Path) -> Iterator[Lab]:
    """A control plane without anything in it."""
    lab = Lab("providers", folder / "lab", tied=True)
    lab.start(toolchain, Silent())
    try:
        yield lab
    finally:
        lab.reset(Silent())


@dataclass(frozen=True)
class Bench:
    """Where everything runs: a directory, a control plane, the programs, and the official plugin where there is one."""

    folder: Path
    lab: Lab
    toolchain: Toolchain
    official: Path | None


def engine_of(bench: Bench, provider: Provider, home: Path, plan: Plan) -> Engine:
    """A stack of its own for one round."""
    module = load("platform")
    with Kube.from_kubeconfig(bench.lab.kubeconfig) as kube:
        uid = kube.cluster_uid()
    settings = StackSettings(uid, provider, "existing", "bench")

    def program() -> None:
        module.program(plan, kubeconfig=str(bench.lab.kubeconfig), context=None, cluster_uid=uid)

    return Engine(StackHome("bench", home), "mlcluster-platform", program, settings, bench.toolchain.path("pulumi"))


def cost_of(operation: Callable[[], object]) -> Cost:
    """What an operation costs."""
    began, before = time.perf_counter(), _children()
    operation()
    return Cost(time.perf_counter() - began, _children() - before)


def _children() -> float:
    mine, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in (mine, theirs))


def one_round(bench: Bench, provider: Provider, number: int) -> dict[str, Cost]:
    """A fresh stack: preview, up, nothing to do, drift."""
    plan = objects_of(f"{provider[0]}{number}")
    if len(plan.objects) != OBJECTS:
        sys.exit(f"the plan has {Counter(one.manifest['kind'] for one in plan.objects)}, not {OBJECTS} objects")
    home = bench.folder / f"{provider}-{number}"
    if bench.official is not None and provider == "official":
        _place(bench.official, home / "home")
    engine = engine_of(bench, provider, home, plan)
    engine.open()
    found = {"preview": cost_of(engine.preview), "up": cost_of(engine.up), "up, nothing to do": cost_of(engine.up)}
    found["drift"] = cost_of(engine.drift)
    return found


def _place(official: Path, home: Path) -> None:
    folder = home / "plugins" / FOLDER
    folder.mkdir(parents=True)
    (folder / "pulumi-resource-kubernetes").symlink_to(official)


def report(found: dict[Provider, list[dict[str, Cost]]]) -> None:
    """Medians, and the ratios where both were run."""
    for operation in found["builtin"][0]:
        ours = _median(found["builtin"], operation)
        line = f"{operation:<20} builtin {ours.wall:6.2f} s, CPU {ours.cpu:6.2f} s"
        if found["official"]:
            theirs = _median(found["official"], operation)
            line += f"   official {theirs.wall:6.2f} s, CPU {theirs.cpu:6.2f} s"
            line += f"   ratio {ours.wall / theirs.wall:5.2f}, CPU {ours.cpu / theirs.cpu:5.2f}"
        print(line)


def _median(rounds: list[dict[str, Cost]], operation: str) -> Cost:
    costs = [one[operation] for one in rounds]
    return Cost(statistics.median(one.wall for one in costs), statistics.median(one.cpu for one in costs))


def main() -> None:
    """Alternate the providers for some rounds, then print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--official", type=Path, help="path of the executable pulumi-resource-kubernetes")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    toolchain = find()
    if toolchain is None:
        sys.exit("the toolchain is not built: run `mlcluster lab build` first")
    official = given.official.absolute() if given.official else None
    if official is None:
        print("no --official: the built-in provider alone")
    providers: list[Provider] = ["builtin", "official"] if official else ["builtin"]
    found: dict[Provider, list[dict[str, Cost]]] = {"builtin": [], "official": []}
    folder = Path(tempfile.mkdtemp())
    try:
        with bare_lab(toolchain, folder) as lab:
            print(f"{OBJECTS} objects, {given.rounds} rounds, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
            for number in range(given.rounds):
                for provider in providers:
                    found[provider].append(one_round(Bench(folder, lab, toolchain, official), provider, number))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report(found)


if __name__ == "__main__":
    main()
