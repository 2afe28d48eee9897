"""Responses that are not from AWS: a real botocore client against an HTTP server on the loopback interface."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.endpoint
import pytest

from mlcluster.aws.errors import AwsError
from mlcluster.aws.session import ATTEMPTS, Account, has_credentials, open_account
from tests.fakes.aws_responses import REGION, identity_xml, no_settings
from tests.fakes.web_page import TORN, WELL_FORMED, Proxy, serve_proxy

pytestmark = pytest.mark.unit

CALLS = [
    ("sts", "GetCallerIdentity", {}),  # query
    ("ec2", "DescribeVpcs", {}),  # ec2
    ("eks", "DescribeCluster", {"name": "atlas"}),  # rest-json
    ("service-quotas", "GetServiceQuota", {"ServiceCode": "ec2", "QuotaCode": "L-1216C47A"}),  # json
]
"""One operation for each protocol of the services that mlcluster uses."""


class _NoTime:
    """Replaces the time module where botocore waits between attempts."""

    @staticmethod
    def sleep(_seconds: float) -> None:
        return None


def settings(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Set keys in the environment, an empty configuration, no proxy, and no wait between attempts."""
    no_settings(patch)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        patch.delenv(name, raising=False)
    patch.setenv("AWS_ACCESS_KEY_ID", "testing")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    patch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "credentials"))
    patch.setattr(botocore.endpoint, "time", _NoTime)


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings(monkeypatch, tmp_path)


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    """Start the server behind every endpoint."""
    with serve_proxy() as running:
        yield running


@pytest.fixture(scope="module")
def account(proxy: Proxy, tmp_path_factory: pytest.TempPathFactory) -> Account:
    """Return an account with clients of botocore; the proxy passed the first request."""
    proxy.answers(200, identity_xml(), "text/xml")
    with pytest.MonkeyPatch.context() as patch:
        settings(patch, tmp_path_factory.mktemp("aws"))
        patch.setenv("AWS_ENDPOINT_URL", proxy.url)
        made = open_account(REGION)
        for service, *_ in CALLS:
            made.client(service)
    return made


@pytest.mark.parametrize(("service", "operation", "parameters"), CALLS, ids=[call[0] for call in CALLS])
@pytest.mark.parametrize("page", [TORN, WELL_FORMED], ids=["torn", "well-formed"])
@pytest.mark.parametrize("status", [200, 302, 403, 407])
def test_web_page_of_a_proxy(
    status: int, page: str, service: str, operation: str, parameters: dict[str, Any], account: Account, proxy: Proxy
) -> None:
    proxy.answers(status, page)
    with pytest.raises(AwsError) as caught:
        account.ask(service, operation, **parameters)
    assert caught.value.happened == f"the response is a web page (HTTP {status}), not a response of AWS"
    assert "HTTPS_PROXY" in caught.value.hint
    assert operation in caught.value.doing
    assert len(proxy.seen) == 1


@pytest.mark.parametrize(("service", "operation", "parameters"), CALLS, ids=[call[0] for call in CALLS])
@pytest.mark.parametrize("page", [TORN, WELL_FORMED], ids=["torn", "well-formed"])
def test_web_page_of_a_gateway_is_retried(
    page: str, service: str, operation: str, parameters: dict[str, Any], account: Account, proxy: Proxy
) -> None:
    proxy.answers(502, page)
    with pytest.raises(AwsError) as caught:
        account.ask(service, operation, **parameters)
    assert caught.value.happened == "the response is HTTP 502 (Bad Gateway) without an AWS error"
    assert len(proxy.seen) == ATTEMPTS


@pytest.mark.parametrize("body", ["Access denied by policy 17", "{", '{"detail": "sign in"}', "<a><b></a>", ""])
@pytest.mark.parametrize("status", [200, 403])
def test_other_invalid_responses(status: int, body: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy.answers(status, body, "")
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    with pytest.raises(AwsError) as caught:
        open_account(REGION)
    assert "policy 17" not in str(caught.value)


def test_web_page_during_pagination(account: Account, proxy: Proxy) -> None:
    proxy.answers(200, WELL_FORMED)
    with pytest.raises(AwsError, match="web page"):
        account.ask_all("eks", "ListClusters", "clusters")


def test_web_page_instead_of_credentials(proxy: Proxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The internal clients of botocore, which fetch credentials, use the same proxy."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    profile = "[profile a]\nrole_arn=arn:aws:iam::111122223333:role/a\nsource_profile=b\n"
    keys = "[profile b]\naws_access_key_id=testing\naws_secret_access_key=testing\n"
    (tmp_path / "config").write_text(profile + keys, encoding="utf-8")
    proxy.answers(200, WELL_FORMED)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    with pytest.raises(AwsError, match="web page"):
        open_account(REGION, "a")
    assert len(proxy.seen) == 1


@pytest.mark.parametrize(
    "command",
    ["/nonexistent/credentials", "echo no-json", "false", 'echo {"Version":1}', 'echo {"Version":7}', "echo []"],
)
def test_failing_credential_process(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    (tmp_path / "config").write_text(f"[profile a]\ncredential_process={command}\n", encoding="utf-8")
    for ask in (has_credentials, open_account):
        with pytest.raises(AwsError) as caught:
            ask(REGION, "a")
        assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_ENDPOINT_URL", "no url"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_CA_BUNDLE", "/nonexistent/bundle.pem"),
        ("HTTPS_PROXY", "http://127.0.0.1:1"),
        ("HTTPS_PROXY", "http://[bad"),
        ("AWS_DEFAULTS_MODE", "wild"),
    ],
)
def test_unusable_settings(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    if name != "AWS_ENDPOINT_URL":
        monkeypatch.setenv("AWS_ENDPOINT_URL", "https://127.0.0.1:1")
    with pytest.raises(AwsError):
        open_account(REGION)
