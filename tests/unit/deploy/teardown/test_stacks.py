"""Taking the platform down when what a chart has left is in the way."""

from dataclasses import replace
from typing import Any, cast

import pytest

from mlcluster.deploy.session.stack import Stack
from mlcluster.deploy.teardown.stacks import destroy_platform, show
from mlcluster.engine.failures import ResourcesFailedError
from mlcluster.engine.identity import Identity
from mlcluster.engine.state import Resource
from mlcluster.report.screen import Screen
from tests.fakes.api_server import FakeApiServer
from tests.fakes.installed import put, serve
from tests.fakes.remembering import held

pytestmark = pytest.mark.unit
KEDA = replace(held("Release/keda"), identity=Identity("Release", "keda", "keda"))
SPACE = held("Namespace/keda")
METRICS = "v1beta1.external.metrics.k8s.io"


class Engine:
    """A stack whose namespace does not go while the metrics API that KEDA left is there."""

    def __init__(self, server: FakeApiServer, *, releases_go: bool = True) -> None:
        self.held = [KEDA, SPACE]
        self.tries = 0
        self._server = server
        self._releases_go = releases_go

    def exists(self) -> bool:
        return True

    def resources(self) -> list[Resource]:
        return list(self.held)

    def destroy(self, _on_event: object) -> None:
        self.tries += 1
        if self._releases_go:
            self.held = [SPACE]
        if self._server.get("APIService", METRICS) is not None:
            raise ResourcesFailedError("taking the cluster down", [("Namespace/keda", "it is still being deleted")])
        self.held = []

    def remove_stack(self) -> None:
        assert not self.held


@pytest.fixture
def server() -> FakeApiServer:
    server = FakeApiServer()
    spec = {"service": {"namespace": "keda", "name": "keda-operator-metrics-apiserver"}}
    put(server, "apiregistration.k8s.io/v1", "APIService", METRICS, spec=spec)
    return server


def take_down(server: FakeApiServer, engine: Engine) -> None:
    platform, screen = Stack("platform", cast("Any", engine)), Screen("text", color=False)
    destroy_platform(server.kube(), platform, screen, nodes=True)


def test_what_an_uninstalled_chart_left_goes_and_it_is_tried_once_more(
    server: FakeApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = Engine(server)
    take_down(server, engine)
    assert engine.tries == 2
    told = capsys.readouterr().err
    assert "Namespace/keda: it is still being deleted" in told
    assert f"removed APIService {METRICS}, which keda left behind: its Service has no endpoint" in told


def test_what_users_have_of_a_component_is_shown(server: FakeApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Uninstalled with its definitions, KEDA takes what anybody in the cluster has made of them."""
    serve(server, "keda.sh/v1alpha1/ScaledObject", "scaledobjects")
    put(server, "keda.sh/v1alpha1", "ScaledObject", "theirs", namespace="default")
    stacks = [Stack("platform", cast("Any", Engine(server)))]
    show(Screen("text", color=False), server.kube(), stacks)
    assert capsys.readouterr().err.splitlines() == [
        "platform: 2 to delete",
        "  - Release/keda with 1 ScaledObject objects (theirs)",
        "  - Namespace/keda",
    ]
    show(Screen("text", color=False), None, stacks)
    assert "Release/keda" not in capsys.readouterr().err


def test_while_no_release_has_gone_nothing_is_taken_away(server: FakeApiServer) -> None:
    engine = Engine(server, releases_go=False)
    with pytest.raises(ResourcesFailedError):
        take_down(server, engine)
    assert engine.tries == 1
    assert server.get("APIService", METRICS) is not None
