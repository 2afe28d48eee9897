"""Records of releases that an interrupted run left pending."""

import pytest

from mlcluster.deploy.ownership.helm_records import records_of, remove_pending
from tests.fakes.api_server import FakeApiServer

pytestmark = pytest.mark.unit


def _server(*statuses: str) -> FakeApiServer:
    server = FakeApiServer()
    for number, status in enumerate(statuses, start=1):
        labels = {"owner": "helm", "name": "kueue", "status": status}
        name = f"sh.helm.release.v1.kueue.v{number}"
        metadata = {"name": name, "namespace": "kube-system", "labels": labels}
        server.put({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    return server


def _left(server: FakeApiServer) -> list[str]:
    return [record.status for record in records_of(server.kube(), "kube-system", "kueue")]


@pytest.mark.parametrize(
    ("statuses", "removed", "left"),
    [
        ((), False, []),
        (("deployed",), False, ["deployed"]),
        (("pending-install",), True, []),
        (("superseded", "deployed", "pending-upgrade"), True, ["superseded", "deployed"]),
        (("failed",), False, ["failed"]),
    ],
)
def test_only_the_last_revision_is_removed_and_only_if_it_is_pending(
    statuses: tuple[str, ...], left: list[str], *, removed: bool
) -> None:
    server = _server(*statuses)
    assert remove_pending(server.kube(), records_of(server.kube(), "kube-system", "kueue")) is removed
    assert _left(server) == left


def test_ten_revisions_are_ordered_by_number() -> None:
    server = _server(*["superseded"] * 9, "deployed")
    assert _left(server)[-1] == "deployed"
