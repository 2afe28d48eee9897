"""The figures that the project promises, measured on this machine: `make bench`.

Wall times of whole processes, medians of several runs for the short ones. Every figure stands beside one of something
else, measured in the same run: the machine cancels out, the ratio stays.
"""

import json
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

import yaml

from benchmarks import eks
from benchmarks.measure import ROOT, events, ratio, timed
from mlcluster.deploy.lab_processes import kueue_configuration
from mlcluster.deploy.session.workspace import load_workspace
from mlcluster.kube.client import Kube
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import find
from mlcluster.progress import Silent

MLCLUSTER = shutil.which("mlcluster") or "mlcluster"
EXAMPLE = str(ROOT / "examples" / "lab.yaml")
COMPONENTS = "examples/lab-components.yaml"
POOLS, TEAMS = 50, 200
FIRST = ["Namespace", "PriorityClass", "ValidatingAdmissionPolicy", "ResourceFlavor", "Cohort", "ClusterQueue"]


def cold_start(kubectl: str) -> None:
    """Starting the command line, against starting Python and against kubectl."""
    python = timed([sys.executable, "-c", "pass"], runs=10).median
    client = timed([kubectl, "version", "--client"], runs=10).median
    version = timed([MLCLUSTER, "--version"], runs=10).median
    validate = timed([MLCLUSTER, "validate", EXAMPLE], runs=10).median
    ratio("mlcluster --version", version, "python -c pass", python)
    ratio("mlcluster --version", version, "kubectl version --client", client)
    ratio("mlcluster validate examples/lab.yaml", validate, "python -c pass", python, "< 0.3 s")
    ratio("mlcluster validate examples/lab.yaml", validate, "kubectl version --client", client)


def large_spec(folder: Path) -> None:
    """50 pools x 200 teams: seconds and memory."""
    spec = folder / "large.yaml"
    spec.write_text(large(POOLS, TEAMS), "utf-8")
    python = timed([sys.executable, "-c", "pass"], runs=3).median
    for verb in (["validate"], ["plan"], ["plan", "-o", "json"]):
        found = timed([MLCLUSTER, verb[0], str(spec), *verb[1:]], runs=3)
        name = f"mlcluster {' '.join(verb)}, {POOLS} x {TEAMS}"
        ratio(name, found.median, "python -c pass", python, f"< 1 s, < 150 MiB; memory {found.memory_mib:.0f} MiB")


def with_components(folder: Path, kubectl: str) -> None:
    """Validate and plan with every component: an example, and 50 pools x 200 teams."""
    spec = folder / "large-components.yaml"
    spec.write_text(large(POOLS, TEAMS, components=True), "utf-8")
    python = timed([sys.executable, "-c", "pass"], runs=5).median
    client = timed([kubectl, "version", "--client"], runs=5).median
    for name, path in ((COMPONENTS, str(ROOT / COMPONENTS)), (f"{POOLS} x {TEAMS} with components", str(spec))):
        for verb in ("validate", "plan"):
            found = timed([MLCLUSTER, verb, path], runs=5).median
            ratio(f"mlcluster {verb}, {name}", found, "python -c pass", python)
            ratio(f"mlcluster {verb}, {name}", found, "kubectl version --client", client)


def large(pools: int, teams: int, *, components: bool = False) -> str:
    """A spec with that many pools and teams; every team has a share in two pools and may borrow in a third.

    Args:
        components: with those of examples/lab-components.yaml, and a pool for their controllers.
    """
    lines = ["apiVersion: mlcluster/v1alpha1", "kind: Cluster", "metadata: {name: large}", "target: {kind: local}"]
    if components:
        example = yaml.safe_load((ROOT / COMPONENTS).read_text("utf-8"))["components"]
        networks = example["multus"]["networks"]
        example["multus"]["networks"] = [{**network, "pools": ["p0"]} for network in networks]
        example["kueue"] = {}
        lines += [f"components: {json.dumps(example)}"]
    system = ["  - {name: system, instanceType: m7i.4xlarge, maxSize: 6}"] if components else []
    fabric = ", network: {rdma: {rdma/hca: 8}}" if components else ""
    lines += [
        "nodePools:",
        *system,
        *(f"  - {{name: p{n}, instanceType: p5.48xlarge, maxSize: 40{fabric}}}" for n in range(pools)),
    ]
    lines += ["teams:"]
    for n in range(teams):
        own, other, third = n % pools, (n + 1) % pools, (n + 2) % pools
        lines += [
            f"  - name: t{n}",
            f"    guarantee: {{p{own}: {{nodes: 1}}, p{other}: {{gpus: 8}}}}",
            f"    borrow: {{p{third}: {{nodes: 1}}}}",
            f"    members: {{edit: {{groups: [team-{n}]}}}}",
        ]
    return "\n".join(lines) + "\n"


