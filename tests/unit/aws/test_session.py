"""Opening an account: the source of credentials, errors of AWS, and hints. HTTP responses are constructed."""

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import (
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    SSLError,
    UnauthorizedSSOTokenError,
)

from mlcluster.aws.botocore_errors import connection_error, masked, request_error
from mlcluster.aws.errors import AwsError, CredentialsError, NotAllowedError, Source
from mlcluster.aws.session import ATTEMPTS, has_credentials, open_account
from mlcluster.errors import MlclusterError
from mlcluster.progress import Silent
from tests.fakes.aws_responses import (
    ACCOUNT,
    CALLER,
    REGION,
    Answers,
    Refused,
    Wire,
    error_xml,
    identity_xml,
    no_network,
    no_settings,
    pages,
)

pytestmark = pytest.mark.unit

KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


class RecordedProgress(Silent):
    """Records the messages."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    no_network(monkeypatch)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that writes the AWS configuration and credentials files for boto3."""

    def write(config: str = "", credentials: str = "") -> None:
        for name, variable, text in (
            ("config", "AWS_CONFIG_FILE", config),
            ("credentials", "AWS_SHARED_CREDENTIALS_FILE", credentials),
        ):
            path = tmp_path / name
            path.write_text(text, encoding="utf-8")
            monkeypatch.setenv(variable, str(path))

    return write


def with_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


def test_keys_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(monkeypatch, (200, identity_xml()))
    with_keys(monkeypatch)
    account = open_account(REGION)
    assert (account.account_id, account.partition, account.caller) == (ACCOUNT, "aws", CALLER)
    assert account.source == Source("default", "env")
    assert wire.sent == [f"https://sts.{REGION}.amazonaws.com/"]


