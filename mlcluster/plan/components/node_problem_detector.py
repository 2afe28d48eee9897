"""Node problem detector: conditions of nodes from the kernel log and from checks of mlcluster.

Facts: kubernetes/node-problem-detector v1.35, deployment/, config/, pkg/systemlogmonitor and pkg/custompluginmonitor.
A pattern must match to the end of the log line (log_buffer.go), and the detector reads lines from the start of the
node (`lookback`), so that a restarted detector reports the same problems. A check with exit code 1 makes its condition
True.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

from mlcluster.catalog.components import pin
from mlcluster.findings import Finding, finding
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import PRIVILEGED as PRIVILEGED_NAMESPACE
from mlcluster.plan.components.contribution import Contribution
from mlcluster.plan.components.daemon_sets import (
    PRIVILEGED,
    Made,
    bound,
    config_map,
    daemon_set,
    from_config,
    from_host,
    image,
    mount,
    node_name,
    service_account,
)
from mlcluster.plan.components.network_check import network_check
from mlcluster.plan.model import Manifest, PlanObject, Pool
from mlcluster.spec.components.health import APPLICATION_XIDS, EVENT_XIDS, NodeProblemDetector
from mlcluster.spec.components.network import SecondaryNetwork
from mlcluster.spec.secondary_networks import networks, pools_of, pools_with_network_taint

NAME = "node-problem-detector"
GPU_CONDITION = "GpuUnhealthy"
NETWORK_CONDITION = "SecondaryNetworkReady"
REQUESTS = {"cpu": "20m", "memory": "80Mi"}
_FOLDER = "/mlcluster"
_GPU_MONITOR, _NETWORK_MONITOR, _NETWORK_CHECK = "gpu-monitor.json", "network-monitor.json", "network-ready.sh"
_LONGEST = 50
_XID = r"NVRM: Xid \(PCI:[0-9A-Fa-f:.]+\): ({codes}), .*"
_RULES = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch", "update"]},
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
]

Networks = tuple[SecondaryNetwork, ...]


def contribute(context: ComponentContext) -> Contribution:
    """Return the detector on each of its pools, with the checks that the pool's nodes need."""
    settings = context.spec.components.node_problem_detector
    if settings is not None and not settings.install:
        return Contribution()
    objects: list[PlanObject] = service_account(context, NAME, NAME, _RULES)
    every = networks(context.spec)
    made = [_of(context, tuple(every[index] for index in on), pools, objects) for on, pools in _groups(context).items()]
    return Contribution(
        objects=(*objects, *(one.object for one in made)),
        pods=tuple(pod for one in made for pod in one.pods),
        namespaces={pin(NAME).namespace: PRIVILEGED_NAMESPACE},
        findings=tuple(_findings(context)),
    )


def gpu_monitor(settings: NodeProblemDetector) -> Manifest:
    """Return the monitor of GPUs: XIDs that make a GPU unhealthy, and XIDs that are only reported."""
    fatal = [code for code in settings.gpu_xids if code > 0]
    told = [code for code in EVENT_XIDS if code not in fatal]
    rules: list[Manifest] = [
        {"type": "permanent", "condition": GPU_CONDITION, "reason": "GpuXid", "pattern": _pattern(fatal)}
    ]
    if told:
        rules.append({"type": "temporary", "reason": "GpuXidTold", "pattern": _pattern(told)})
    condition = {
        "type": GPU_CONDITION,
        "reason": "NoGpuFault",
        "message": "no GPU has asked for a reset since the node started",
    }
    return {
        "plugin": "kmsg",
        "logPath": "/dev/kmsg",
        "lookback": "87600h",
        "bufferSize": 10,
        "source": "gpu-monitor",
        "metricsReporting": True,
        "conditions": [condition],
        "rules": rules,
    }


def network_monitor() -> Manifest:
    """Return the monitor that checks every few seconds whether a pod could join the node's networks."""
    condition = {
        "type": NETWORK_CONDITION,
        "reason": "SecondaryNetworkPending",
        "message": "the secondary networks of this node are not there yet",
    }
    rule = {
        "type": "permanent",
        "condition": NETWORK_CONDITION,
        "reason": "SecondaryNetworkIsReady",
        "path": f"{_FOLDER}/{_NETWORK_CHECK}",
        "timeout": "10s",
    }
    return {
        "plugin": "custom",
        "pluginConfig": {"invoke_interval": "15s", "timeout": "10s", "max_output_length": 200, "concurrency": 1},
        "source": "network-monitor",
        "metricsReporting": False,
        "conditions": [condition],
        "rules": [rule],
    }


def _pattern(codes: Sequence[int]) -> str:
    return _XID.format(codes="|".join(str(code) for code in sorted(set(codes))))


