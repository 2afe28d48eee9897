"""Additions of other managers, looked for beside the official provider and left to the built-in one."""

import copy
from typing import Any

import pytest

from mlcluster.deploy.ownership.foreign_fields import remove_added, widened
from mlcluster.kube.errors import ApiError
from mlcluster.kube.exact import make_exact
from mlcluster.plan.model import Plan
from tests.fakes.api_server import FakeApiServer
from tests.specs import EXISTING, SYSTEM, planned

pytestmark = pytest.mark.unit
TEAMS = [{"name": "research", "guarantee": {"system": {"nodes": 1}}, "members": {"edit": {"groups": ["g"]}}}]
PATH = "spec.podSelector.matchLabels"


class Told:
    """Progress that remembers what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def _plan(provider: str) -> Plan:
    return planned(SYSTEM, target={**EXISTING, "kubernetesProvider": provider}, teams=TEAMS)


def _narrowed(plan: Plan) -> tuple[FakeApiServer, str]:
    """The plan's first policy on a server, narrowed by hand, as an API server notes it; and its plan id."""
    policy = next(one for one in plan.objects if one.manifest["kind"] == "NetworkPolicy")
    live: dict[str, Any] = copy.deepcopy(policy.manifest)
    live["spec"]["podSelector"] = {"matchLabels": {"app": "web"}}
    rest: dict[str, Any] = {f"f:{key}": {} for key in live["spec"] if key != "podSelector"}
    live["metadata"]["managedFields"] = [
        {"manager": "pulumi-kubernetes-1f2e", "operation": "Apply", "fieldsV1": {"f:spec": rest}},
        {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:spec": {"f:podSelector": {}}}},
    ]
    server = FakeApiServer()
    server.put(live)
    return server, policy.id


def test_beside_the_official_provider_an_addition_is_found_named_and_removed() -> None:
    plan = _plan("official")
    server, identifier = _narrowed(plan)
    told = Told()
    with server.kube() as kube:
        (found,) = widened(plan, kube)
        assert (found.planned.id, found.paths) == (identifier, [PATH])
        remove_added(plan, kube, told)  # type: ignore[arg-type] # only says
        assert told.lines == [f"{identifier}: {PATH} is removed; kubectl-edit added it"]
        assert widened(plan, kube) == []
    metadata = found.planned.manifest["metadata"]
    live = server.get("NetworkPolicy", metadata["name"], metadata["namespace"])
    assert live is not None
    assert live["spec"] == found.planned.manifest["spec"]


def test_a_writer_in_between_is_noticed_and_the_removal_is_tried_again() -> None:
    plan = _plan("official")
    server, _ = _narrowed(plan)
    with server.kube() as kube:
        (found,) = widened(plan, kube)
        server.put(found.live)  # another version from now on
        done = make_exact(kube, found.planned.manifest, found.live, lambda _entry: False, "mlcluster")
        assert done["spec"] == found.planned.manifest["spec"]
        assert widened(plan, kube) == []


def test_the_builtin_provider_compares_by_itself_and_nothing_is_asked() -> None:
    plan = _plan("builtin")
    server, _ = _narrowed(plan)
    before = len(server.calls)
    with server.kube() as kube:
        assert widened(plan, kube) == []
    assert len(server.calls) == before


def test_kinds_that_the_server_does_not_have_yet_are_left_out() -> None:
    with FakeApiServer().kube() as kube:
        assert widened(_plan("official"), kube) == []
        with pytest.raises(ApiError):
            kube.list("kueue.x-k8s.io/v1beta2", "ClusterQueue")
