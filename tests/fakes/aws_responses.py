"""An AWS account of constructed responses: real boto3 clients, whose requests never reach the network.

botocore's Stubber takes its answers in the order of the calls; checks that run side by side have none. So the answers
stand by operation here, and the Stubber is used for what it is good at: each answer is held against the service's own
model, and the request is built and checked by botocore as always.
"""

import os
from collections.abc import Callable, Iterator
from copy import copy
from functools import cache
from io import BytesIO
from typing import Any

import boto3
import botocore.endpoint
import pytest
from botocore import xform_name
from botocore.awsrequest import AWSResponse
from botocore.httpsession import URLLib3Session
from botocore.stub import Stubber

from mlcluster.aws.botocore_errors import iam_action
from mlcluster.aws.errors import Source
from mlcluster.aws.session import Account

Parameters = dict[str, Any]
REGION = "us-west-2"
ACCOUNT = "111122223333"
CALLER = f"arn:aws:sts::{ACCOUNT}:assumed-role/platform/alice"


@cache
def _template(service: str) -> Any:
    """The client that every other one of the service is a copy of: making one takes botocore a while."""
    return boto3.client(service, region_name=REGION, aws_access_key_id="testing", aws_secret_access_key="testing")


class Refused:
    """An error answer of AWS."""

    def __init__(self, code: str, message: str = "constructed", *, status: int = 400) -> None:
        self.code, self.message, self.status = code, message, status


Answer = dict[str, Any] | Refused
Given = Answer | Callable[[Parameters], Answer]


class Answers:
    """What the account answers, by service and operation; anything else fails the test.

    Attributes:
        asked: IAM actions in the order of the calls.
        calls: (action, parameters), likewise.
    """

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], Given] = {}
        self.calls: list[tuple[str, Parameters]] = []

    @property
    def asked(self) -> list[str]:
        return [action for action, _ in self.calls]

    def on(self, service: str, operation: str, answer: Given) -> "Answers":
        """Sets, or replaces, the answer to an operation: data, a refusal, or what makes one of the parameters."""
        self._given[service, operation] = answer
        return self

    def account(self, **fields: Any) -> Account:
        """An open account with these answers."""
        known: dict[str, Any] = {
            "region": REGION,
            "profile": "platform",
            "account_id": ACCOUNT,
            "partition": "aws",
            "caller": CALLER,
            "source": Source("platform", "sso"),
        }
        return Account(**{**known, **fields}, _make=self.client)

    def client(self, service: str) -> Any:
        """A boto3 client with credentials that were made up, whose calls are answered here."""
        template = _template(service)
        client = object.__new__(type(template))  # copy() asks a client for its parts before it has any
        vars(client).update(vars(template))
        client.meta = copy(template.meta)
        client.meta.events = copy(template.meta.events)

        def keep(params: Parameters, context: dict[str, Any], **_rest: Any) -> None:
            context["asked"] = params

        def answer(model: Any, context: dict[str, Any], **_rest: Any) -> Any:
            return self._answer(client, service, model.name, context["asked"])

        client.meta.events.register("before-parameter-build.*.*", keep)
        client.meta.events.register("before-call.*.*", answer)
        return client

    def _answer(self, client: Any, service: str, operation: str, parameters: Parameters) -> Any:
        self.calls.append((iam_action(service, operation), parameters))
        given = self._given.get((service, operation))
        assert given is not None, f"no answer is constructed for {service} {operation} {parameters}"
        found = given(parameters) if callable(given) else given
        if isinstance(found, Refused):
            error = {"Error": {"Code": found.code, "Message": found.message}, "ResponseMetadata": {}}
            return AWSResponse("https://stub.invalid", found.status, {}, None), error
        Stubber(client).add_response(xform_name(operation), found)  # raises when the model has no such answer
        return AWSResponse("https://stub.invalid", 200, {}, None), {**found, "ResponseMetadata": {}}


def pages(key: str, *parts: list[Any], names: str = "nextToken") -> Callable[[Parameters], Answer]:
    """An answer in several pages: each but the last has, under `names`, a token for the next."""

    def answer(parameters: Parameters) -> Answer:
        number = int(parameters.get(names, "0"))
        more = {names: str(number + 1)} if number + 1 < len(parts) else {}
        return {key: parts[number], **more}

    return answer


def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails the test when a client of boto3 would really send something; takes the caller's AWS settings away."""

    def refuse(_self: Any, request: Any) -> Any:
        raise AssertionError(f"a test would send {request.method} {request.url}")

    monkeypatch.setattr(URLLib3Session, "send", refuse)
    no_settings(monkeypatch)


def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes every AWS_ variable of the caller away and keeps boto3 from the metadata service."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


class Wire:
    """Constructed HTTP answers below boto3, in order; the last one stays. For what happens around an answer: retries.

    Attributes:
        sent: URLs, in order.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: tuple[int, str] | Exception) -> None:
        self.sent: list[str] = []
        self._answers = list(answers)
        wire = self

        def send(_session: Any, request: Any) -> AWSResponse:
            return wire._send(request)

        no_settings(monkeypatch)
        monkeypatch.setattr(URLLib3Session, "send", send)
        monkeypatch.setattr(botocore.endpoint, "time", _NoTime)

    def _send(self, request: Any) -> AWSResponse:
        self.sent.append(request.url)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        return AWSResponse(request.url, status, {"content-type": "text/xml"}, _Body(body.encode()))


class _Body(BytesIO):
    """The body of an answer as urllib3 hands it to botocore."""

    def stream(self) -> Iterator[bytes]:
        yield self.read()


class _NoTime:
    """Stands for the time module where botocore waits between attempts."""

    @staticmethod
    def sleep(_seconds: float) -> None:
        return None


def identity_xml(account: str = ACCOUNT, caller: str = CALLER) -> str:
    """What STS sends for GetCallerIdentity."""
    return (
        "<GetCallerIdentityResponse><GetCallerIdentityResult>"
        f"<Arn>{caller}</Arn><UserId>X</UserId><Account>{account}</Account>"
        "</GetCallerIdentityResult></GetCallerIdentityResponse>"
    )


def error_xml(code: str, message: str = "constructed") -> str:
    """What the query services send for an error."""
    return f"<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
