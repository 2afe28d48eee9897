"""Command lines of the lab's processes. Pure.

All processes listen on 127.0.0.1 only. Nodes are simulated in "quiet" mode: the node lifecycle controller runs, but
there are no node leases, so a node fails only if a client patches its Ready condition.
"""

from collections.abc import Sequence
from pathlib import Path

from mlcluster.lab.layout import Layout
from mlcluster.lab.pki import ETCD_AUTHORITY, ETCD_CLIENT, ETCD_PEER_AUTHORITY
from mlcluster.lab.ports import LOOPBACK, Ports

QUIET_GRACE = "87600h"  # ten years without a heartbeat: quiet mode has none

# Disabled controllers: the lab has no cloud, no volumes, no network, and no kubelet that requests certificates.
CONTROLLERS_OFF = (
    "bootstrap-signer-controller",
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "certificatesigningrequest-signing-controller",
    "cloud-node-lifecycle-controller",
    "endpoints-controller",
    "endpointslice-mirroring-controller",
    "kube-apiserver-serving-clustertrustbundle-publisher-controller",
    "legacy-serviceaccount-token-cleaner-controller",
    "node-ipam-controller",
    "node-route-controller",
    "persistentvolume-attach-detach-controller",
    "persistentvolume-expander-controller",
    "podcertificaterequest-cleaner-controller",
    "service-lb-controller",
    "storage-version-migrator-controller",
    "token-cleaner-controller",
    "ttl-controller",
)


def etcd(layout: Layout, ports: Ports) -> list[str]:
    """Return etcd's command line: TLS with client certificates on both ports.

    Without client certificates, every user of this machine could control the cluster through the client port, or
    through the peer port with one forged message of the consensus protocol. Each port has its own authority.
    The flag against fsync makes a start faster; data survives a crash of the process, but not always a power loss.
    """
    client, peer = f"https://{LOOPBACK}:{ports.etcd}", f"https://{LOOPBACK}:{ports.etcd_peer}"
    return [
        "--name=lab",
        f"--data-dir={layout.etcd}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=lab={peer}",
        f"--cert-file={layout.certificate('etcd-server')}",
        f"--key-file={layout.key('etcd-server')}",
        "--client-cert-auth",
        f"--trusted-ca-file={layout.certificate(ETCD_AUTHORITY)}",
        f"--peer-cert-file={layout.certificate('etcd-peer')}",
        f"--peer-key-file={layout.key('etcd-peer')}",
        "--peer-client-cert-auth",
        f"--peer-trusted-ca-file={layout.certificate(ETCD_PEER_AUTHORITY)}",
        "--unsafe-no-fsync",
        "--quota-backend-bytes=4294967296",
        "--auto-compaction-mode=periodic",
        "--auto-compaction-retention=5m",
        "--log-level=warn",
    ]


def apiserver(layout: Layout, ports: Ports, *, extended_resource_toleration: bool = False) -> list[str]:
    """Return the API server's command line: RBAC, no anonymous requests, the default admission plugins.

    Args:
        layout: the files of the lab, with the certificates.
        ports: the ports of etcd and of the API server.
        extended_resource_toleration: pods that request an extended resource get a toleration of the taint with its
            name on creation, as on EKS.
    """
    plugins = ["NodeRestriction", *(["ExtendedResourceToleration"] if extended_resource_toleration else [])]
    return [
        f"--etcd-servers=https://{LOOPBACK}:{ports.etcd}",
        f"--etcd-cafile={layout.certificate(ETCD_AUTHORITY)}",
        f"--etcd-certfile={layout.certificate(ETCD_CLIENT)}",
        f"--etcd-keyfile={layout.key(ETCD_CLIENT)}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={ports.api}",
        *_serving(layout),
        f"--client-ca-file={layout.certificate('ca')}",
        "--authorization-mode=Node,RBAC",
        "--anonymous-auth=false",
        f"--enable-admission-plugins={','.join(plugins)}",
        # In quiet mode, no controller would remove the taint that this plugin adds to a new node.
        "--disable-admission-plugins=TaintNodesByCondition",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--endpoint-reconciler-type=none",  # Endpoints reject a loopback address, with an error every 10 s
        "--allow-privileged=true",
        *_service_accounts(layout),
        *_aggregation(layout),
        f"--kubelet-certificate-authority={layout.certificate('ca')}",
        f"--kubelet-client-certificate={layout.certificate('kubelet-client')}",
        f"--kubelet-client-key={layout.key('kubelet-client')}",
        "--max-requests-inflight=1200",
        "--max-mutating-requests-inflight=600",
        "--profiling=false",
    ]


def controllers(layout: Layout, ports: Ports) -> list[str]:
    """Return the controller manager's command line, with a higher rate than the default of 20 requests per second."""
    kubeconfig = layout.kubeconfig("controllers")
    return [
        f"--kubeconfig={kubeconfig}",
        *_delegated(kubeconfig),
        f"--bind-address={LOOPBACK}",
        f"--secure-port={ports.controllers}",
        *_serving(layout),
        "--leader-elect=false",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={layout.key('sa')}",
        f"--root-ca-file={layout.certificate('ca')}",
        f"--controllers={','.join(['*', *(f'-{name}' for name in CONTROLLERS_OFF)])}",
        "--kube-api-qps=2000",
        "--kube-api-burst=4000",
        "--concurrent-job-syncs=20",
        "--concurrent-gc-syncs=40",
        "--concurrent-namespace-syncs=20",
        "--concurrent-resource-quota-syncs=10",
        f"--node-monitor-grace-period={QUIET_GRACE}",
        "--node-eviction-rate=100",
        "--secondary-node-eviction-rate=100",
        "--profiling=false",
    ]


def scheduler(layout: Layout, ports: Ports) -> list[str]:
    """Return the scheduler's command line; the rate of its client is in its configuration file."""
    return [
        f"--config={layout.scheduler_config}",
        *_delegated(layout.kubeconfig("scheduler")),
        f"--bind-address={LOOPBACK}",
        f"--secure-port={ports.scheduler}",
        *_serving(layout),
    ]


def kwok(layout: Layout) -> list[str]:
    """Return kwok's command line; its stages are in its configuration file.

    kwok gets no address to serve on, because its server does not check client certificates and would serve every user
    of this machine.
    """
    return [f"--kubeconfig={layout.kubeconfig('kwok')}", f"--config={layout.kwok_config}", "--server-address="]


def _serving(layout: Layout) -> Sequence[str]:
    return (
        f"--tls-cert-file={layout.certificate('apiserver')}",
        f"--tls-private-key-file={layout.key('apiserver')}",
    )


def _delegated(kubeconfig: Path) -> Sequence[str]:
    return f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"


def _service_accounts(layout: Layout) -> Sequence[str]:
    return (
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={layout.pki / 'sa.pub'}",
        f"--service-account-signing-key-file={layout.key('sa')}",
    )


def _aggregation(layout: Layout) -> Sequence[str]:
    return (
        f"--requestheader-client-ca-file={layout.certificate('front-proxy-ca')}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={layout.certificate('front-proxy')}",
        f"--proxy-client-key-file={layout.key('front-proxy')}",
    )
