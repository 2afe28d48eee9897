"""What the engine needs for one spec of the eks target on the stand-ins for aws and eks: seconds, CPU, memory.

    python -m benchmarks.eks_engine SPEC

A process of its own for each spec, because memory that Python has had once it seldom gives back. The stand-in for aws
runs in another process, so that neither its time nor its memory counts as ours. What is measured is the whole way of
the real engine: the program, the previews, the state. What is not there is AWS, and the waiting for it.
"""

import json
import multiprocessing
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

import psutil
import yaml

from benchmarks.measure import ratio, timed
from mlcluster.lab.toolchain.find import find_tool
from mlcluster.plan import build
from mlcluster.plan.model import Plan
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.load import load, parse
from tests.fakes.aws_provider import serve_aws
from tests.fakes.cloud import Cloud
from tests.fakes.cloud_stack import cloud_engine
from tests.fakes.eks_provider import serve_eks

_EVERY = 0.05
"""Seconds between two looks at the memory."""


class Memory:
    """The most memory, in MiB, of this process and of the engine's processes below it while the context lasts."""

    def __init__(self) -> None:
        self.python = 0.0
        self.engine = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look_on)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look_on(self) -> None:
        here = psutil.Process()
        while True:
            self.python = max(self.python, here.memory_info().rss / 2**20)
            self.engine = max(self.engine, sum(_engine_mib(child) for child in here.children(recursive=True)))
            if self._done.wait(_EVERY):
                return


def _engine_mib(process: psutil.Process) -> float:
    try:
        return process.memory_info().rss / 2**20 if process.name().startswith("pulumi") else 0.0
    except psutil.Error:  # it has ended meanwhile
        return 0.0


def _cpu() -> tuple[float, float]:
    """Seconds of CPU of this process, and of its children that have ended: the engine's; the stand-ins have not."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time(), children.ru_utime + children.ru_stime


def _serve(account: str, region: str, pipe: Connection) -> None:
    with serve_aws(Cloud(account=account, region=region)) as port:
        pipe.send(port)
        pipe.recv()


@contextmanager
def _aws(target: EksTarget) -> Iterator[int]:
    """The stand-in for aws in a process of its own; yields its port."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    account = target.account_id or Cloud.account
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(account, target.region, theirs))
    process.start()
    try:
        yield int(ours.recv())
    finally:
        ours.send(None)
        process.join()


def labelled(path: Path) -> Plan:
    """The plan of a spec with one more label on its first pool."""
    data: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    data["nodePools"][0].setdefault("labels", {})["changed"] = "yes"
    return build(parse(json.dumps(data).encode(), path.name).spec)


def step(name: str, run: Callable[[], int], resources: int) -> None:
    """One line; `run` says how many resources would change or did."""
    python = timed([sys.executable, "-c", "pass"], runs=3).median
    began, (python_before, engine_before) = time.perf_counter(), _cpu()
    with Memory() as memory:
        changes = run()
    seconds, (python_after, engine_after) = time.perf_counter() - began, _cpu()
    ratio(f"    {name}", seconds, "python -c pass", python)
    print(
        f"        {1000 * seconds / resources:.0f} ms each, {changes} changes;"
        f" Python: CPU {python_after - python_before:.1f} s, {memory.python:.0f} MiB;"
        f" engine: CPU {engine_after - engine_before:.1f} s, {memory.engine:.0f} MiB; load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def measure(path: Path) -> None:
    """Preview, up, up with nothing to do, preview of one change, destroy."""
    pulumi = find_tool("pulumi")
    if pulumi is None:
        sys.exit("the toolchain is not built: run `mlcluster lab build` first")
    spec = load(path).spec
    assert isinstance(spec.target, EksTarget)
    target, plan, other = spec.target, build(spec), labelled(path)
    arguments = {"region": target.region, "account_id": target.account_id or Cloud.account, "profile": target.profile}
    load_now, count = os.getloadavg()[0], len(plan.resources)
    print(f"{path.stem}: {len(spec.node_pools)} pools, {len(spec.teams)} teams, {count} resources of AWS,")
    print(f"    {len(plan.objects)} objects, {len(plan.releases)} releases; load {load_now:.1f}")
    with tempfile.TemporaryDirectory() as folder, _aws(target) as aws, serve_eks() as eks:
        attach, root = {"aws": aws, "eks": eks}, Path(folder) / "stack"
        engine = cloud_engine(root, attach, plan, pulumi, **arguments)
        changed = cloud_engine(root, attach, other, pulumi, **arguments)
        step("first preview", lambda: len(engine.preview().items), count)
        step("up", lambda: len(engine.up().changes.items), count)
        step("up with nothing to do", lambda: len(engine.up().changes.effective), count)
        step("preview of one more label", lambda: len(changed.preview().effective), count)
        step("destroy", lambda: len(changed.destroy().items), count)


if __name__ == "__main__":
    measure(Path(sys.argv[1]))
