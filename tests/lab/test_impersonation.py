"""A kubeconfig whose user acts as another, as a real API server sees it."""

import json

import pytest

from mlcluster.kube.client import Kube
from mlcluster.kube.kubeconfig import read_kubeconfig
from mlcluster.lab.lab import Lab

pytestmark = pytest.mark.lab
AS = {
    "as": "jürgen",
    "as-uid": "1234",
    "as-groups": ["ml", "system:authenticated"],
    "as-user-extra": {"acme.com/project": ["atlas", "zeus"]},
}


def test_the_server_sees_whom_the_kubeconfig_names(lab: Lab) -> None:
    document = read_kubeconfig(lab.kubeconfig).document
    document["users"][0]["user"] |= AS
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    with Kube.from_kubeconfig(json.dumps(document)) as kube:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        seen = kube.request("POST", path, review)["status"]["userInfo"]
        assert not kube.can("list", "", "nodes"), "the admin behind it may"
    assert seen == {
        "username": "jürgen",
        "uid": "1234",
        "groups": ["ml", "system:authenticated"],
        "extra": {"acme.com/project": ["atlas", "zeus"]},
    }
