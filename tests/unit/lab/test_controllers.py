"""Controllers of a lab: adaptation of their charts, their configuration, and their start order."""

import base64
import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.lab.components import STOP_ORDER, of_controller, site
from mlcluster.lab.controllers.adaptation import Arranged, arrange
from mlcluster.lab.controllers.registry import CONTROLLERS, controller
from mlcluster.lab.layout import Layout
from mlcluster.lab.ports import Ports
from mlcluster.lab.record import ControllerRecord, Record

pytestmark = pytest.mark.unit

LAYOUT = Layout(Path("/labs/one"))
PORTS = {"webhook": 7, "health": 8, "metrics": 9, "visibility": 10}
ADDRESS = re.compile(r"^(\S*):\d+$")


def known(name: str) -> ControllerRecord:
    ports = {purpose: PORTS[purpose] for purpose in controller(name).port_names}
    return ControllerRecord(name, Path("/bin", name), Path("/charts", name), {}, ports)


def thing(api_version: str, kind: str, name: str, **body: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "jobs"}, **body}


SERVICE = {"name": "hooks", "namespace": "jobs", "path": "/mutate"}
CHART = [
    thing("rbac.authorization.k8s.io/v1", "ClusterRole", "jobs"),
    thing("v1", "ServiceAccount", "jobs"),
    thing("apps/v1", "Deployment", "jobs"),
    thing("v1", "Secret", "certificate"),
    thing("monitoring.coreos.com/v1", "ServiceMonitor", "jobs"),
    thing("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "jobs",
          webhooks=[{"name": "mjob.test", "clientConfig": {"service": SERVICE}}]),
    thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", "jobs.test",
          spec={"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": SERVICE}}}}),
]  # fmt: skip


def arranged(port: int | None = 7) -> Arranged:
    return arrange(CHART, "jobs", port, b"authority")


def test_a_chart_is_applied_in_waves_and_not_changed() -> None:
    before = copy.deepcopy(CHART)
    found = arranged()
    assert [item["kind"] for item in found.first] == [
        "Namespace", "CustomResourceDefinition", "ClusterRole", "ServiceAccount",
    ]  # fmt: skip
    assert [item["kind"] for item in found.hooks] == ["MutatingWebhookConfiguration"]
    assert found.crds == ["jobs.test"]
    assert before == CHART


def test_unneeded_and_unsupported_objects_are_omitted() -> None:
    assert set(arranged().left_out) == {("Deployment", "jobs"), ("Secret", "certificate"), ("ServiceMonitor", "jobs")}


def test_webhooks_and_conversions_call_this_host() -> None:
    here = {"url": "https://127.0.0.1:7/mutate", "caBundle": base64.b64encode(b"authority").decode()}
    found = arranged()
    assert found.hooks[0]["webhooks"][0]["clientConfig"] == here
    assert found.first[1]["spec"]["conversion"]["webhook"]["clientConfig"] == here


def test_without_a_webhook_server_there_are_no_webhooks() -> None:
    found = arranged(None)
    assert found.hooks == ()
    assert ("MutatingWebhookConfiguration", "jobs") in found.left_out


def test_cluster_scoped_objects_have_no_namespace() -> None:
    found = {item["kind"]: item["metadata"].get("namespace") for item in (*arranged().first, *arranged().hooks)}
    assert {kind for kind, namespace in found.items() if namespace} == {"ServiceAccount"}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_controllers_listen_on_loopback_only(name: str) -> None:
    found, place = controller(name), site(LAYOUT, known(name))
    text = json.dumps(found.config(place) or {})
    for value in re.findall(r'"([^"]*)"', text) + [flag.partition("=")[2] for flag in found.flags(place)]:
        address = ADDRESS.match(value)
        assert address is None or address[1] == "127.0.0.1", value
    assert "0.0.0.0" not in text  # noqa: S104 - the address that must not occur


@pytest.mark.parametrize("name", CONTROLLERS)
def test_leader_election_is_disabled_if_configurable(name: str) -> None:
    found, place = controller(name), site(LAYOUT, known(name))
    config = found.config(place)
    if config is not None:
        assert config["leaderElection"]["leaderElect"] is False
    else:
        assert name == "mpi-operator" or "--enable-leader-election=false" in found.flags(place)


@pytest.mark.parametrize("name", CONTROLLERS)
def test_files_of_a_controller_are_in_its_directory(name: str) -> None:
    component = of_controller(LAYOUT, known(name))
    assert component.argv[0] == f"/bin/{name}"
    assert component.environment["TMPDIR"] == f"/labs/one/controllers/{name}"
    assert component.port == (7 if "webhook" in controller(name).port_names else 8)
    # The search for stray processes of a lab matches the name, and a path of the lab in the arguments.
    assert name in STOP_ORDER
    assert any("/labs/one/" in argument for argument in component.argv[1:])


def test_kuberay_sends_requests_through_the_api_server() -> None:
    """Service names resolve only in a cluster network, which a lab does not have."""
    assert of_controller(LAYOUT, known("kuberay-operator")).environment["HTTP_PROXY"].startswith("http://127.0.0.1:")


def test_kueue_starts_last_and_stops_first() -> None:
    assert list(CONTROLLERS)[-1] == STOP_ORDER[0] == "kueue"
    assert list(CONTROLLERS).index("jobset") < list(CONTROLLERS).index("kubeflow-trainer")


def test_controllers_have_distinct_groups() -> None:
    groups = [group for found in CONTROLLERS.values() for group in found.groups]
    assert sorted(groups) == sorted(set(groups))


def test_an_unknown_controller_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(MlclusterError) as caught:
        controller("volcano")
    assert "jobset" in caught.value.hint
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_record_has_each_controller_once() -> None:
    bare = Record("running", Ports(1, 2, 3, 4, 5), {}, False, "up")
    both = bare.with_controller(known("jobset")).with_controller(known("kueue"))
    other = ControllerRecord("jobset", Path("/bin/new"), Path("/charts/new"), {"a": 1}, {})
    assert [found.name for found in both.with_controller(other).controllers] == ["jobset", "kueue"]
    assert both.with_controller(other).controller("jobset") == other
    assert both.without_controller("jobset").controllers == (known("kueue"),)
    assert bare.controller("kueue") is None
