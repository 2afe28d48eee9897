"""What the admission policies cost: `python -m benchmarks.policies [--pods 10000]`.

Pods are created on a lab without Kueue and without nodes, in two namespaces that differ in one label: the policies hold
in the one with the label of a team. Rounds alternate, so that other work on the machine hits both. A scheduling gate
keeps the scheduler away from the pods.
"""

import argparse
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, ratio
from mlcluster.kube.client import Kube
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import find
from mlcluster.plan import build, names
from mlcluster.plan.model import Plan
from mlcluster.progress import Silent
from mlcluster.spec.load import load

ROUND = 500
CLIENTS = 4
WITH, WITHOUT = "with-policies", "without-policies"


def main() -> None:
    """Print seconds per request with and without the policies, and their ratio."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pods", type=int, default=10_000, help="in each of the two namespaces")
    wanted = arguments.parse_args()
    toolchain = find()
    if toolchain is None:
        sys.exit("no toolchain: run `make toolchain` first")
    plan = build(load(ROOT / "examples" / "lab.yaml").spec)
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab("policies", Path(folder) / "lab", tied=True)
        lab.start(toolchain, Silent())
        try:
            with Kube.from_kubeconfig(lab.kubeconfig) as kube:
                _prepare(kube, plan)
                measure(kube, wanted.pods)
        finally:
            lab.reset(Silent())


def _prepare(kube: Kube, plan: Plan) -> None:
    """Create the policies and the namespaces, and wait until the API server evaluates the policies."""
    wanted = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    policies = [item.manifest for item in plan.objects if item.manifest["kind"] in wanted]
    for manifest in policies:
        kube.apply(manifest)
    annotations = next(item.manifest for item in plan.objects if item.id == "Namespace/research")["metadata"][
        "annotations"
    ]
    for name, labels in ((WITH, {names.TEAM: "research"}), (WITHOUT, {})):
        metadata = {"name": name, "labels": labels, "annotations": annotations}
        kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    print(f"{len(policies) // 2} policies")
    time.sleep(5)  # the API server reads policies once a second


def measure(kube: Kube, pods: int) -> None:
    """Create the pods in alternating rounds, and compare the medians of the rounds."""
    taken: dict[str, list[float]] = {WITH: [], WITHOUT: []}
    with ThreadPoolExecutor(CLIENTS) as clients:
        for number in range(pods // ROUND):
            for namespace, seconds in taken.items():
                made = [_pod(namespace, f"pod-{number}-{index}") for index in range(ROUND)]
                began = time.perf_counter()
                list(clients.map(kube.create, made))
                seconds.append(time.perf_counter() - began)
    with_policies, without = (statistics.median(taken[name]) for name in (WITH, WITHOUT))
    ratio(f"{ROUND} pods, {CLIENTS} clients", with_policies, "without the policies", without)
    milliseconds = (with_policies - without) * 1000 * CLIENTS / ROUND
    print(f"{pods} pods in each namespace; the policies add {milliseconds:.2f} ms to a request")


def _pod(namespace: str, name: str) -> dict[str, Any]:
    """Return a pod of two containers, as a member would write it."""
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    containers = [{"name": each, "image": "example.test/none", "resources": resources} for each in ("main", "side")]
    spec = {"containers": containers, "restartPolicy": "Never", "schedulingGates": [{"name": names.ADMISSION_GATE}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


if __name__ == "__main__":
    main()
