"""A read-only session with an AWS account. boto3 is imported on first use."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from mlcluster.aws.botocore_errors import (
    PROXY_HINT,
    THROTTLED,
    botocore_exceptions,
    connection_error,
    reject_web_page,
    request_error,
)
from mlcluster.aws.errors import AwsError, CredentialsError, NotAllowedError, Source, missing_credentials
from mlcluster.errors import MlclusterError
from mlcluster.progress import Progress, Silent

ATTEMPTS = 5
CONNECT_SECONDS = 5
READ_SECONDS = 30
_READ_PREFIXES = ("Describe", "Get", "List")
_FINDING_CREDENTIALS = "looking for AWS credentials"
_NO_METADATA = "AWS_EC2_METADATA_DISABLED"


@dataclass(slots=True)
class Account:
    """One account in one region, with credentials that AWS has accepted.

    Attributes:
        region: e.g. us-west-2.
        profile: the requested profile; None for the profile of the environment.
        account_id: twelve digits.
        partition: aws, aws-cn or aws-us-gov.
        caller: ARN of the principal that the credentials belong to.
        source: the source of the credentials.
    """

    region: str
    profile: str | None
    account_id: str
    partition: str
    caller: str
    source: Source
    _make: Callable[[str], Any]
    _clients: dict[str, Any] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def client(self, service: str) -> Any:
        """Return the boto3 client of a service, created once and thread-safe. It refuses operations that change AWS."""
        with self._lock:  # a boto3 session, unlike its clients, is not thread-safe
            if service not in self._clients:
                made = self._make(service)
                made.meta.events.register_first("before-parameter-build.*.*", _only_read)
                self._clients[service] = made
            return self._clients[service]

    def ask(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        """Return the response to one request.

        Args:
            service: its name in boto3, e.g. "service-quotas".
            operation: its name in the AWS API, e.g. "GetServiceQuota".

        Raises:
            AwsError: the request failed; `code` is the error code of AWS. NotAllowedError and CredentialsError are
                subclasses.
        """
        from botocore import xform_name

        client = self._client_for(service, operation)
        call = getattr(client, xform_name(operation))
        try:
            answer: dict[str, Any] = call(**parameters)
        except botocore_exceptions() as error:
            raise request_error(error, service, operation, self.region, self.source) from None
        return answer

    def _client_for(self, service: str, operation: str) -> Any:
        """Return the client. Errors of botocore for invalid settings become the AwsError of the operation."""
        try:
            return self.client(service)
        except botocore_exceptions() as error:
            raise request_error(error, service, operation, self.region, self.source) from None

    def ask_all(self, service: str, operation: str, key: str, **parameters: Any) -> list[Any]:
        """Return the entries under `key` of all pages of a response.

        Raises:
            AwsError: see `ask`.
        """
        from botocore import xform_name

        paginator = self._client_for(service, operation).get_paginator(xform_name(operation))
        try:
            pages = paginator.paginate(**parameters)
            return [entry for page in pages for entry in page.get(key, [])]
        except botocore_exceptions() as error:
            raise request_error(error, service, operation, self.region, self.source) from None


def open_account(
    region: str, profile: str | None = None, expected_account: str | None = None, progress: Progress | None = None
) -> Account:
    """Find credentials, and ask AWS for the account and principal that they belong to.

    Args:
        region: the region of all requests.
        profile: a profile of the AWS configuration; None for AWS_PROFILE, the environment, or the default profile.
        expected_account: the only accepted account (twelve digits).
        progress: reports throttled attempts.

    Raises:
        CredentialsError: no credentials were found, they have expired, or AWS does not accept them. The error names
            their source and the command that renews them.
        AwsError: AWS cannot be reached, or the account is not the expected one.
    """
    session = _session(region, profile)
    source = _source(session, profile, region)
    make = _maker(session, region, progress or Silent())
    account = Account(region, profile, "", "aws", "", source, make)
    identity = account.ask("sts", "GetCallerIdentity")
    if not str(identity.get("Arn", "")).startswith("arn:") or not identity.get("Account"):
        raise AwsError("checking the AWS account", "the response names no account", PROXY_HINT)
    account.account_id, account.caller = identity["Account"], identity["Arn"]
    account.partition = account.caller.split(":")[1]
    if expected_account and account.account_id != expected_account:
        raise AwsError(
            "checking the AWS account",
            f"{source} belongs to account {account.account_id}, the spec requires {expected_account}",
            "Set `target.profile` or AWS_PROFILE to a profile of that account, or correct `target.accountId`.",
        )
    return account


def has_credentials(region: str, profile: str | None = None) -> bool:
    """Return whether credentials are configured, without a request to AWS. Expired credentials count.

    On an EC2 instance without other credentials, this function queries the link-local metadata service.

    Raises:
        CredentialsError: the profile does not exist, or the configuration is unreadable.
    """
    session = _session(region, profile)._session  # noqa: SLF001 -- boto3 does not expose the credential providers
    if os.environ.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") or os.environ.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"):
        return True
    try:
        for provider in session.get_component("credential_provider").providers:
            if provider.METHOD == "iam-role" and (os.environ.get(_NO_METADATA, "").lower() == "true" or not _on_ec2()):
                continue
            if provider.load() is not None:
                return True
    except botocore_exceptions() as error:
        raise connection_error(error, _FINDING_CREDENTIALS, region, Source(profile, "")) from None
    return False


def require_credentials(region: str, profile: str | None = None) -> None:
    """Raise the error of missing credentials if none are configured; see `has_credentials`.

    Raises:
        CredentialsError: no credentials exist, the profile does not exist, or the configuration is unreadable.
    """
    if not has_credentials(region, profile):
        session = _session(region, profile)
        raise missing_credentials(
            _FINDING_CREDENTIALS, Source(profile or session.profile_name, _configured_method(session))
        )


def _session(region: str, profile: str | None) -> Any:
    import boto3

    try:
        session = boto3.Session(profile_name=profile, region_name=region)
        _ = session.profile_name, session._session.full_config  # noqa: SLF001 -- reads the configuration now
        session.events.register("before-parse", reject_web_page)  # for the clients that fetch credentials, too
    except botocore_exceptions() as error:
        raise connection_error(
            error, _FINDING_CREDENTIALS, region, Source(profile or os.environ.get("AWS_PROFILE"), "")
        ) from None
    return session


def _source(session: Any, profile: str | None, region: str) -> Source:
    """Return the source of the credentials. An error names the source that the configuration implies."""
    name = profile or session.profile_name
    guessed = Source(name, _configured_method(session))
    try:
        found = session.get_credentials()
    except botocore_exceptions() as error:
        raise connection_error(error, _FINDING_CREDENTIALS, region, guessed) from None
    if found is None:
        raise missing_credentials(_FINDING_CREDENTIALS, guessed)
    return Source(name, str(found.method or ""))


def _configured_method(session: Any) -> str:
    settings: dict[str, Any] = {}
    with suppress(Exception):  # the error that matters is raised where the credentials are loaded
        settings = session._session.get_scoped_config()  # noqa: SLF001 -- boto3 does not expose the configuration
    if "sso_session" in settings or "sso_start_url" in settings:
        return "sso"
    if "login_session" in settings:
        return "login"
    return "assume-role" if "role_arn" in settings else ""


def _maker(session: Any, region: str, progress: Progress) -> Callable[[str], Any]:
    from botocore.config import Config

    settings = Config(
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        max_pool_connections=16,
        user_agent_extra="mlcluster",
    )

    def report(response: Any, attempts: int, operation: Any, **_rest: Any) -> None:
        code = ((response[1] if response else None) or {}).get("Error", {}).get("Code", "")
        if code in THROTTLED and attempts < ATTEMPTS:
            service = operation.service_model.service_name
            progress.say(f"AWS throttles {service} {operation.name}: attempt {attempts + 1} of {ATTEMPTS} follows")

    def make(service: str) -> Any:
        client = session.client(service, region_name=region, config=settings)
        client.meta.events.register_first(f"needs-retry.{client.meta.service_model.service_id.hyphenize()}", report)
        return client

    return make


def _only_read(model: Any, **_rest: Any) -> None:
    """Raise for an operation that could change AWS, before botocore builds its request."""
    if not model.name.startswith(_READ_PREFIXES):
        service = model.service_model.service_name
        raise MlclusterError("asking AWS", f"{service} {model.name} is not a read operation, and mlcluster refuses it")


def _on_ec2() -> bool:
    """Return whether the firmware of this machine reports an EC2 instance (Nitro and Xen), without network access."""
    for path, beginning in (
        ("/sys/class/dmi/id/sys_vendor", "Amazon EC2"),
        ("/sys/class/dmi/id/bios_vendor", "Amazon EC2"),
        ("/sys/hypervisor/uuid", "ec2"),
    ):
        with suppress(OSError):
            if Path(path).read_text("utf-8").startswith(beginning):
                return True
    return False


__all__ = [
    "Account",
    "AwsError",
    "CredentialsError",
    "NotAllowedError",
    "Source",
    "has_credentials",
    "open_account",
    "require_credentials",
]
