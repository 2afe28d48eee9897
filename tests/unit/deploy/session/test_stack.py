"""Where the stacks of a spec live, and what a run is for."""

import pytest

from mlcluster.deploy.session.stack import home_of, settings_of
from tests.fakes.remembering import workspace_of
from tests.specs import EXISTING, LOCAL, SYSTEM, Data

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _no_backend_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLCLUSTER_BACKEND_URL", raising=False)


def test_state_is_in_files_unless_the_spec_says_where() -> None:
    home = home_of(workspace_of())
    assert home.name == "atlas"
    assert home.owns_backend
    assert home.secrets_provider is None
    shared = {"backend": "s3://atlas-state", "secretsProvider": "awskms://alias/atlas"}
    home = home_of(workspace_of(state=shared))
    assert (home.backend_url, home.secrets_provider) == ("s3://atlas-state", "awskms://alias/atlas")
    assert not home.owns_backend


def test_the_environment_wins_over_the_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCLUSTER_BACKEND_URL", "s3://elsewhere")
    assert home_of(workspace_of(state={"backend": "s3://atlas-state"})).backend_url == "s3://elsewhere"


@pytest.mark.parametrize(
    ("target", "provider"),
    [({"kind": "eks"}, "builtin"), (EXISTING, "builtin"), (LOCAL, "builtin")],
    ids=["eks", "existing", "local"],
)
def test_what_a_run_is_for(target: Data, provider: str) -> None:
    workspace = workspace_of(SYSTEM, target=None if target["kind"] == "eks" else target)
    found = settings_of(workspace, "uid-7")
    assert (found.cluster_uid, found.provider, found.target, found.spec_name) == (
        "uid-7", provider, target["kind"], "atlas",
    )  # fmt: skip
    assert settings_of(workspace, "").cluster_uid == ""
