"""The compared keys of a lab's store, and complete namespaces."""

import pytest

from mlcluster.lab.keys import has_whole_namespaces, lasting

pytestmark = pytest.mark.unit

ONE = {"/registry/namespaces/a", "/registry/serviceaccounts/a/default", "/registry/configmaps/a/kube-root-ca.crt"}


def test_heartbeats_and_events_are_temporary() -> None:
    passing = {"/registry/events/a/b", "/registry/leases/a/b", "/registry/masterleases/127.0.0.1"}
    assert lasting(frozenset(ONE | passing | {"/registry/peerserverleases/apiserver-x"})) == ONE


def test_a_namespace_is_complete_with_the_objects_of_the_controllers() -> None:
    assert has_whole_namespaces(frozenset(ONE))
    assert not has_whole_namespaces(frozenset(ONE | {"/registry/namespaces/b"}))


@pytest.mark.parametrize("missing", sorted(ONE))
def test_a_namespace_without_one_of_them_is_incomplete(missing: str) -> None:
    assert not has_whole_namespaces(frozenset(ONE - {missing}))
