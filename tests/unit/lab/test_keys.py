"""What of a lab's store is compared, and when it is complete."""

import pytest

from mlcluster.lab.keys import has_whole_namespaces, lasting

pytestmark = pytest.mark.unit

ONE = {"/registry/namespaces/a", "/registry/serviceaccounts/a/default", "/registry/configmaps/a/kube-root-ca.crt"}


def test_heartbeats_and_events_do_not_last() -> None:
    passing = {"/registry/events/a/b", "/registry/leases/a/b", "/registry/masterleases/127.0.0.1"}
    assert lasting(frozenset(ONE | passing | {"/registry/peerserverleases/apiserver-x"})) == ONE


def test_a_namespace_is_whole_with_what_the_controllers_put_into_each() -> None:
    assert has_whole_namespaces(frozenset(ONE))
    assert not has_whole_namespaces(frozenset(ONE | {"/registry/namespaces/b"}))


@pytest.mark.parametrize("missing", sorted(ONE))
def test_without_one_of_them_it_is_not(missing: str) -> None:
    assert not has_whole_namespaces(frozenset(ONE - {missing}))