def _groups(context: ComponentContext) -> Mapping[tuple[int, ...], list[Pool]]:
    """Return the pools by the indexes of the networks whose readiness is reported there.

    The result has all pools if the spec has the detector, else only pools with GPUs or secondary networks.
    """
    everywhere = context.spec.components.node_problem_detector is not None
    tainted = {pool.name for pool in pools_with_network_taint(context.spec)}
    groups: dict[tuple[int, ...], list[Pool]] = {}
    for pool in context.pools:
        if not (everywhere or pool.accelerator is not None or pool.name in tainted):
            continue
        groups.setdefault(_networks_of(context, pool) if pool.name in tainted else (), []).append(pool)
    return groups


def _networks_of(context: ComponentContext, pool: Pool) -> tuple[int, ...]:
    return tuple(
        index
        for index, network in enumerate(networks(context.spec))
        if pool.name in {found.name for found in pools_of(context.spec, network)}
    )


def _name(on: Networks) -> str:
    """Return the name of the daemon set of these networks, which does not depend on other pools."""
    if not on:
        return NAME
    names = "-".join(sorted(network.name for network in on))
    name = f"{NAME}-{names}"
    return name if len(name) <= _LONGEST else f"{NAME}-{hashlib.sha256(names.encode()).hexdigest()[:8]}"


def _of(context: ComponentContext, on: Networks, pools: Sequence[Pool], objects: list[PlanObject]) -> Made:
    """Return the daemon set of one group of pools, and add its configuration to `objects`."""
    settings = context.spec.components.node_problem_detector or NodeProblemDetector()
    files = {_GPU_MONITOR: json.dumps(gpu_monitor(settings), indent=2)} if _any_gpu(pools) else {}
    if on:
        files[_NETWORK_MONITOR] = json.dumps(network_monitor(), indent=2)
        files[_NETWORK_CHECK] = network_check(context, on)
    name = _name(on)
    reads = [config_map(context, NAME, name, files)] if files else []
    objects += reads
    return daemon_set(context, NAME, name, pools, _pod(context, name, files), needs=(bound(NAME),), reads=reads)


def _any_gpu(pools: Sequence[Pool]) -> bool:
    return any(pool.accelerator is not None for pool in pools)


def _pod(context: ComponentContext, name: str, files: Mapping[str, str]) -> Manifest:
    logs = ["/config/kernel-monitor.json", *([f"{_FOLDER}/{_GPU_MONITOR}"] if _GPU_MONITOR in files else [])]
    checks = [f"--config.custom-plugin-monitor={_FOLDER}/{_NETWORK_MONITOR}"] if _NETWORK_MONITOR in files else []
    command = [
        "/node-problem-detector",
        "--logtostderr",
        f"--config.system-log-monitor={','.join(logs)}",
        *checks,
        "--prometheus-address=0.0.0.0",
        "--prometheus-port=20257",
    ]
    mounts = [mount("kmsg", "/dev/kmsg", read_only=True), mount("log", "/var/log", read_only=True)]
    volumes = [from_host("kmsg", "/dev/kmsg"), from_host("log", "/var/log")]
    if files:
        mounts.append(mount("config", _FOLDER, read_only=True))
        volumes.append(from_config("config", name, *files, mode=0o555))
    if checks:
        mounts.append(mount("host", "/host", read_only=True, propagation="HostToContainer"))
        volumes.append(from_host("host", "/"))
    container: Manifest = {
        "name": NAME,
        "image": _image(context),
        "command": command,
        "env": [node_name("NODE_NAME")],
        "ports": [{"name": "metrics", "containerPort": 20257}],
        "securityContext": PRIVILEGED,
        "resources": {"requests": REQUESTS, "limits": {"memory": "160Mi"}},
        "volumeMounts": mounts,
    }
    return {"serviceAccountName": NAME, "containers": [container], "volumes": volumes}


def _image(context: ComponentContext) -> str:
    """Return the image for the cluster's minor version of Kubernetes, if the spec sets that version.

    A version of the detector in the spec takes precedence.
    """
    target, settings = context.spec.target, context.settings(NAME)
    minor = target.kubernetes_version if target.kind == "eks" else ""
    of_minor = f"{NAME}-{minor}"
    given = settings is not None and settings.version is not None
    return image(context, NAME, "" if given or of_minor not in pin(NAME).images else of_minor)


def _findings(context: ComponentContext) -> list[Finding]:
    settings = context.spec.components.node_problem_detector
    findings = []
    if _any_gpu(context.pools) and not context.has("node-readiness-controller"):
        message = f"nodes with the condition {GPU_CONDITION} still receive pods, because no controller taints them"
        findings.append(finding("HEA001", context.spec_path(NAME), message, "Set `components: {nodeReadiness: {}}`"))
    careless = sorted(APPLICATION_XIDS & set(settings.gpu_xids)) if settings is not None else []
    if careless:
        codes = ", ".join(str(code) for code in careless)
        message = f"XID {codes} reports an error in a program: any job with a bug would take its node out of service"
        where = ("components", "nodeProblemDetector", "gpuXids")
        findings.append(finding("HEA002", where, message, f"Remove {codes}"))
    return findings
