"""The Helm releases of a state, with their versions."""

from typing import Any

import pytest

from mlcluster.engine.state import releases_in
from mlcluster.rules.upgrades import Deployed

pytestmark = pytest.mark.unit
RELEASE = "kubernetes:helm.sh/v3:Release"


def resource(name: str, version: str = "", *, kind: str = RELEASE, identifier: str = "", **rest: Any) -> dict[str, Any]:
    inputs = {"chart": f"oci://example.test/{name}", "name": name, "namespace": "ns", "values": {"password": "secret"}}
    inputs |= {"version": version} if version else {}
    urn = f"urn:pulumi:atlas::p::{kind}::Release/{name}"
    return {"urn": urn, "type": kind, "id": identifier or f"ns/{name}", "inputs": inputs, **rest}


def test_releases_with_their_versions() -> None:
    state = {
        "resources": [resource("b", "1.0.0"), resource("a", "2.0.0"), resource("x", kind="kubernetes:core/v1:Pod")]
    }
    assert releases_in(state) == [
        Deployed("ns", "a", "oci://example.test/a", "2.0.0"),
        Deployed("ns", "b", "oci://example.test/b", "1.0.0"),
    ]


def test_the_version_comes_from_the_outputs_if_inputs_have_none() -> None:
    state = {"resources": [resource("a", outputs={"status": {"version": "3.1.0"}})]}
    assert [one.version for one in releases_in(state)] == ["3.1.0"]


def test_a_pending_release_of_a_killed_run() -> None:
    """Without it, the next run would treat the release as foreign. The deployed version precedes the planned one."""
    pending = [
        {"type": "updating", "resource": resource("a", "3.0.0")},
        {"type": "creating", "resource": resource("c")},
    ]
    found = releases_in({"resources": [resource("a", "2.0.0")], "pending_operations": pending})
    assert [(one.name, one.version) for one in found] == [("a", "2.0.0"), ("c", "")]


@pytest.mark.parametrize("state", [{}, {"resources": None}, {"resources": [], "pending_operations": None}])
def test_an_empty_state(state: dict[str, Any]) -> None:
    assert releases_in(state) == []
