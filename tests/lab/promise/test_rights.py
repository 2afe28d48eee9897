"""Attempts of admins and editors of a team to gain rights beyond their namespace, or to grant them."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from mlcluster.plan import names
from tests.lab.attacks import User, refusal, request_as
from tests.lab.promise.conftest import Cluster
from tests.waiting import wait_for

pytestmark = pytest.mark.lab

ADMIN = ("ann", ["ml-leads", "system:authenticated"])
EDITOR = ("ben", ["ml-research", "system:authenticated"])
RBAC = "rbac.authorization.k8s.io"
ROLES = f"/apis/{RBAC}/v1/namespaces/research"


def refused(cluster: Cluster, who: User, method: str, path: str, body: dict[str, Any] | None = None) -> str:
    """Return why the API server rejected a request."""
    return refusal(lambda: request_as(cluster.kube, who, method, path, body))


def binding(role: str, *subjects: tuple[str, str]) -> dict[str, Any]:
    """Return a RoleBinding of team research to a ClusterRole."""
    listed = [
        {"kind": kind, "name": name, **({"namespace": "research"} if kind == "ServiceAccount" else {"apiGroup": RBAC})}
        for kind, name in subjects
    ]
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "let-in", "namespace": "research"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": listed,
    }


@pytest.fixture(autouse=True)
def as_before(cluster: Cluster) -> Iterator[None]:
    yield
    cluster.kube.delete(f"{RBAC}/v1", "RoleBinding", "let-in", "research")


TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
BEYOND: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    "secrets of another team": ("GET", "/api/v1/namespaces/students/secrets", None),
    "the key of Kueue's webhooks": ("GET", "/api/v1/namespaces/kueue-system/secrets/kueue-webhook-server-cert", None),
    "token of another team": ("POST", "/api/v1/namespaces/students/serviceaccounts/default/token", TOKEN),
    "token of Kueue": ("POST", "/api/v1/namespaces/kueue-system/serviceaccounts/kueue-controller-manager/token", TOKEN),
    "exec elsewhere": ("POST", "/api/v1/namespaces/students/pods/x/exec", None),
    "exec elsewhere, over websockets": ("GET", "/api/v1/namespaces/students/pods/x/exec", None),
    "attach elsewhere": ("POST", "/api/v1/namespaces/students/pods/x/attach", None),
    "port-forward elsewhere": ("GET", "/api/v1/namespaces/students/pods/x/portforward", None),
    "ephemeral container elsewhere": (
        "PATCH",
        "/api/v1/namespaces/students/pods/x/ephemeralcontainers",
        {"spec": {"ephemeralContainers": []}},
    ),
    "proxy to a pod elsewhere": ("GET", "/api/v1/namespaces/students/pods/x/proxy/", None),
    "proxy to a service elsewhere": ("GET", "/api/v1/namespaces/kueue-system/services/x/proxy/", None),
    "logs elsewhere": ("GET", "/api/v1/namespaces/students/pods/x/log", None),
    "the kubelet": ("GET", "/api/v1/nodes/train-0/proxy/pods", None),
    "every pod": ("GET", "/api/v1/pods", None),
    "every event": ("GET", "/api/v1/events", None),
    "a volume": ("POST", "/api/v1/persistentvolumes", {"apiVersion": "v1", "kind": "PersistentVolume"}),
    "a client certificate": (
        "POST",
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
        {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"},
    ),
    "the labels of the namespace": (
        "PATCH",
        "/api/v1/namespaces/research",
        {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged", names.TEAM: None}}},
    ),
    "the limits of the namespace": (
        "PATCH",
        "/api/v1/namespaces/research",
        {"metadata": {"annotations": {names.CLOSED: None}}},
    ),
    "the status of the quota": (
        "PATCH",
        "/api/v1/namespaces/research/resourcequotas/team/status",
        {"status": {"hard": {"count/secrets": "9k"}}},
    ),
    "the end of the namespace": ("DELETE", "/api/v1/namespaces/research", None),
    "an admission of Kueue": (
        "PATCH",
        "/apis/kueue.x-k8s.io/v1beta2/namespaces/research/workloads/x/status",
        {"status": {"admission": {"clusterQueue": "research"}}},
    ),
    "a binding of a pod to a node": (
        "POST",
        "/api/v1/namespaces/research/pods/x/binding",
        {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "train-0"}},
    ),
}


@pytest.mark.parametrize("who", [ADMIN, EDITOR], ids=["admin", "editor"])
@pytest.mark.parametrize(("method", "path", "body"), BEYOND.values(), ids=BEYOND)
def test_rights_end_at_the_namespace(
    cluster: Cluster, who: User, method: str, path: str, body: dict[str, Any] | None
) -> None:
    assert "forbidden" in refused(cluster, who, method, path, body)


@pytest.mark.parametrize("who", [ADMIN, EDITOR], ids=["admin", "editor"])
def test_members_impersonate_no_other_user(cluster: Cluster, who: User) -> None:
    """The built-in roles let members act as service accounts of their own namespace, and no others."""
    user, groups = who
    for resource, namespace in (
        ("users", ""),
        ("groups", ""),
        ("serviceaccounts", ""),
        ("serviceaccounts", "students"),
        ("serviceaccounts", "kueue-system"),
        ("serviceaccounts", "kube-system"),
    ):
        assert not cluster.kube.can("impersonate", "", resource, namespace, as_user=user, as_groups=groups)


@pytest.mark.parametrize(
    "role",
    [
        "cluster-admin",
        "kueue-manager-role",
        "kueue-batch-admin-role",
        "kueue-workload-editor-role",
        "kueue-localqueue-editor-role",
        "system:node",
        "system:controller:job-controller",
        "system:kube-scheduler",
    ],
)
def test_an_admin_binds_no_role_that_it_does_not_hold(cluster: Cluster, role: str) -> None:
    message = refused(cluster, ADMIN, "POST", f"{ROLES}/rolebindings", binding(role, ("User", "ann")))
    assert "attempting to grant RBAC permissions not currently held" in message


@pytest.mark.parametrize(
    ("group", "resources", "verbs"),
    [
        ("*", ["*"], ["*"]),
        ("kueue.x-k8s.io", ["workloads/status", "localqueues"], ["patch"]),
        ("", ["services/status", "endpoints", "pods/status", "pods/binding"], ["update"]),
        (RBAC, ["roles"], ["escalate", "bind"]),
        ("", ["serviceaccounts", "users"], ["impersonate"]),
    ],
)
def test_an_admin_creates_no_role_beyond_its_own_rights(
    cluster: Cluster, group: str, resources: list[str], verbs: list[str]
) -> None:
    role = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": "more", "namespace": "research"},
        "rules": [{"apiGroups": [group], "resources": resources, "verbs": verbs}],
    }
    message = refused(cluster, ADMIN, "POST", f"{ROLES}/roles", role)
    assert "attempting to grant RBAC permissions not currently held" in message


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Group", "system:authenticated"),
        ("Group", "system:unauthenticated"),
        ("Group", "system:serviceaccounts"),
        ("Group", "system:serviceaccounts:students"),
        ("User", "system:anonymous"),
    ],
)
def test_an_admin_binds_no_group_of_all_users(cluster: Cluster, kind: str, name: str) -> None:
    message = refused(
        cluster, ADMIN, "POST", f"{ROLES}/rolebindings", binding("edit", ("User", "colleague"), (kind, name))
    )
    assert "this would let all users of the cluster into the team's namespace" in message
    request_as(cluster.kube, ADMIN, "POST", f"{ROLES}/rolebindings", binding("edit", ("User", "colleague")))
    more = {"subjects": binding("edit", (kind, name))["subjects"]}
    message = refused(cluster, ADMIN, "PATCH", f"{ROLES}/rolebindings/let-in", more)
    assert "this would let all users of the cluster into the team's namespace" in message


def test_an_admin_binds_users_and_service_accounts_of_the_team(cluster: Cluster) -> None:
    subjects = [("User", "colleague"), ("Group", "guests"), ("ServiceAccount", "pipeline")]
    own = ("Group", "system:serviceaccounts:research")
    request_as(cluster.kube, ADMIN, "POST", f"{ROLES}/rolebindings", binding("edit", *subjects, own))
    may = partial(cluster.kube.can, "create", "batch", "jobs", as_user="colleague")
    wait_for("the API server knows of the binding", lambda: may("research"))
    assert not may("students")


def test_a_service_account_of_a_team_has_no_rights_of_its_own(cluster: Cluster) -> None:
    account = ("system:serviceaccount:research:default", ["system:serviceaccounts", "system:authenticated"])
    request_as(cluster.kube, EDITOR, "POST", "/api/v1/namespaces/research/serviceaccounts/default/token", TOKEN)
    for path in ("/api/v1/namespaces/research/secrets", "/api/v1/namespaces/research/pods", "/api/v1/nodes"):
        assert "forbidden" in refused(cluster, account, "GET", path)
