"""Command lines of the lab's processes: paths and ports in, arguments out. Pure.

Everything listens on 127.0.0.1 only. Nodes are simulated in "quiet" mode: the node lifecycle controller runs, but
no node leases are written, so a node fails only when somebody patches its Ready condition.
"""

from collections.abc import Sequence
from pathlib import Path

from mlcluster.lab.layout import Layout
from mlcluster.lab.pki import ETCD_AUTHORITY, ETCD_CLIENT, ETCD_PEER_AUTHORITY
from mlcluster.lab.ports import LOOPBACK, Ports

QUIET_GRACE = "87600h"  # ten years without a heartbeat: in quiet mode nobody writes any

# Controllers without meaning here: no cloud, no volumes, no network, no kubelet to sign certificates for.
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

    Without them each user of this machine would own the cluster: through the client port, and through the peer port
    with one forged message of the consensus protocol. Each port has an authority that signs for it alone.
    Without fsync a start is quicker; a process crash is survived, a power loss may need `lab reset`.
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
    """RBAC, no anonymous requests, the default admission plugins.

    Args:
        layout: where the certificates are.
        ports: where etcd listens and where to listen.
        extended_resource_toleration: pods that ask for an extended resource get a toleration of a taint of that
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
        # Quiet mode: nobody would take the taint off that this plugin puts on a new node.
        "--disable-admission-plugins=TaintNodesByCondition",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--endpoint-reconciler-type=none",  # a loopback address may not stand in Endpoints: an error every 10 s
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
    """The controller manager; its default of 20 requests a second would make everything crawl."""
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
    """The scheduler; its client's rate is in its configuration file."""
    return [
        f"--config={layout.scheduler_config}",
        *_delegated(layout.kubeconfig("scheduler")),
        f"--bind-address={LOOPBACK}",
        f"--secure-port={ports.scheduler}",
        *_serving(layout),
    ]


def kwok(layout: Layout) -> list[str]:
    """Return kwok's command line; its stages are in its configuration file.

    Without an address it serves nothing. Its server does not check client certificates, so it would answer each user of
    this machine.
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