@pytest.mark.parametrize("partition", ["aws-cn", "aws-us-gov"])
def test_the_partition_comes_from_the_caller(partition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Wire(monkeypatch, (200, identity_xml(caller=CALLER.replace("arn:aws:", f"arn:{partition}:"))))
    with_keys(monkeypatch)
    assert open_account(REGION).partition == partition


def test_profile_of_the_credentials_file(config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Wire(monkeypatch, (200, identity_xml()))
    config(credentials=f"[team-a]\naws_access_key_id={KEY}\naws_secret_access_key={SECRET}\n")
    assert str(open_account(REGION, "team-a").source) == "profile team-a (shared-credentials-file)"


def test_unexpected_account(monkeypatch: pytest.MonkeyPatch) -> None:
    Wire(monkeypatch, (200, identity_xml()))
    with_keys(monkeypatch)
    with pytest.raises(AwsError) as caught:
        open_account(REGION, expected_account="444455556666")
    assert f"belongs to account {ACCOUNT}, the spec requires 444455556666" in caught.value.happened


def test_no_credentials(config: Any) -> None:
    config()
    assert not has_credentials(REGION)
    with pytest.raises(CredentialsError, match="found no AWS credentials") as caught:
        open_account(REGION)
    assert "aws configure sso" in caught.value.hint


def test_sso_session_that_was_never_started(config: Any) -> None:
    config(
        "[profile team-a]\nsso_session=corp\nsso_account_id=111122223333\nsso_role_name=platform\n"
        "[sso-session corp]\nsso_region=us-west-2\nsso_start_url=https://corp.example.com/start\n"
    )
    assert has_credentials(REGION, "team-a")
    with pytest.raises(CredentialsError) as caught:
        open_account(REGION, "team-a")
    assert "profile team-a (sso)" in caught.value.happened
    assert caught.value.hint == "Run `aws sso login --profile team-a`."


def test_missing_profile(config: Any) -> None:
    config()
    for ask in (has_credentials, open_account):
        with pytest.raises(CredentialsError, match="the AWS configuration has no profile nope"):
            ask(REGION, "nope")


def test_missing_profile_of_the_environment(config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    config()
    monkeypatch.setenv("AWS_PROFILE", "gone")
    with pytest.raises(CredentialsError, match="the AWS configuration has no profile gone"):
        open_account(REGION)


def test_incomplete_keys(config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    config()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    for ask in (has_credentials, open_account):
        with pytest.raises(CredentialsError, match="are incomplete"):
            ask(REGION)


def test_an_unreadable_configuration(config: Any) -> None:
    config("[profile a\nregion = x")
    with pytest.raises(CredentialsError, match="configuration is unreadable"):
        open_account(REGION)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("ExpiredToken", "have expired"),
        ("ExpiredTokenException", "have expired"),
        ("InvalidClientTokenId", "does not accept the credentials of the environment variable AWS_ACCESS_KEY_ID"),
        ("SignatureDoesNotMatch", "does not accept the credentials"),
        ("RequestExpired", "rejects the time stamp"),
    ],
)
def test_credentials_that_aws_rejects(code: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Wire(monkeypatch, (403, error_xml(code, f"canonical string: x-amz-security-token:{SECRET}")))
    with_keys(monkeypatch)
    with pytest.raises(CredentialsError, match=expected) as caught:
        open_account(REGION)
    assert caught.value.hint
    assert not any(part in f"{caught.value} {caught.value.hint}" for part in (KEY, SECRET, "canonical"))


def test_throttling_is_reported_and_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(monkeypatch, (400, error_xml("Throttling")), (400, error_xml("Throttling")), (200, identity_xml()))
    with_keys(monkeypatch)
    told = RecordedProgress()
    assert open_account(REGION, progress=told).account_id == ACCOUNT
    assert len(wire.sent) == 3
    assert told.lines == [
        f"AWS throttles sts GetCallerIdentity: attempt 2 of {ATTEMPTS} follows",
        f"AWS throttles sts GetCallerIdentity: attempt 3 of {ATTEMPTS} follows",
    ]


def test_throttling_of_all_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(monkeypatch, (400, error_xml("Throttling")))
    with_keys(monkeypatch)
    with pytest.raises(AwsError, match=f"throttled all {ATTEMPTS} attempts"):
        open_account(REGION)
    assert len(wire.sent) == ATTEMPTS


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (EndpointConnectionError(endpoint_url="https://sts"), "cannot be reached"),
        (ConnectTimeoutError(endpoint_url="https://sts"), "cannot be reached"),
        (SSLError(endpoint_url="https://sts", error="self-signed"), "is not trusted"),
    ],
)
def test_aws_is_unreachable(error: Exception, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Wire(monkeypatch, error)
    with_keys(monkeypatch)
    with pytest.raises(AwsError, match=expected) as caught:
        open_account(REGION)
    assert caught.value.hint


@pytest.mark.parametrize("code", ["AccessDenied", "AccessDeniedException", "UnauthorizedOperation"])
def test_a_missing_permission_is_named(code: str) -> None:
    message = "You are not authorized. Encoded authorization failure message: AbCd"
    account = Answers().on("service-quotas", "GetServiceQuota", Refused(code, message)).account()
    with pytest.raises(NotAllowedError) as caught:
        account.ask("service-quotas", "GetServiceQuota", ServiceCode="ec2", QuotaCode="L-1216C47A")
    assert caught.value.permission == "servicequotas:GetServiceQuota"
    assert "profile platform (sso)" in caught.value.happened
    assert "AbCd" not in str(caught.value)


def test_other_errors_keep_their_code_and_message() -> None:
    account = Answers().on("eks", "DescribeCluster", Refused("ResourceNotFoundException", "No cluster: a")).account()
    with pytest.raises(AwsError, match="ResourceNotFoundException: No cluster: a") as caught:
        account.ask("eks", "DescribeCluster", name="a")
    assert caught.value.code == "ResourceNotFoundException"


def test_every_page_is_read() -> None:
    answers = Answers().on("eks", "ListClusters", pages("clusters", ["a"], ["b"], ["c"]))
    assert answers.account().ask_all("eks", "ListClusters", "clusters") == ["a", "b", "c"]
    assert [parameters.get("nextToken") for _, parameters in answers.calls] == [None, "1", "2"]


@pytest.mark.parametrize(
    ("service", "operation", "parameters"),
    [
        ("eks", "DeleteCluster", {"name": "atlas"}),
        ("ec2", "TerminateInstances", {"InstanceIds": ["i-1"]}),
        ("iam", "CreateServiceLinkedRole", {"AWSServiceName": "spot.amazonaws.com"}),
    ],
)
def test_write_operations_are_refused(service: str, operation: str, parameters: dict[str, Any]) -> None:
    answers = Answers().on(service, operation, {})
    with pytest.raises(MlclusterError, match="is not a read operation"):
        answers.account().ask(service, operation, **parameters)
    assert answers.calls == []


def test_a_client_is_created_once() -> None:
    account = Answers().account()
    assert account.client("ec2") is account.client("ec2")
    assert account.client("ec2") is not account.client("eks")


@pytest.mark.parametrize(
    ("source", "name", "renewal"),
    [
        (Source("a", "sso"), "profile a (sso)", "aws sso login --profile a"),
        (Source("default", "sso"), "profile default (sso)", "aws sso login"),
        (Source("a", "login"), "profile a (login)", "aws login --profile a"),
        (Source("a", "assume-role"), "profile a (assume-role)", "aws sts get-caller-identity --profile a"),
        (Source("a", "env"), "the environment variable AWS_ACCESS_KEY_ID", "Export a new AWS_ACCESS_KEY_ID"),
        (Source(None, "iam-role"), "the role of this EC2 instance", "aws sts get-caller-identity"),
        (Source(None, "container-role"), "the role of this container or pod", "aws sts get-caller-identity"),
    ],
)
def test_every_source_has_a_name_and_a_renewal(source: Source, name: str, renewal: str) -> None:
    assert str(source) == name
    assert renewal in source.renewal


@pytest.mark.parametrize("error", [UnauthorizedSSOTokenError(), NoCredentialsError()])
def test_credentials_that_disappear_between_two_calls(error: Exception) -> None:
    expected = request_error(error, "eks", "DescribeCluster", REGION, Source("a", "sso"))
    assert isinstance(expected, CredentialsError)
    assert expected.doing == f"asking AWS (eks:DescribeCluster in {REGION})"
    assert "aws sso login --profile a" in expected.hint


def test_unexpected_exceptions_propagate() -> None:
    with pytest.raises(ZeroDivisionError):
        connection_error(ZeroDivisionError(), "asking", REGION, Source(None, ""))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"key {KEY} is bad", "key *** is bad"),
        (f"token {SECRET} is bad", "token *** is bad"),
        ("role arn:aws:iam::111122223333:role/aws-service-role/AWSServiceRoleForAmazonEKSNodegroup",) * 2,
    ],
)
def test_secrets_are_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


def test_write_operations_are_refused_on_a_real_client(monkeypatch: pytest.MonkeyPatch) -> None:
    no_settings(monkeypatch)
    with_keys(monkeypatch)
    with pytest.raises(AssertionError, match="a test would send POST"):
        open_account(REGION)
