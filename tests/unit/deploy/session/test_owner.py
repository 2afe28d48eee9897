"""One owner: the object that says so, and who is refused."""

from pathlib import Path

import pytest

from mlcluster.deploy.session import owner
from mlcluster.engine.home import StackHome
from mlcluster.errors import MlclusterError
from mlcluster.plan import names
from tests.fakes.api_server import FakeApiServer

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _no_backend_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLCLUSTER_BACKEND_URL", raising=False)


@pytest.fixture
def home(tmp_path: Path) -> StackHome:
    return StackHome("atlas", tmp_path)


def owner_of(server: FakeApiServer) -> dict[str, str] | None:
    found = server.get("ConfigMap", "mlcluster-owner", "kube-system")
    return found and found["data"]


def test_the_check_passes_on_a_cluster_without_an_owner_and_claims_nothing(home: StackHome) -> None:
    server = FakeApiServer()
    with server.kube() as kube:
        owner.check_owner(kube, "atlas", home)
    assert owner_of(server) is None


def test_a_claim_names_stack_backend_and_holder(home: StackHome) -> None:
    server = FakeApiServer()
    with server.kube() as kube:
        owner.claim(kube, "atlas", home)
        owner.check_owner(kube, "atlas", home)
    named = owner_of(server) or {}
    assert named["stack"] == "atlas"
    assert named["backend"] == home.backend_url
    assert "@" in named["holder"]
    found = server.get("ConfigMap", "mlcluster-owner", "kube-system") or {}
    assert found["metadata"]["labels"] == names.owned("atlas")


def test_claiming_again_is_fine(home: StackHome) -> None:
    server = FakeApiServer()
    with server.kube() as kube:
        owner.claim(kube, "atlas", home)
        owner.claim(kube, "atlas", home)
    assert (owner_of(server) or {})["stack"] == "atlas"


def test_another_stack_is_refused_with_the_owners_name(home: StackHome) -> None:
    with FakeApiServer().kube() as kube:
        owner.claim(kube, "atlas", home)
        with pytest.raises(MlclusterError) as caught:
            owner.check_owner(kube, "other", StackHome("other", home.root))
    assert f"it belongs to the stack atlas of {home.backend_url}, last used by " in caught.value.happened
    assert "run `mlcluster down` with the other spec first" in caught.value.hint


def test_the_same_name_with_another_backend_is_refused(home: StackHome, tmp_path: Path) -> None:
    with FakeApiServer().kube() as kube:
        owner.claim(kube, "atlas", home)
        with pytest.raises(MlclusterError, match="it belongs to the stack atlas of file://"):
            owner.check_owner(kube, "atlas", StackHome("atlas", tmp_path, backend_url="s3://team-state"))


def test_an_owner_that_says_nothing_is_refused(home: StackHome) -> None:
    server = FakeApiServer()
    metadata = {"name": "mlcluster-owner", "namespace": "kube-system"}
    server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    with server.kube() as kube, pytest.raises(MlclusterError, match=r"the stack \? of \?, last used by \?"):
        owner.check_owner(kube, "atlas", home)


def test_credentials_of_a_backend_are_written_nowhere(tmp_path: Path) -> None:
    url = "https://ann:hunter2@state.example.com/org?token=abc#x"
    home = StackHome("atlas", tmp_path, backend_url=url)
    server = FakeApiServer()
    with server.kube() as kube:
        owner.claim(kube, "atlas", home)
        owner.check_owner(kube, "atlas", home)
    named = owner_of(server) or {}
    assert named["backend"] == "https://state.example.com/org"
    assert "hunter2" not in str(server.objects)


def test_release_takes_the_claim_away_and_may_be_repeated(home: StackHome) -> None:
    server = FakeApiServer()
    with server.kube() as kube:
        owner.claim(kube, "atlas", home)
        owner.release(kube)
        owner.release(kube)
    assert owner_of(server) is None
