"""Rights of users, checked with the authorizer of the API server."""

import pytest

from tests.lab.promise.conftest import Cluster

pytestmark = pytest.mark.lab

KINDS = [
    ("", "pods"),
    ("", "secrets"),
    ("", "configmaps"),
    ("batch", "jobs"),
    ("apps", "deployments"),
    ("kueue.x-k8s.io", "localqueues"),
    ("kueue.x-k8s.io", "workloads"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("", "resourcequotas"),
    ("networking.k8s.io", "networkpolicies"),
]
VERBS = ["get", "list", "create", "update", "delete"]
READ = {"get", "list"}
READ_ONLY = {"localqueues", "workloads", "resourcequotas"}


def _expected(role: str, verb: str, resource: str) -> bool:
    """Return the built-in roles admin, edit and view, with Kueue's viewer roles aggregated into them (chart 0.18.3)."""
    if resource in READ_ONLY:
        return verb in READ
    if resource == "rolebindings":
        return role == "admin"
    if role == "view":
        return verb in READ and resource != "secrets"
    return True


@pytest.mark.parametrize(
    ("group", "team", "role"),
    [("ml-leads", "research", "admin"), ("ml-research", "research", "edit"), ("ml-research", "products", "view")],
)
def test_role_in_the_own_namespace(cluster: Cluster, group: str, team: str, role: str) -> None:
    for api_group, resource in KINDS:
        for verb in VERBS:
            may = cluster.kube.can(verb, api_group, resource, team, as_user="ann", as_groups=[group])
            assert may == _expected(role, verb, resource), (role, verb, resource)


@pytest.mark.parametrize(
    ("user", "groups", "others"),
    [
        ("ann", ["ml-leads"], ["products", "students", "kube-system", "kueue-system"]),
        ("bob", ["ml-research"], ["students", "kube-system"]),
        ("deploy-bot", [], ["research", "students"]),
        ("eve", ["ml-students"], ["research", "products"]),
    ],
)
def test_nothing_in_another_namespace(cluster: Cluster, user: str, groups: list[str], others: list[str]) -> None:
    for namespace in others:
        for api_group, resource in KINDS:
            for verb in VERBS:
                may = cluster.kube.can(verb, api_group, resource, namespace, as_user=user, as_groups=groups)
                assert not may, (user, verb, resource, namespace)


def test_team_members_have_no_cluster_wide_rights(cluster: Cluster) -> None:
    for api_group, resource in [
        ("", "nodes"),
        ("", "namespaces"),
        ("kueue.x-k8s.io", "clusterqueues"),
        ("kueue.x-k8s.io", "resourceflavors"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ]:
        for verb in ("create", "update", "delete"):
            assert not cluster.kube.can(verb, api_group, resource, as_user="ann", as_groups=["ml-leads"])
