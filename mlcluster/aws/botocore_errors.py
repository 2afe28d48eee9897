"""Conversion of botocore exceptions into AwsError, without secrets in the text."""

import re
from http import HTTPStatus
from typing import Any

from mlcluster.aws.errors import AwsError, CredentialsError, NotAllowedError, Source, missing_credentials

_EXPIRED = {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"}
_SKEWED = {"RequestExpired", "RequestTimeTooSkewed", "RequestInTheFuture"}
_UNKNOWN_KEY = {
    "InvalidClientTokenId",
    "UnrecognizedClientException",
    "AuthFailure",
    "SignatureDoesNotMatch",
    "InvalidSignatureException",
    "IncompleteSignature",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "InvalidAccessKeyId",
}
_DENIED = {
    "AccessDenied",
    "AccessDeniedException",
    "AccessDeniedFault",
    "UnauthorizedOperation",
    "UnauthorizedException",
    "AuthorizationError",
    "AuthorizationErrorException",
    "NotAuthorized",
}
THROTTLED = {
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottled",
    "RequestThrottledException",
    "TooManyRequestsException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "SlowDown",
    "EC2ThrottledException",
}
"""Error codes that mean "ask less often"; botocore's standard retry mode tries them again."""

_MASKED = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b|(?<![\w/:-])[A-Za-z0-9+/=]{40,}(?![\w/:-])")
_IAM_PREFIX = {
    "efs": "elasticfilesystem",
    "elb": "elasticloadbalancing",
    "elbv2": "elasticloadbalancing",
    "resourcegroupstaggingapi": "tag",
    "service-quotas": "servicequotas",
}


_THROUGH_BOTOCORE = (LookupError, ValueError, TypeError, AttributeError, RuntimeError, OSError)
"""Built-in exceptions that botocore 1.44 does not wrap: KeyError for a well-formed HTML page instead of XML, ValueError
for a `credential_process` that prints no JSON, OSError for one that does not exist, ValueError for an endpoint that is
not a URL, RuntimeError for credentials that are expired after a refresh."""

PROXY_HINT = (
    "Check HTTPS_PROXY, NO_PROXY and AWS_ENDPOINT_URL, and sign in to the network: a proxy or a login page may "
    "intercept requests to AWS."
)


class WebPageError(Exception):
    """The response to an AWS request is a web page; `status` is its HTTP status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


def botocore_exceptions() -> tuple[type[Exception], ...]:
    """Return every type of exception that a botocore call raises. It is a function because the import is slow.

    Catch these around botocore calls only, because they include built-in exceptions.
    """
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    return (BotoCoreError, ClientError, ResponseParserError, WebPageError, *_THROUGH_BOTOCORE)


def reject_web_page(response_dict: dict[str, Any], **_rest: Any) -> None:
    """Raise `WebPageError` for a web page before botocore parses it, as a handler of the event `before-parse`.

    botocore would turn the page into an empty response, a KeyError or a ResponseParserError. If the status is 500 or
    above, this function only removes the body, so that botocore retries the request.
    """
    body, status = response_dict.get("body"), int(response_dict["status_code"])
    if not isinstance(body, bytes) or not _is_web_page(str(response_dict["headers"].get("content-type", "")), body):
        return
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        raise WebPageError(status)
    response_dict["body"] = b""


def _is_web_page(content_type: str, body: bytes) -> bool:
    return "html" in content_type.lower() or body.lstrip()[:14].lower().startswith((b"<!doctype html", b"<html"))


def iam_action(service: str, operation: str) -> str:
    """Return the IAM action that allows an operation of a service, which has its name in boto3."""
    return f"{_IAM_PREFIX.get(service, service)}:{operation}"


def masked(text: str) -> str:
    """Return a message of AWS without key IDs, tokens and encoded authorization messages."""
    return _MASKED.sub("***", text.partition("Encoded authorization failure")[0].strip())


def code_of(error: BaseException) -> str:
    """Return the error code of AWS in an exception, "" if it has none."""
    response = getattr(error, "response", None)
    return str((response or {}).get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def request_error(error: Exception, service: str, operation: str, region: str, source: Source) -> AwsError:
    """Return the AwsError for an exception of botocore.

    Args:
        error: the exception that a botocore call raised.
        service: e.g. "eks"; operation: e.g. "DescribeCluster".
        region: the region of the request.
        source: the source of the credentials.
    """
    doing = f"asking AWS ({iam_action(service, operation)} in {region})"
    if code_of(error):
        return _rejected(error, doing, iam_action(service, operation), region, source)
    return connection_error(error, doing, region, source)


def _rejected(  # noqa: PLR0911 -- one return for each kind of error
    error: Exception, doing: str, permission: str, region: str, source: Source
) -> AwsError:
    code = code_of(error)
    if code in _DENIED:
        hint = f"Allow {permission} for {source}: docs/preflight.md has the policy."
        happened = f"{source} has no permission for this ({code})"
        return NotAllowedError(doing, happened, hint, code=code, permission=permission)
    if code in _EXPIRED:
        return CredentialsError(doing, f"the credentials of {source} have expired ({code})", source.renewal, code=code)
    if code in _SKEWED:
        hint = "Set the clock of this machine: AWS rejects requests that are more than five minutes off."
        happened = f"AWS rejects the time stamp of the request ({code})"
        return CredentialsError(doing, happened, hint, code=code)
    if code in _UNKNOWN_KEY:
        hint = f"{source.renewal} If {region} is an opt-in region, enable it for the account."
        return CredentialsError(doing, f"AWS does not accept the credentials of {source} ({code})", hint, code=code)
    if code == "OptInRequired":
        hint = "Sign up for the service, or enable the region, in the AWS console."
        return AwsError(doing, f"the account has not signed up for the service ({code})", hint, code=code)
    response = getattr(error, "response", {})
    if code in THROTTLED:
        attempts = int(response.get("ResponseMetadata", {}).get("RetryAttempts", 0)) + 1
        happened = f"AWS throttled all {attempts} attempts ({code})"
        hint = "Try again in a minute: another client sends many requests to this account."
        return AwsError(doing, happened, hint, code=code)
    message = masked(str(response.get("Error", {}).get("Message", "")))
    if code.isdecimal():  # the HTTP status, which botocore uses if the response holds no error of AWS
        happened = f"the response is HTTP {code} ({message or 'no reason'}) without an AWS error"
        return AwsError(doing, happened, f"{PROXY_HINT} Or try again in a minute.", code=code)
    return AwsError(doing, f"{code}: {message}" if message else code, code=code)


def connection_error(  # noqa: PLR0911 -- one return for each kind of error
    error: Exception, doing: str, region: str, source: Source
) -> AwsError:
    """Return the AwsError for a request without a response: credentials, configuration or network."""
    from botocore import exceptions as raised

    match error:
        case raised.ProfileNotFound():
            hint = "Set `target.profile` or AWS_PROFILE to a profile that `aws configure list-profiles` shows."
            return CredentialsError(doing, f"the AWS configuration has no profile {source.profile}", hint)
        case raised.ConfigParseError() | raised.InvalidConfigError():
            hint = "Correct the AWS configuration."
            return CredentialsError(doing, f"the AWS configuration is unreadable: {masked(str(error))}", hint)
        case raised.NoCredentialsError():
            return missing_credentials(doing, source)
        case raised.PartialCredentialsError():
            hint = "Set both the access key ID and the secret access key, or neither."
            return CredentialsError(doing, f"the credentials of {source} are incomplete", hint)
        case raised.SSOError() | raised.TokenRetrievalError() | raised.LoginError():
            return CredentialsError(doing, f"the session of {source} has expired or was never started", source.renewal)
        case (
            raised.CredentialRetrievalError()
            | raised.UnknownCredentialError()
            | raised.NoAuthTokenError()
            | raised.MetadataRetrievalError()
            | raised.RefreshWithMFAUnsupportedError()
        ):
            return CredentialsError(doing, f"{source} returns no credentials: {type(error).__name__}", source.renewal)
        case raised.SSLError():
            hint = "Set AWS_CA_BUNDLE to the certificate of the proxy, if a proxy terminates TLS."
            return AwsError(doing, "the certificate of the AWS endpoint is not trusted", hint)
        case raised.HTTPClientError() | raised.ConnectionError():
            hint = f"Check that the network reaches AWS, that the proxy is correct, and that {region} is a region."
            return AwsError(doing, f"the AWS endpoint cannot be reached ({type(error).__name__})", hint)
        case raised.BotoCoreError():
            return AwsError(doing, masked(str(error)), "")
        case _:
            return _unusable_response(error, doing, source)


def _unusable_response(error: Exception, doing: str, source: Source) -> AwsError:
    """Return the error for a response or a setting that botocore cannot use. Other errors are raised unchanged.

    The message of the exception is omitted: it can contain the response, or the output of a credential_process.
    """
    from botocore.parsers import ResponseParserError

    match error:
        case WebPageError():
            happened = f"the response is a web page (HTTP {error.status}), not a response of AWS"
            return AwsError(doing, happened, PROXY_HINT)
        case ResponseParserError():
            return AwsError(doing, "the response is not in the format of AWS", PROXY_HINT)
        case _ if isinstance(error, _THROUGH_BOTOCORE):
            happened = f"botocore cannot use the response, or the settings of {source} ({type(error).__name__})"
            return AwsError(doing, happened, f"Run `aws sts get-caller-identity` for details. {PROXY_HINT}")
        case _:
            raise error
