"""The cloud's stack: what it tells while there is a control plane, and the kubeconfig that comes of it."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from mlcluster.deploy.session import cloud_stack
from mlcluster.deploy.session.stack import home_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.errors import MlclusterError
from mlcluster.progress import Silent
from tests.fakes.eks_provider import kubeconfig
from tests.fakes.remembering import CONTROL_PLANE, RememberingEngine, held, workspace_of
from tests.specs import LOCAL

pytestmark = pytest.mark.unit

KUBECONFIG = {"apiVersion": "v1", "kind": "Config", "clusters": []}
TOLD: dict[str, Any] = {"kubeconfig": json.dumps(KUBECONFIG), "values": {"FileSystem/data": {"id": "fs-1"}}}


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    """One pool of CPU nodes."""
    return workspace_of()


@pytest.fixture
def root(workspace: Workspace) -> Path:
    """The stack's own directory, as an engine has made it."""
    made = home_of(workspace).root
    made.mkdir(parents=True)
    return made


def test_the_stage_is_the_eks_project_of_this_cluster(workspace: Workspace) -> None:
    stack = cloud_stack.open_cloud_stack(workspace, Path("pulumi"), Silent(), "uid-7")
    assert (stack.title, stack.engine.project, stack.engine.home.name) == ("AWS", "mlcluster-eks", "atlas")
    assert (stack.engine.settings.cluster_uid, stack.engine.settings.target) == ("uid-7", "eks")


def test_other_targets_have_no_cloud_stack() -> None:
    with pytest.raises(MlclusterError, match="the target local has none"):
        cloud_stack.open_cloud_stack(workspace_of(target=LOCAL), Path("pulumi"), Silent())


def test_outputs_are_told_while_there_is_a_control_plane() -> None:
    engine = RememberingEngine("AWS", [], [held("Vpc/atlas"), CONTROL_PLANE], TOLD)
    assert cloud_stack.outputs_of(engine.stack) == TOLD
    assert cloud_stack.values_of(engine.stack) == {"FileSystem/data": {"id": "fs-1"}}


@pytest.mark.parametrize("there", [True, False])
def test_a_stack_without_control_plane_tells_nothing(there: bool) -> None:
    """After a `down` that failed at the VPC the outputs still stand in the state, and lead to nothing."""
    engine = RememberingEngine("AWS", [], [held("Vpc/atlas")], TOLD, there=there)
    assert cloud_stack.outputs_of(engine.stack) == {}
    assert cloud_stack.values_of(engine.stack) == {}


def test_a_stack_of_before_there_were_values() -> None:
    engine = RememberingEngine("AWS", [], [CONTROL_PLANE], {"kubeconfig": "{}"})
    assert cloud_stack.values_of(engine.stack) == {}


@pytest.mark.parametrize("outputs", [{}, {"kubeconfig": None}, {"kubeconfig": ""}])
def test_without_a_kubeconfig_none_is_written(workspace: Workspace, root: Path, outputs: dict[str, Any]) -> None:
    assert cloud_stack.write_kubeconfig(workspace, outputs) is None
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("told", [KUBECONFIG, json.dumps(KUBECONFIG)])
def test_the_kubeconfig_is_for_the_owners_eyes_alone(workspace: Workspace, root: Path, told: object) -> None:
    path = cloud_stack.write_kubeconfig(workspace, {"kubeconfig": told})
    assert path == root / "kubeconfig"
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text("utf-8")) == KUBECONFIG


def test_it_is_written_only_when_it_has_changed(workspace: Workspace, root: Path) -> None:
    path = cast("Path", cloud_stack.write_kubeconfig(workspace, {"kubeconfig": KUBECONFIG}))
    first = path.stat()
    cloud_stack.write_kubeconfig(workspace, {"kubeconfig": KUBECONFIG})
    assert path.stat().st_ino == first.st_ino
    assert path.stat().st_mtime_ns == first.st_mtime_ns
    cloud_stack.write_kubeconfig(workspace, {"kubeconfig": {**KUBECONFIG, "clusters": [{"name": "new"}]}})
    assert json.loads(path.read_text("utf-8"))["clusters"] == [{"name": "new"}]
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in root.iterdir()] == ["kubeconfig"]


TOKEN = ["--region", "us-west-2", "eks", "get-token", "--cluster-name", "atlas", "--output", "json"]


def _arguments(path: Path | None) -> list[str]:
    assert path is not None
    config = json.loads(path.read_text("utf-8"))
    return list(config["users"][0]["user"]["exec"]["args"])


@pytest.mark.parametrize("exported", [None, "another"], ids=["as-exported", "with-another-profile"])
def test_the_profile_of_the_spec_reaches_the_credential_plugin(exported: str | None) -> None:
    workspace = workspace_of(target={"profile": "team-a"})
    home_of(workspace).root.mkdir(parents=True)
    told = kubeconfig("https://api", "Q0E=", "us-west-2", "atlas", exported)
    path = cloud_stack.write_kubeconfig(workspace, {"kubeconfig": json.dumps(told)})
    assert _arguments(path) == [*TOKEN, "--profile", "team-a"]


@pytest.mark.parametrize(
    "arguments", [["--profile=x", *TOKEN], ["--profile", "x", *TOKEN, "--profile=y"], [*TOKEN, "--profile", "x"]]
)
def test_the_profile_of_the_spec_is_the_only_one(arguments: list[str]) -> None:
    config = {"users": [{"name": "a", "user": {"exec": {"command": "aws", "args": arguments}}}]}
    (user,) = cloud_stack.with_profile(config, "team-a")["users"]
    assert user["user"]["exec"]["args"] == [*TOKEN, "--profile", "team-a"]


def test_without_a_profile_the_environment_decides(workspace: Workspace, root: Path) -> None:
    told = kubeconfig("https://api", "Q0E=", "us-west-2", "atlas")
    assert root.is_dir()
    assert _arguments(cloud_stack.write_kubeconfig(workspace, {"kubeconfig": told})) == TOKEN


def test_other_credential_plugins_get_no_profile() -> None:
    config = {"users": [{"name": "a", "user": {"exec": {"command": "other", "args": []}}}, {"name": "b", "user": {}}]}
    assert cloud_stack.with_profile(config, "team-a") == config