def first_job(folder: Path, kubectl: str) -> None:
    """From nothing running to the first job that Kueue has admitted, with the parts; then what kubectl needs."""
    environment = {"MLCLUSTER_STATE_DIR": str(folder / "state")}
    began = time.perf_counter()
    found = events([MLCLUSTER, "up", EXAMPLE, "--yes", "-o", "jsonl"], environment)
    after_up = time.perf_counter() - began
    kubeconfig = Path(str(found[-1][1]["kubeconfig"]))
    with Kube.from_kubeconfig(kubeconfig) as kube:
        kube.create(job())
        while not admitted(kube):
            time.sleep(0.02)
    total = time.perf_counter() - began
    python = timed([sys.executable, "-c", "pass"], runs=3).median
    ratio("nothing running -> first admitted GPU job", total, "python -c pass", python, "< 25 s")
    for _, event in found:
        if event["kind"] == "TaskFinished":
            print(f"    {event['title']:<50} {event['seconds']:6.2f} s")
    print(f"    {'job submitted -> admitted':<50} {total - after_up:6.2f} s")
    starts = sum(float(str(event["seconds"])) for _, event in found if _is_start(event))
    again = timed([MLCLUSTER, "up", EXAMPLE, "--yes"], runs=3, environment=environment).median
    down = timed([MLCLUSTER, "down", EXAMPLE, "--yes"], environment=environment).median
    first, unchanged = kubectl_apply(folder, kubectl)
    ratio("up, without starting the lab", after_up - starts, "kubectl apply --server-side", first)
    ratio("up with nothing to do, server read", again, "kubectl apply --server-side, unchanged", unchanged)
    print(f"    {'down, drained, nothing left':<50} {down:6.2f} s")


def _is_start(event: dict[str, object]) -> bool:
    return event["kind"] == "TaskFinished" and str(event["title"]).startswith("starting")


def kubectl_apply(folder: Path, kubectl: str) -> tuple[float, float]:
    """Seconds that kubectl needs for the same objects on a second lab: the first time, and with nothing to do."""
    toolchain = find()
    plan = load_workspace(Path(EXAMPLE)).plan
    if toolchain is None:
        sys.exit("the toolchain is gone")
    lab = Lab("bench", folder / "bench")
    lab.start(toolchain, Silent())
    try:
        lab.start_kueue(kueue_configuration(plan), toolchain, Silent())
        items = [entry.manifest for entry in plan.objects] + [entry.inputs for entry in plan.resources]
        items.sort(key=lambda item: FIRST.index(item["kind"]) if item["kind"] in FIRST else len(FIRST))
        rendered = folder / "objects.json"
        rendered.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), "utf-8")
        apply = [kubectl, "--kubeconfig", str(lab.kubeconfig), "apply", "--server-side", "-f", str(rendered)]
        return timed(apply).median, timed([*apply, "--force-conflicts"], runs=3).median
    finally:
        lab.reset(Silent())


def job() -> dict[str, object]:
    """One pod with eight GPUs for team research."""
    resources = {"requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8"}, "limits": {"nvidia.com/gpu": "8"}}
    pod = {
        "restartPolicy": "Never",
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "containers": [{"name": "main", "image": "example.test/none", "resources": resources}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "first", "namespace": "research"},
        "spec": {"template": {"spec": pod}},
    }


def admitted(kube: Kube) -> bool:
    """Whether any workload of team research is admitted."""
    workloads = kube.list("kueue.x-k8s.io/v1beta2", "Workload", "research")
    conditions = [entry for found in workloads for entry in (found.get("status") or {}).get("conditions") or []]
    return any(entry["type"] == "Admitted" and entry["status"] == "True" for entry in conditions)


def main() -> None:
    """Everything, in one run."""
    toolchain = find()
    if toolchain is None:
        sys.exit("the toolchain is not built: run `mlcluster lab build` first")
    kubectl = str(toolchain.path("kubectl"))
    load = os.getloadavg()[0]
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f}")
    with tempfile.TemporaryDirectory() as name:
        cold_start(kubectl)
        large_spec(Path(name))
        with_components(Path(name), kubectl)
        first_job(Path(name), kubectl)
    eks.main()


if __name__ == "__main__":
    main()
