"""Errors of botocore as sentences: whose credentials, what AWS answered, what to run. Never a secret."""

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from mlcluster.errors import MlclusterError

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


class AwsError(MlclusterError):
    """AWS, or the way to it, refused.

    Args:
        code: the error code of AWS, e.g. ResourceNotFoundException; "" when nothing came back.
    """

    def __init__(self, doing: str, happened: str, hint: str = "", *, code: str = "") -> None:
        super().__init__(doing, happened, hint)
        self.code = code


class CredentialsError(AwsError):
    """There are no credentials, or AWS does not take them (any more)."""


class NotAllowedError(AwsError):
    """The credentials are good and may not ask this; `permission` is the IAM action, e.g. eks:DescribeCluster."""

    def __init__(self, doing: str, happened: str, hint: str, *, code: str, permission: str) -> None:
        super().__init__(doing, happened, hint, code=code)
        self.permission = permission


@dataclass(frozen=True, slots=True)
class Source:
    """Where credentials come from.

    Attributes:
        profile: name of the profile, or None when no profile plays a part.
        method: botocore's name of the provider: env, sso, login, assume-role, shared-credentials-file, iam-role...;
            "" when none was found.
    """

    profile: str | None
    method: str

    def __str__(self) -> str:
        match self.method:
            case "env":
                return "the environment variable AWS_ACCESS_KEY_ID"
            case "iam-role":
                return "the role of this EC2 instance"
            case "container-role":
                return "the role of this container or pod"
            case "assume-role-with-web-identity":
                return "the role in AWS_ROLE_ARN (web identity)"
            case _:
                kind = f" ({self.method})" if self.method else ""
                return f"profile {self.profile or 'default'}{kind}"

    @property
    def renewal(self) -> str:
        """What to run or do for fresh credentials."""
        flag = f" --profile {self.profile}" if self.profile and self.profile != "default" else ""
        match self.method:
            case "sso" | "login":
                command = "aws sso login" if self.method == "sso" else "aws login"
                return f"run `{command}{flag}`"
            case "env":
                return (
                    "export a fresh AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, "
                    "or unset them and name a profile (target.profile, or AWS_PROFILE)"
                )
            case "iam-role" | "container-role" | "assume-role-with-web-identity":
                return "see that the role exists and trusts this machine: `aws sts get-caller-identity`"
            case "":
                return (
                    f"Run `aws configure sso{flag}` or `aws login{flag}`, or set `target.profile` or AWS_PROFILE to a "
                    "profile that has credentials."
                )
            case _:
                return f"renew what the profile uses; `aws sts get-caller-identity{flag}` shows the same error"


def missing_credentials(doing: str, source: Source) -> CredentialsError:
    """Return the error for an environment without AWS credentials, the same for every verb."""
    happened = f"found no AWS credentials in the environment, in {source} or in the metadata service"
    return CredentialsError(doing, happened, source.renewal)


_THROUGH_BOTOCORE = (LookupError, ValueError, TypeError, AttributeError, RuntimeError, OSError)
"""Python's own errors that botocore does not wrap (1.44): a well-formed page instead of XML is a KeyError, a
`credential_process` that prints no JSON a ValueError and one that does not exist an OSError, an endpoint that is no URL
a ValueError, credentials that are expired after a refresh a RuntimeError."""

PROXY_HINT = (
    "a proxy or a login page may stand between this machine and AWS: check HTTPS_PROXY, NO_PROXY and AWS_ENDPOINT_URL, "
    "and sign in to the network"
)


class WebPageError(Exception):
    """The answer to an AWS request is a web page; `status` is its HTTP status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


def raised_by_botocore() -> tuple[type[Exception], ...]:
    """Return every type of error that a call of botocore raises; a function, because the import takes long.

    Catch it around calls of botocore only: it holds errors of Python itself.
    """
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    return (BotoCoreError, ClientError, ResponseParserError, WebPageError, *_THROUGH_BOTOCORE)


def reject_web_page(response_dict: dict[str, Any], **_rest: Any) -> None:
    """Raise `WebPageError` for a web page, before botocore parses it; a handler of its event `before-parse`.

    The parsers of botocore make an empty answer, a KeyError or a ResponseParserError of a page. A page with a status of
    500 and above loses its body: botocore then retries it as it does every such status.
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
    """The IAM action that allows an operation of a service (as boto3 names it)."""
    return f"{_IAM_PREFIX.get(service, service)}:{operation}"


def masked(text: str) -> str:
    """A message of AWS without key ids, tokens and encoded authorization messages."""
    return _MASKED.sub("***", text.partition("Encoded authorization failure")[0].strip())


