"""The search at the end of `down`: who is asked, how often, and what is said. The account's answers are constructed."""

from typing import Any

import pytest

from mlcluster.aws.session import Account
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.deploy.teardown.account_search import ATTEMPTS, PAUSE_SECONDS, Search, search
from mlcluster.errors import MlclusterError
from mlcluster.report.screen import Screen
from tests.fakes.aws_responses import ACCOUNT, Answers, Parameters, Refused, no_network
from tests.fakes.remembering import workspace_of
from tests.specs import LOCAL

pytestmark = pytest.mark.unit

OURS = {"Key": "mlcluster.dev/cluster", "Value": "atlas"}
VOLUME = {"VolumeId": "vol-0a", "Tags": [OURS], "Size": 8, "VolumeType": "gp3", "State": "available"}
KEPT = {**VOLUME, "VolumeId": "vol-kept"}
LISTED = [
    ("autoscaling", "DescribeAutoScalingGroups", "AutoScalingGroups"),
    ("iam", "ListInstanceProfiles", "InstanceProfiles"),
    ("iam", "ListRoles", "Roles"),
]
"""Where the service's model wants an empty list and no empty answer."""


class Nothing(dict[Any, Any]):
    """Answers of an account that holds nothing: an empty answer to every question."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key, {})


class Opened:
    """Stands for `open_account`: keeps how it was called, and counts the pauses between the looks."""

    def __init__(self) -> None:
        self.answers = Answers()
        self.answers._given = Nothing()
        self.answers.on("eks", "DescribeCluster", Refused("ResourceNotFoundException", status=404))
        for service, operation, key in LISTED:
            self.answers.on(service, operation, {key: []})
        self.calls: list[tuple[Any, ...]] = []
        self.pauses: list[float] = []

    def __call__(self, *called: Any, expected_account: str | None, progress: Any) -> Account:
        self.calls.append((*called, expected_account))
        return self.answers.account()

    def volumes(self, *looks: list[dict[str, Any]]) -> None:
        """What each look finds; the last one stays."""
        left = iter(looks[:-1])

        def answer(_parameters: Parameters) -> dict[str, Any]:
            return {"Volumes": next(left, looks[-1])}

        self.answers.on("ec2", "DescribeVolumes", answer)

    def search(self, workspace: Workspace, *kept: str) -> Search:
        screen = Screen("text", color=False)
        return search(workspace, "vpc-0a", kept, screen, opened=self, pause=self.pauses.append)


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    no_network(monkeypatch)


@pytest.fixture
def opened() -> Opened:
    """An account in which nothing is left."""
    return Opened()


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    """A spec that names its account."""
    return workspace_of(target={"accountId": ACCOUNT, "profile": "platform"})


def test_nothing_is_left(opened: Opened, workspace: Workspace) -> None:
    found = opened.search(workspace)
    assert found.left == ()
    assert "atlas in us-west-2: nothing left" in found.text
    assert found.document["searched"] is True
    assert found.document["leftovers"]["left"] == []
    assert opened.calls == [("us-west-2", "platform", ACCOUNT)]
    assert opened.pauses == []


def test_what_aws_is_about_to_remove_is_looked_for_again(opened: Opened, workspace: Workspace) -> None:
    opened.volumes([VOLUME], [VOLUME], [])
    found = opened.search(workspace)
    assert found.left == ()
    assert "nothing left" in found.text
    assert opened.pauses == [PAUSE_SECONDS, PAUSE_SECONDS]


def test_what_stays_is_told_with_its_command(opened: Opened, workspace: Workspace) -> None:
    opened.volumes([VOLUME])
    found = opened.search(workspace)
    assert found.left == ("vol-0a",)
    assert "aws ec2 delete-volume --volume-id vol-0a" in found.text
    assert [thing["id"] for thing in found.document["leftovers"]["left"]] == ["vol-0a"]
    assert opened.pauses == [PAUSE_SECONDS] * (ATTEMPTS - 1)


def test_what_is_kept_on_purpose_is_not_left(opened: Opened, workspace: Workspace) -> None:
    opened.volumes([KEPT])
    found = opened.search(workspace, "vol-kept")
    assert found.left == ()
    assert "vol-kept" in found.text
    assert "nothing left" in found.text
    assert opened.pauses == []


def test_what_the_account_does_not_tell_is_said(opened: Opened, workspace: Workspace) -> None:
    opened.answers.on("ec2", "DescribeVolumes", Refused("UnauthorizedOperation", status=403))
    found = opened.search(workspace)
    assert found.left == ()
    assert "nothing left" not in found.text
    assert "nothing found, but" in found.text
    assert "allow ec2:DescribeVolumes" in found.text
    assert found.document["leftovers"]["unknown"]


def test_without_credentials_nobody_is_asked(workspace: Workspace) -> None:
    """Of the real `open_account`; the profile has to exist, so the spec names none."""
    found = search(workspace_of(), None, (), Screen("text", color=False))
    assert found == Search((), found.text, {"searched": False})
    assert "not searched" in found.text
    assert "no AWS credentials" in found.text


def test_credentials_that_aws_does_not_take_are_an_error(workspace: Workspace) -> None:
    def refused(*_: Any, **__: Any) -> Account:
        raise MlclusterError("looking for AWS credentials", "they have expired", "aws sso login")

    with pytest.raises(MlclusterError, match="they have expired"):
        search(workspace, None, (), Screen("text", color=False), opened=refused)


def test_other_targets_have_no_account() -> None:
    with pytest.raises(MlclusterError, match="the target local has no account"):
        search(workspace_of(target=LOCAL), None, (), Screen("text", color=False))
