"""What a finding is, and the registry of finding IDs. An ID is never reused for another meaning."""

from dataclasses import dataclass, replace
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is; `error` stops `preview` and `up` unless the spec allows it with a reason."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for info, 1 for warning, 2 for error: what `--fail-on` compares."""
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
        place: the spec's path, e.g. ("teams", 0, "guarantee").
        message: what is wrong, with the figures that prove it.
        hint: what to change.
        allowed: the reason given under `allow` in the spec, or "" when it is not allowed.
    """

    id: str
    severity: Severity
    place: tuple[str | int, ...]
    message: str
    hint: str = ""
    allowed: str = ""

    def allow(self, reason: str) -> "Finding":
        """The same finding with the reason that the spec gives for it, "" for none."""
        return replace(self, allowed=reason)

    @property
    def blocks(self) -> bool:
        """Whether `preview` and `up` stop here."""
        return self.severity is Severity.ERROR and not self.allowed


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO
REGISTRY: dict[str, FindingKind] = {
    kind.id: kind
    for kind in (
        FindingKind("AWS001", _E, "Another account, region or cluster than the spec wants"),
        FindingKind("AWS002", _E, "Kubernetes version that EKS does not offer"),
        FindingKind("AWS003", _E, "Zone or instance type that is not offered"),
        FindingKind("AWS004", _E, "Account quota below what the plan needs"),
        FindingKind("AWS005", _E, "Reservation or capacity block that cannot be used"),
        FindingKind("AWS006", _E, "Too few free addresses in a subnet"),
        FindingKind("AWS007", _E, "Key or role that does not exist"),
        FindingKind("AWS008", _E, "Image or add-on release that does not exist"),
        FindingKind("AWS009", _E, "EFA interfaces other than the catalogue says"),
        FindingKind("AWS010", _W, "Spot capacity is unlikely"),
        FindingKind("AWS011", _I, "The account does not answer"),
        FindingKind("AWS012", _E, "Whoever creates the cluster has an access entry already"),
        FindingKind("AWS013", _E, "Another key for the secrets of a live cluster"),
        FindingKind("CAP001", _E, "More flavors than a Kueue queue takes"),
        FindingKind("CAP002", _E, "More labels or taints than a Kueue flavor takes"),
        FindingKind("CAP003", _E, "More resources than a Kueue queue takes"),
        FindingKind("CMP001", _E, "Chart value that follows from the spec"),
        FindingKind("CMP002", _W, "Secret in the values of a chart"),
        FindingKind("CST001", _E, "Over budget"),
        FindingKind("CST002", _W, "Budget not proven"),
        FindingKind("CST003", _I, "Price unknown"),
        FindingKind("EXI001", _E, "Somebody else's component"),
        FindingKind("EXI002", _E, "A duty that is taken"),
        FindingKind("EXI003", _E, "Adopted component of another version"),
        FindingKind("EXI004", _E, "Nothing to adopt"),
        FindingKind("EXI005", _W, "Part of the cluster not looked at"),
        FindingKind("EXI006", _E, "Definitions in the way of a chart"),
        FindingKind("EXI007", _E, "Somebody else's namespace"),
        FindingKind("GPU001", _W, "GPU nodes without the accelerator taint"),
        FindingKind("GPU002", _W, "No pool for CPU work"),
        FindingKind("GPU003", _W, "Production on time slices"),
        FindingKind("GPU004", _I, "MPS is experimental"),
        FindingKind("GPU005", _W, "No home for the GPU operator"),
        FindingKind("GPU006", _I, "GPU operator that is there already"),
        FindingKind("GPU007", _W, "Monitoring without GPU metrics"),
        FindingKind("GPU008", _W, "MIG nodes that are ready too early"),
        FindingKind("GPU009", _W, "GPU labels that nodes must have"),
        FindingKind("GPU010", _W, "Shares of GPUs that somebody else makes"),
        FindingKind("HEA001", _I, "Broken GPUs that nothing takes out of service"),
        FindingKind("HEA002", _W, "XIDs that any program can cause"),
        FindingKind("KUE001", _E, "Topology on a pool that may have no nodes"),
        FindingKind("KUE002", _E, "Topology on nodes without its labels"),
        FindingKind("KUE003", _W, "A team of Volcano that borrows"),
        FindingKind("KUE004", _W, "Pools with and without topology"),
        FindingKind("KUE005", _W, "Tiers that displace nothing through Volcano"),
        FindingKind("KUE006", _E, "Guaranteed nodes that no autoscaler would start"),
        FindingKind("KUE007", _E, "A guarantee with topology beside quota without"),
        FindingKind("NET001", _I, "Network policies may not be enforced"),
        FindingKind("NET002", _E, "Public endpoint open to everybody"),
        FindingKind("NET003", _E, "Too few addresses for the pools"),
        FindingKind("NET004", _E, "Nodes that cannot reach what they start from"),
        FindingKind("NET005", _I, "Kubernetes API only inside the VPC"),
        FindingKind("NET006", _W, "Devices that nothing announces"),
        FindingKind("NET007", _I, "Multus without networks"),
        FindingKind("NET008", _W, "CNI plugin that the nodes must bring"),
        FindingKind("NET009", _W, "Secondary network on addresses of another"),
        FindingKind("NET010", _W, "macvlan on EC2"),
        FindingKind("NET011", _I, "RDMA without the right to lock memory"),
        FindingKind("NET012", _E, "System nodes that wait for secondary networks"),
        FindingKind("OBS001", _I, "GPU-hours without a price"),
        FindingKind("OBS002", _I, "Labels of nodes that Prometheus has to see"),
        FindingKind("QTA001", _W, "A team without any quota"),
        FindingKind("QTA002", _W, "A share that rounds down to nothing"),
        FindingKind("QTA003", _W, "Guaranteed time slices"),
        FindingKind("QTA004", _W, "Limits of teams beyond what etcd holds"),
        FindingKind("QTA005", _E, "A guarantee that no node is sure to hold"),
        FindingKind("QTA006", _E, "Whole nodes and single GPUs guaranteed of one pool"),
        FindingKind("QTA007", _W, "A pool full of controllers"),
        FindingKind("SCH001", _E, "A component that no node takes"),
        FindingKind("SCH002", _E, "Controllers that do not fit together"),
        FindingKind("SCH003", _W, "Too few nodes for controllers at the start"),
        FindingKind("SCH004", _W, "Controllers without room when a node is lost"),
        FindingKind("SRV001", _W, "Models served without TLS"),
        FindingKind("SRV002", _E, "Models of two teams under one host name"),
        FindingKind("STA001", _E, "State in local files of a CI machine"),
        FindingKind("STO001", _I, "Storage that down keeps"),
        FindingKind("UPG001", _E, "Upgrade that is blocked"),
        FindingKind("UPG002", _W, "Upgrade with steps by hand"),
        FindingKind("UPG003", _E, "Chart for another Kubernetes version"),
        FindingKind("UPG004", _W, "Version other than the catalogue's"),
        FindingKind("VER001", _E, "Version step that EKS does not take"),
        FindingKind("VER002", _W, "Kubernetes version out of standard support"),
        FindingKind("VER003", _E, "Capacity block with nodes during an upgrade"),
        FindingKind("VER004", _W, "Node image that EKS chooses"),
    )
}
"""Every finding kind by ID; documented in docs/findings.md, one heading each."""


def finding(identifier: str, where: tuple[str | int, ...], message: str, hint: str = "") -> Finding:
    """A finding of a registered kind.

    Raises:
        KeyError: the ID is not in the registry.
    """
    return Finding(identifier, REGISTRY[identifier].severity, where, message, hint)
