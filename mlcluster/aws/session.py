"""A session with an AWS account, which is read and never changed. boto3 is imported on first use."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from mlcluster.aws.refusals import (
    PROXY_HINT,
    THROTTLED,
    AwsError,
    CredentialsError,
    NotAllowedError,
    Source,
    missing_credentials,
    raised_by_botocore,
    refusal,
    reject_web_page,
    without_answer,
)
from mlcluster.errors import MlclusterError
from mlcluster.progress import Progress, Silent

ATTEMPTS = 5
CONNECT_SECONDS = 5
READ_SECONDS = 30
_READING = ("Describe", "Get", "List")
_LOOKING = "looking for AWS credentials"
_NO_METADATA = "AWS_EC2_METADATA_DISABLED"


@dataclass(slots=True)
class Account:
    """One account in one region, with credentials that AWS has accepted.

    Attributes:
        region: e.g. us-west-2.
        profile: what the caller asked for; None for the environment's.
        account_id: twelve digits.
        partition: aws, aws-cn or aws-us-gov.
        caller: ARN of whoever we are.
        source: where the credentials come from.
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
        """The boto3 client of a service; made once, safe to use from several threads. It refuses to change anything."""
        with self._lock:  # a boto3 session, unlike its clients, is not thread-safe
            if service not in self._clients:
                made = self._make(service)
                made.meta.events.register_first("before-parameter-build.*.*", _only_read)
                self._clients[service] = made
            return self._clients[service]

    def ask(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        """One answer.

        Args:
            service: boto3's name, e.g. "service-quotas".
            operation: as AWS spells it, e.g. "GetServiceQuota".

        Raises:
            AwsError: refused, with AWS's `code`; NotAllowedError and CredentialsError are kinds of it.
        """
        from botocore import xform_name

        client = self._client_for(service, operation)
        call = getattr(client, xform_name(operation))
        try:
            answer: dict[str, Any] = call(**parameters)
        except raised_by_botocore() as error:
            raise refusal(error, service, operation, self.region, self.source) from None
        return answer

    def _client_for(self, service: str, operation: str) -> Any:
        """Return the client; what botocore raises for bad settings becomes the operation's AwsError."""
        try:
            return self.client(service)
        except raised_by_botocore() as error:
            raise refusal(error, service, operation, self.region, self.source) from None

    def ask_all(self, service: str, operation: str, key: str, **parameters: Any) -> list[Any]:
        """What stands under `key` in every page of an answer.

        Raises:
            AwsError: as for `ask`.
        """
        from botocore import xform_name

        paginator = self._client_for(service, operation).get_paginator(xform_name(operation))
        try:
            pages = paginator.paginate(**parameters)
            return [entry for page in pages for entry in page.get(key, [])]
        except raised_by_botocore() as error:
            raise refusal(error, service, operation, self.region, self.source) from None


def open_account(
    region: str, profile: str | None = None, expected_account: str | None = None, progress: Progress | None = None
) -> Account:
    """Finds credentials and asks AWS whose they are.

    Args:
        region: where everything is asked.
        profile: of the AWS configuration; None: AWS_PROFILE, the environment, or the default profile.
        expected_account: refuse every other account (twelve digits).
        progress: hears of throttled attempts.

    Raises:
        CredentialsError: there are none, they have expired, or AWS does not take them; says whose and what to run.
        AwsError: AWS cannot be reached, or it is another account than expected.
    """
    session = _session(region, profile)
    source = _source(session, profile, region)
    make = _maker(session, region, progress or Silent())
    account = Account(region, profile, "", "aws", "", source, make)
    identity = account.ask("sts", "GetCallerIdentity")
    if not str(identity.get("Arn", "")).startswith("arn:") or not identity.get("Account"):
        raise AwsError("checking the AWS account", "the answer names no account", PROXY_HINT)
    account.account_id, account.caller = identity["Account"], identity["Arn"]
    account.partition = account.caller.split(":")[1]
    if expected_account and account.account_id != expected_account:
        raise AwsError(
            "checking the AWS account",
            f"{source} is account {account.account_id}, the spec wants {expected_account} (target.accountId)",
            "name a profile of the right account (target.profile, or AWS_PROFILE), or correct target.accountId",
        )
    return account


def has_credentials(region: str, profile: str | None = None) -> bool:
    """Whether there is something to try: nothing is sent to AWS, expired credentials count.

    Only on an EC2 instance without other credentials is its metadata service (link-local) asked.

    Raises:
        CredentialsError: the profile that is named does not exist, or the configuration is unreadable.
    """
    session = _session(region, profile)._session  # noqa: SLF001 -- boto3 keeps the providers to itself
    if os.environ.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") or os.environ.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"):
        return True
    try:
        for provider in session.get_component("credential_provider").providers:
            if provider.METHOD == "iam-role" and (os.environ.get(_NO_METADATA, "").lower() == "true" or not _on_ec2()):
                continue
            if provider.load() is not None:
                return True
    except raised_by_botocore() as error:
        raise without_answer(error, _LOOKING, region, Source(profile, "")) from None
    return False


