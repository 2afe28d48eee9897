"""Findings, and the registry of their IDs. An ID is never reused for another meaning."""

from dataclasses import dataclass, replace
from enum import StrEnum


class Severity(StrEnum):
    """Severity of a finding; `error` stops `preview` and `up` unless the spec allows it with a reason."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Return 0 for info, 1 for warning, 2 for error; `--fail-on` compares them."""
        return {"info": 0, "warning": 1, "error": 2}[self.value]


@dataclass(frozen=True, slots=True)
class FindingKind:
    """One entry of the registry."""

    id: str
    severity: Severity
    title: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a rule.

    Attributes:
        id: a key of `REGISTRY`.
        severity: from the registry.
        place: path in the spec, e.g. ("teams", 0, "guarantee").
        message: the problem, with the figures that prove it.
        hint: the change that resolves it.
        allowed: the reason under `allow` in the spec, or "" if it is not allowed.
    """

    id: str
    severity: Severity
    place: tuple[str | int, ...]
    message: str
    hint: str = ""
    allowed: str = ""

    def allow(self, reason: str) -> "Finding":
        """Return the finding with the reason of the spec; "" for none."""
        return replace(self, allowed=reason)

    @property
    def blocks(self) -> bool:
        """Return whether `preview` and `up` stop because of it."""
        return self.severity is Severity.ERROR and not self.allowed


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO
REGISTRY: dict[str, FindingKind] = {
    kind.id: kind
    for kind in (
        FindingKind("AWS001", _E, "Another account, region or cluster than in the spec"),
        FindingKind("AWS002", _E, "Kubernetes version that EKS does not offer"),
        FindingKind("AWS003", _E, "Zone or instance type that is not offered"),
        FindingKind("AWS004", _E, "Account quota too low for the plan"),
        FindingKind("AWS005", _E, "Unusable reservation or capacity block"),
        FindingKind("AWS006", _E, "Too few free addresses in a subnet"),
        FindingKind("AWS007", _E, "Key or role that does not exist"),
        FindingKind("AWS008", _E, "Image or add-on release that does not exist"),
        FindingKind("AWS009", _E, "EFA interfaces differ from the catalog"),
        FindingKind("AWS010", _W, "Spot capacity is unlikely"),
        FindingKind("AWS011", _I, "Check of the account not possible"),
        FindingKind("AWS012", _E, "Second access entry for the cluster creator"),
        FindingKind("AWS013", _E, "Another key for the secrets of a live cluster"),
        FindingKind("CAP001", _E, "Too many flavors for a Kueue queue"),
        FindingKind("CAP002", _E, "Too many labels or taints for a Kueue flavor"),
        FindingKind("CAP003", _E, "Too many resources for a Kueue queue"),
        FindingKind("CMP001", _E, "Chart value that mlcluster sets"),
        FindingKind("CMP002", _W, "Secret in the values of a chart"),
        FindingKind("CST001", _E, "Over budget"),
        FindingKind("CST002", _W, "Budget not proven"),
        FindingKind("CST003", _I, "Price unknown"),
        FindingKind("EXI001", _E, "Component is already installed"),
        FindingKind("EXI002", _E, "Two components with the same duty"),
        FindingKind("EXI003", _E, "Unsupported version of an adopted component"),
        FindingKind("EXI004", _E, "Nothing to adopt"),
        FindingKind("EXI005", _W, "Part of the cluster could not be read"),
        FindingKind("EXI006", _E, "Existing CRDs block a chart"),
        FindingKind("EXI007", _E, "Namespace already exists"),
        FindingKind("GPU001", _W, "GPU nodes without the accelerator taint"),
        FindingKind("GPU002", _W, "No pool for CPU work"),
        FindingKind("GPU003", _W, "Production on time slices"),
        FindingKind("GPU004", _I, "MPS is experimental"),
        FindingKind("GPU005", _W, "No node for the GPU operator"),
        FindingKind("GPU006", _I, "Existing GPU operator is not configured"),
        FindingKind("GPU007", _W, "Monitoring without GPU metrics"),
        FindingKind("GPU008", _W, "MIG nodes are ready too early"),
        FindingKind("GPU009", _W, "Missing GPU labels on nodes"),
        FindingKind("GPU010", _W, "GPU sharing outside mlcluster"),
        FindingKind("HEA001", _I, "No taint on nodes with broken GPUs"),
        FindingKind("HEA002", _W, "XIDs that any program can cause"),
        FindingKind("KUE001", _E, "Topology on a pool that may have no nodes"),
        FindingKind("KUE002", _E, "Topology on nodes without its labels"),
        FindingKind("KUE003", _W, "Team that uses Volcano borrows"),
        FindingKind("KUE004", _W, "Pools with and without topology"),
        FindingKind("KUE005", _W, "Tiers that do not preempt through Volcano"),
        FindingKind("KUE006", _E, "Guaranteed nodes that the autoscaler does not start"),
        FindingKind("KUE007", _E, "Guarantee with topology and quota without"),
        FindingKind("NET001", _I, "Network policies may not be enforced"),
        FindingKind("NET002", _E, "Public endpoint open to the internet"),
        FindingKind("NET003", _E, "Too few addresses for the pools"),
        FindingKind("NET004", _E, "Nodes cannot reach required services"),
        FindingKind("NET005", _I, "Kubernetes API only inside the VPC"),
        FindingKind("NET006", _W, "Devices without a device plugin"),
        FindingKind("NET007", _I, "Multus without networks"),
        FindingKind("NET008", _W, "CNI plugin missing on the nodes"),
        FindingKind("NET009", _W, "Overlapping address ranges of networks"),
        FindingKind("NET010", _W, "macvlan on EC2"),
        FindingKind("NET011", _I, "RDMA without the capability to lock memory"),
        FindingKind("NET012", _E, "System nodes wait for secondary networks"),
        FindingKind("OBS001", _I, "GPU-hours without a price"),
        FindingKind("OBS002", _I, "Node labels missing in Prometheus"),
        FindingKind("QTA001", _W, "Team without quota"),
        FindingKind("QTA002", _W, "Share that rounds down to zero"),
        FindingKind("QTA003", _W, "Guaranteed time slices"),
        FindingKind("QTA004", _W, "Limits of teams exceed the size of etcd"),
        FindingKind("QTA005", _E, "Guarantee that no node is certain to hold"),
        FindingKind("QTA006", _E, "Guarantees of whole nodes and single GPUs in one pool"),
        FindingKind("QTA007", _W, "Pool that controllers can fill"),
        FindingKind("SCH001", _E, "Component that fits no node"),
        FindingKind("SCH002", _E, "Controllers do not fit together"),
        FindingKind("SCH003", _W, "Too few initial nodes for controllers"),
        FindingKind("SCH004", _W, "Controllers do not fit after the loss of a node"),
        FindingKind("SRV001", _W, "Models served without TLS"),
        FindingKind("SRV002", _E, "Same host name for models of two teams"),
        FindingKind("STA001", _E, "State in local files of a CI machine"),
        FindingKind("STO001", _I, "Resources that `down` keeps"),
        FindingKind("UPG001", _E, "Blocked upgrade"),
        FindingKind("UPG002", _W, "Upgrade with manual steps"),
        FindingKind("UPG003", _E, "Unsupported Kubernetes version of a chart"),
        FindingKind("UPG004", _W, "Version differs from the catalog"),
        FindingKind("VER001", _E, "Unsupported version step of EKS"),
        FindingKind("VER002", _W, "Kubernetes version out of standard support"),
        FindingKind("VER003", _E, "Capacity block with nodes during an upgrade"),
        FindingKind("VER004", _W, "Node image chosen by EKS"),
    )
}
"""Every finding kind by ID; documented in docs/findings.md, one heading each."""


def finding(identifier: str, where: tuple[str | int, ...], message: str, hint: str = "") -> Finding:
    """Return a finding of a registered kind.

    Raises:
        KeyError: the ID is not in the registry.
    """
    return Finding(identifier, REGISTRY[identifier].severity, where, message, hint)