def code_of(error: BaseException) -> str:
    """The error code that AWS gave, "" for everything else."""
    response = getattr(error, "response", None)
    return str((response or {}).get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def refusal(error: Exception, service: str, operation: str, region: str, source: Source) -> AwsError:
    """The error to raise instead of one of botocore.

    Args:
        error: what a call of botocore raised.
        service: e.g. "eks"; operation: e.g. "DescribeCluster".
        region: where it was asked.
        source: whose credentials were used.
    """
    doing = f"asking AWS ({iam_action(service, operation)} in {region})"
    if code_of(error):
        return _answered(error, doing, iam_action(service, operation), region, source)
    return without_answer(error, doing, region, source)


def _answered(  # noqa: PLR0911 -- one return for each kind
    error: Exception, doing: str, permission: str, region: str, source: Source
) -> AwsError:
    code = code_of(error)
    if code in _DENIED:
        hint = f"allow {permission} to {source}: docs/preflight.md has the policy"
        return NotAllowedError(doing, f"{source} may not do this ({code})", hint, code=code, permission=permission)
    if code in _EXPIRED:
        return CredentialsError(doing, f"the credentials of {source} have expired ({code})", source.renewal, code=code)
    if code in _SKEWED:
        hint = "set the clock of this machine; AWS takes requests that are at most five minutes off"
        return CredentialsError(doing, f"AWS finds the request too old or too new ({code})", hint, code=code)
    if code in _UNKNOWN_KEY:
        hint = f"{source.renewal.rstrip('.')}; if {region} is a region that accounts opt in to, enable it there"
        return CredentialsError(doing, f"AWS does not accept the credentials of {source} ({code})", hint, code=code)
    if code == "OptInRequired":
        hint = "sign up for the service, or enable the region, in the AWS console"
        return AwsError(doing, f"the account has not signed up for it ({code})", hint, code=code)
    response = getattr(error, "response", {})
    if code in THROTTLED:
        attempts = int(response.get("ResponseMetadata", {}).get("RetryAttempts", 0)) + 1
        happened = f"AWS throttled every one of {attempts} attempts ({code})"
        return AwsError(doing, happened, "something else asks this account a lot: try again in a minute", code=code)
    message = masked(str(response.get("Error", {}).get("Message", "")))
    if code.isdecimal():  # botocore puts the HTTP status where the answer has no error of AWS
        happened = f"the answer is HTTP {code} ({message or 'no reason'}) without an AWS error"
        return AwsError(doing, happened, f"{PROXY_HINT}; or try again in a minute", code=code)
    return AwsError(doing, f"{code}: {message}" if message else code, code=code)


def without_answer(  # noqa: PLR0911 -- one return for each kind
    error: Exception, doing: str, region: str, source: Source
) -> AwsError:
    """The error to raise when no answer of AWS came: credentials, configuration, network."""
    from botocore import exceptions as raised

    match error:
        case raised.ProfileNotFound():
            hint = "`aws configure list-profiles` shows those there are; target.profile or AWS_PROFILE names one"
            return CredentialsError(doing, f"there is no profile {source.profile} in the AWS configuration", hint)
        case raised.ConfigParseError() | raised.InvalidConfigError():
            return CredentialsError(doing, f"the AWS configuration is unreadable: {masked(str(error))}", "correct it")
        case raised.NoCredentialsError():
            return missing_credentials(doing, source)
        case raised.PartialCredentialsError():
            hint = "give both the key id and the secret, or neither"
            return CredentialsError(doing, f"half of the credentials of {source} is missing", hint)
        case raised.SSOError() | raised.TokenRetrievalError() | raised.LoginError():
            return CredentialsError(doing, f"the session of {source} has expired or was never begun", source.renewal)
        case (
            raised.CredentialRetrievalError()
            | raised.UnknownCredentialError()
            | raised.NoAuthTokenError()
            | raised.MetadataRetrievalError()
            | raised.RefreshWithMFAUnsupportedError()
        ):
            return CredentialsError(doing, f"{source} gives no credentials: {type(error).__name__}", source.renewal)
        case raised.SSLError():
            hint = "behind a proxy that opens TLS, point AWS_CA_BUNDLE at its certificate"
            return AwsError(doing, "the certificate of the AWS endpoint is not trusted", hint)
        case raised.HTTPClientError() | raised.ConnectionError():
            hint = f"see that the network reaches AWS, that the proxy is right, and that {region} is a region"
            return AwsError(doing, f"the AWS endpoint cannot be reached ({type(error).__name__})", hint)
        case raised.BotoCoreError():
            return AwsError(doing, masked(str(error)), "")
        case _:
            return _unusable(error, doing, source)


def _unusable(error: Exception, doing: str, source: Source) -> AwsError:
    """Return the error for an answer, or a setting, that botocore cannot use; another error is raised as it is.

    What such an error says is left out: it may hold the whole answer, or the output of a credential_process.
    """
    from botocore.parsers import ResponseParserError

    match error:
        case WebPageError():
            return AwsError(doing, f"the answer is a web page (HTTP {error.status}), not an answer of AWS", PROXY_HINT)
        case ResponseParserError():
            return AwsError(doing, "the answer is not in the format of AWS", PROXY_HINT)
        case _ if isinstance(error, _THROUGH_BOTOCORE):
            happened = f"botocore cannot use the answer, or the settings of {source} ({type(error).__name__})"
            return AwsError(doing, happened, f"`aws sts get-caller-identity` shows more; {PROXY_HINT}")
        case _:
            raise error