def require_credentials(region: str, profile: str | None = None) -> None:
    """Raise the error of missing credentials, if there are none to try; see `has_credentials`.

    Raises:
        CredentialsError: there are none, the profile does not exist, or the configuration is unreadable.
    """
    if not has_credentials(region, profile):
        session = _session(region, profile)
        raise missing_credentials(_LOOKING, Source(profile or session.profile_name, _configured_method(session)))


def _session(region: str, profile: str | None) -> Any:
    import boto3

    try:
        session = boto3.Session(profile_name=profile, region_name=region)
        _ = session.profile_name, session._session.full_config  # noqa: SLF001 -- reads the configuration now
        session.events.register("before-parse", reject_web_page)  # for the clients that fetch credentials, too
    except raised_by_botocore() as error:
        raise without_answer(error, _LOOKING, region, Source(profile or os.environ.get("AWS_PROFILE"), "")) from None
    return session


def _source(session: Any, profile: str | None, region: str) -> Source:
    """Where the credentials come from; also when they cannot be had, as far as the configuration says it."""
    name = profile or session.profile_name
    guessed = Source(name, _configured_method(session))
    try:
        found = session.get_credentials()
    except raised_by_botocore() as error:
        raise without_answer(error, _LOOKING, region, guessed) from None
    if found is None:
        raise missing_credentials(_LOOKING, guessed)
    return Source(name, str(found.method or ""))


def _configured_method(session: Any) -> str:
    settings: dict[str, Any] = {}
    with suppress(Exception):  # the error that matters is raised where the credentials are loaded
        settings = session._session.get_scoped_config()  # noqa: SLF001 -- boto3 does not show the configuration
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

    def tell(response: Any, attempts: int, operation: Any, **_rest: Any) -> None:
        code = ((response[1] if response else None) or {}).get("Error", {}).get("Code", "")
        if code in THROTTLED and attempts < ATTEMPTS:
            service = operation.service_model.service_name
            progress.say(f"AWS throttles {service} {operation.name}: attempt {attempts + 1} of {ATTEMPTS} follows")

    def make(service: str) -> Any:
        client = session.client(service, region_name=region, config=settings)
        client.meta.events.register_first(f"needs-retry.{client.meta.service_model.service_id.hyphenize()}", tell)
        return client

    return make


def _only_read(model: Any, **_rest: Any) -> None:
    """Stops a call that could change something before it is built: this program only asks."""
    if not model.name.startswith(_READING):
        service = model.service_model.service_name
        raise MlclusterError("asking AWS", f"{service} {model.name} would change something and is never called")


def _on_ec2() -> bool:
    """Whether this machine says that it is an EC2 instance, without the network (Nitro and Xen)."""
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
