"""Command lines and configuration documents of the lab's components."""

import json
import re
from pathlib import Path

import pytest

from mlcluster.lab import configs, flags
from mlcluster.lab.components import of_controller
from mlcluster.lab.controllers.registry import CONTROLLERS
from mlcluster.lab.layout import Layout
from mlcluster.lab.ports import Ports
from mlcluster.lab.record import ControllerRecord
from mlcluster.lab.stages import BROKEN, RUN_FOR, stages

pytestmark = pytest.mark.unit

LAYOUT = Layout(Path("/labs/one"))
PORTS = Ports(etcd=1, etcd_peer=2, api=3, controllers=4, scheduler=5)
PROGRAM, MANIFESTS = Path("/bin/one"), Path("/charts/one")
CONTROLLER_PORTS = {"webhook": 7, "health": 8, "metrics": 9, "visibility": 10}


def controller_flags(name: str) -> list[str]:
    known = ControllerRecord(name, PROGRAM, MANIFESTS, {}, CONTROLLER_PORTS)
    return list(of_controller(LAYOUT, known).argv[1:])


ALL = {
    "etcd": flags.etcd(LAYOUT, PORTS),
    "apiserver": flags.apiserver(LAYOUT, PORTS),
    "controllers": flags.controllers(LAYOUT, PORTS),
    "scheduler": flags.scheduler(LAYOUT, PORTS),
    "kwok": flags.kwok(LAYOUT),
    **{name: controller_flags(name) for name in CONTROLLERS},
}
ADDRESS = re.compile(r"-(?:address|urls|servers|cluster)=")


def value(argv: list[str], flag: str) -> str:
    return next(argument.partition("=")[2] for argument in argv if argument.startswith(f"--{flag}="))


@pytest.mark.parametrize("name", ALL)
def test_every_address_is_loopback(name: str) -> None:
    for argument in ALL[name]:
        if ADDRESS.search(argument):
            assert "127.0.0.1" in argument or argument == "--server-address="  # kwok serves nothing
        assert "0.0.0.0" not in argument  # noqa: S104 - the address that must not occur
        assert "[::]" not in argument


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("apiserver", "bind-address"),
        ("controllers", "bind-address"),
        ("scheduler", "bind-address"),
        ("etcd", "listen-client-urls"),
        ("etcd", "listen-peer-urls"),
    ],
)
def test_every_listener_has_an_address(name: str, flag: str) -> None:
    assert "127.0.0.1" in value(ALL[name], flag)


@pytest.mark.parametrize("name", ALL)
def test_files_are_in_the_private_directory_and_flags_are_unique(name: str) -> None:
    given = [argument.partition("=")[0] for argument in ALL[name]]
    assert sorted(given) == sorted(set(given))
    for argument in ALL[name]:
        path = argument.partition("=")[2]
        assert not path.startswith("/") or path.startswith("/labs/one/")


@pytest.mark.parametrize(("listener", "prefix"), [("client", ""), ("peer", "peer-")])
def test_etcd_requires_client_certificates(listener: str, prefix: str) -> None:
    assert f"--{prefix}client-cert-auth" in ALL["etcd"]
    assert value(ALL["etcd"], f"listen-{listener}-urls").startswith("https://")


def test_each_listener_of_etcd_has_its_own_authority() -> None:
    trusted = [value(ALL["etcd"], flag) for flag in ("trusted-ca-file", "peer-trusted-ca-file")]
    assert len({*trusted, value(ALL["apiserver"], "client-ca-file")}) == 3


def test_quiet_mode_is_complete() -> None:
    """Without heartbeats the taint plugin must be off and the grace long, and kwok must write no leases."""
    assert value(ALL["apiserver"], "disable-admission-plugins") == "TaintNodesByCondition"
    assert value(ALL["controllers"], "node-monitor-grace-period") == "87600h"
    assert "-node-lifecycle-controller" not in value(ALL["controllers"], "controllers").split(",")
    assert configs.kwok()[0]["options"]["nodeLeaseDurationSeconds"] == 0


def test_extended_resource_toleration_is_optional() -> None:
    with_it = flags.apiserver(LAYOUT, PORTS, extended_resource_toleration=True)
    assert value(with_it, "enable-admission-plugins") == "NodeRestriction,ExtendedResourceToleration"
    assert value(ALL["apiserver"], "enable-admission-plugins") == "NodeRestriction"


@pytest.mark.parametrize(
    "kept",
    [
        "job-controller",
        "cronjob-controller",
        "deployment-controller",
        "garbage-collector-controller",
        "namespace-controller",
        "resourcequota-controller",
        "serviceaccount-controller",
        "taint-eviction-controller",
        "disruption-controller",
    ],
)
def test_required_controllers_stay_enabled(kept: str) -> None:
    assert kept not in flags.CONTROLLERS_OFF


def test_rbac_without_anonymous_requests() -> None:
    assert value(ALL["apiserver"], "authorization-mode") == "Node,RBAC"
    assert value(ALL["apiserver"], "anonymous-auth") == "false"
    assert value(ALL["controllers"], "use-service-account-credentials") == "true"


def test_kwok_serves_no_port_and_simulates_only_labeled_nodes() -> None:
    """Kwok listens on every address if it has a node port and no address."""
    options = configs.kwok()[0]["options"]
    assert "--server-address=" in ALL["kwok"]
    assert options["nodePort"] == 0
    assert "serverAddress" not in options
    assert options["nodeIP"] == "127.0.0.1"
    assert options["manageNodesWithLabelSelector"] == "type=kwok"


def test_a_pod_ends_only_with_the_annotation() -> None:
    stage = next(stage for stage in stages() if stage["metadata"]["name"] == "pod-complete")
    annotation = f'.metadata.annotations["{RUN_FOR}"]'
    assert {"key": annotation, "operator": "Exists"} in stage["spec"]["selector"]["matchExpressions"]
    assert stage["spec"]["delay"]["durationFrom"] == {"expressionFrom": annotation}


def test_a_broken_node_is_not_repaired() -> None:
    stage = next(stage for stage in stages() if stage["metadata"]["name"] == "node-initialize")
    wanted = {"key": f'.metadata.annotations["{BROKEN}"]', "operator": "DoesNotExist"}
    assert wanted in stage["spec"]["selector"]["matchExpressions"]


def test_documents_are_concatenated() -> None:
    text = configs.as_yaml({"a": 1}, {"b": 2}).decode()
    assert [json.loads(part) for part in text.split("---")] == [{"a": 1}, {"b": 2}]


def test_kubeconfig_contains_user_and_server() -> None:
    document = configs.kubeconfig("admin", "https://127.0.0.1:3", b"ca", b"certificate", b"key")
    assert document["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:3"
    assert document["contexts"][0]["context"] == {"cluster": "lab", "user": "admin"}
    assert document["users"][0]["user"] == {"client-certificate-data": "Y2VydGlmaWNhdGU=", "client-key-data": "a2V5"}
