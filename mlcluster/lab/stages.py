"""Behavior of simulated nodes and pods, as Stage documents of kwok.

A stage matches objects by jq expressions, and then writes their status or deletes them. Pods on nodes of kwok run as
soon as they are bound, without end; a pod with the annotation `mlcluster.dev/run-for` succeeds after that time. A
deleted pod ends at once, or with the annotation `mlcluster.dev/uses-grace-period` after its grace period.
"""

from typing import Any

RUN_FOR = "mlcluster.dev/run-for"
"""Annotation of a pod: a Go duration ("90s", "1h30m") after which it completes."""

USES_GRACE_PERIOD = "mlcluster.dev/uses-grace-period"
"""Annotation of a pod: after its deletion, it runs until the end of its grace period, like a slow program."""

BROKEN = "mlcluster.dev/broken"
"""Annotation of a node: kwok does not write its conditions, so that a test can make it fail."""

Document = dict[str, Any]

_NODE_READY = """\
{{ $now := Now }}
conditions:
- {type: Ready, status: "True", reason: KubeletReady, message: "simulated by kwok",
   lastHeartbeatTime: {{ $now | Quote }}, lastTransitionTime: {{ $now | Quote }}}
{{ range $type := list "MemoryPressure" "DiskPressure" "PIDPressure" }}
- {type: {{ $type }}, status: "False", reason: NoPressure, message: "simulated by kwok",
   lastHeartbeatTime: {{ $now | Quote }}, lastTransitionTime: {{ $now | Quote }}}
{{ end }}
addresses:
- {type: InternalIP, address: {{ NodeIP | Quote }}}
- {type: Hostname, address: {{ NodeName | Quote }}}
nodeInfo:
  architecture: {{ or .status.nodeInfo.architecture "amd64" | Quote }}
  operatingSystem: {{ or .status.nodeInfo.operatingSystem "linux" | Quote }}
  kubeletVersion: {{ or .status.nodeInfo.kubeletVersion (printf "kwok-%s" Version) | Quote }}
  containerRuntimeVersion: "kwok"
  kernelVersion: "simulated"
  osImage: "simulated"
  kubeProxyVersion: ""
  machineID: ""
  systemUUID: ""
  bootID: ""
"""

_POD_RUNNING = """\
{{ $now := Now }}
phase: Running
startTime: {{ $now | Quote }}
conditions:
{{ range $type := list "PodReadyToStartContainers" "Initialized" "ContainersReady" "Ready" }}
- {type: {{ $type }}, status: "True", lastTransitionTime: {{ $now | Quote }}}
{{ end }}
{{ range .spec.readinessGates }}
- {type: {{ .conditionType | Quote }}, status: "True", lastTransitionTime: {{ $now | Quote }}}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, imageID: "", ready: true, started: true, restartCount: 0,
   state: {running: {startedAt: {{ $now | Quote }}}}}
{{ end }}
{{ if .spec.initContainers }}
initContainerStatuses:
{{ range .spec.initContainers }}
{{ if eq (or .restartPolicy "") "Always" }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, imageID: "", ready: true, started: true, restartCount: 0,
   state: {running: {startedAt: {{ $now | Quote }}}}}
{{ else }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, imageID: "", ready: true, started: false, restartCount: 0,
   state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}}}
{{ end }}
{{ end }}
{{ end }}
{{ with NodeIPsWith .spec.nodeName }}
hostIP: {{ index . 0 | Quote }}
hostIPs: [{ip: {{ index . 0 | Quote }}}]
{{ end }}
{{ $hostNetwork := or .spec.hostNetwork false }}
{{ with PodIPsWith .spec.nodeName $hostNetwork .metadata.uid .metadata.name .metadata.namespace }}
podIP: {{ index . 0 | Quote }}
podIPs: [{ip: {{ index . 0 | Quote }}}]
{{ end }}
"""

_POD_SUCCEEDED = """\
{{ $now := Now }}
{{ $started := or .status.startTime $now }}
phase: Succeeded
conditions:
{{ range $type := list "ContainersReady" "Ready" }}
- {type: {{ $type }}, status: "False", reason: PodCompleted, lastTransitionTime: {{ $now | Quote }}}
{{ end }}
- {type: Initialized, status: "True", reason: PodCompleted, lastTransitionTime: {{ $started | Quote }}}
containerStatuses:
{{ range .spec.containers }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, imageID: "", ready: false, started: false, restartCount: 0,
   state: {terminated: {exitCode: 0, reason: Completed,
           startedAt: {{ $started | Quote }}, finishedAt: {{ $now | Quote }}}}}
{{ end }}
"""


def stages() -> list[Document]:
    """Return every stage of the lab."""
    ready = '.status.conditions.[] | select( .type == "Ready" ) | .status'
    living = _where(".metadata.deletionTimestamp", "DoesNotExist")
    deleted = _where(".metadata.deletionTimestamp", "Exists")
    uses_grace = f'.metadata.annotations["{USES_GRACE_PERIOD}"]'
    run_for = f'.metadata.annotations["{RUN_FOR}"]'
    healthy = _where(f'.metadata.annotations["{BROKEN}"]', "DoesNotExist")
    return [
        _stage("node-initialize", "Node", [_where(ready, "NotIn", "True"), healthy], {"statusTemplate": _NODE_READY}),
        _stage(
            "pod-ready",
            "Pod",
            [living, _where(".status.phase", "In", "Pending"), _where(ready, "NotIn", "True")],
            {"statusTemplate": _POD_RUNNING},
        ),
        _stage(
            "pod-complete",
            "Pod",
            [living, _where(".status.phase", "In", "Running"), _where(run_for, "Exists")],
            {"statusTemplate": _POD_SUCCEEDED},
            delay={"durationMilliseconds": 0, "durationFrom": {"expressionFrom": run_for}},
        ),
        _stage("pod-delete", "Pod", [deleted, _where(uses_grace, "DoesNotExist")], {"delete": True}),
        _stage(
            "pod-delete-late",
            "Pod",
            [deleted, _where(uses_grace, "Exists")],
            {"delete": True},
            delay={"durationMilliseconds": 0, "durationFrom": {"expressionFrom": ".metadata.deletionTimestamp"}},
        ),
    ]


def _where(key: str, operator: str, *values: str) -> Document:
    return {"key": key, "operator": operator, **({"values": [*values]} if values else {})}


def _stage(name: str, kind: str, matches: list[Document], then: Document, **more: Document) -> Document:
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": matches},
            **more,
            "next": then,
        },
    }
