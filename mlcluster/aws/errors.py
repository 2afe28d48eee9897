"""Errors of requests to AWS, and the source of the credentials that they name."""

from dataclasses import dataclass

from mlcluster.errors import MlclusterError


class AwsError(MlclusterError):
    """A request to AWS failed.

    Args:
        code: the error code of AWS, e.g. ResourceNotFoundException; "" without a response.
    """

    def __init__(self, doing: str, happened: str, hint: str = "", *, code: str = "") -> None:
        super().__init__(doing, happened, hint)
        self.code = code


class CredentialsError(AwsError):
    """No credentials were found, or AWS does not accept them."""


class NotAllowedError(AwsError):
    """The credentials are valid and lack a permission: the IAM action `permission`, e.g. eks:DescribeCluster."""

    def __init__(self, doing: str, happened: str, hint: str, *, code: str, permission: str) -> None:
        super().__init__(doing, happened, hint, code=code)
        self.permission = permission


@dataclass(frozen=True, slots=True)
class Source:
    """The source of credentials.

    Attributes:
        profile: name of the profile, or None without a profile.
        method: botocore's name of the provider: env, sso, login, assume-role, shared-credentials-file, iam-role...;
            "" if none was found.
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
        """The hint that says how to renew the credentials."""
        flag = f" --profile {self.profile}" if self.profile and self.profile != "default" else ""
        match self.method:
            case "sso" | "login":
                command = "aws sso login" if self.method == "sso" else "aws login"
                return f"Run `{command}{flag}`."
            case "env":
                return (
                    "Export a new AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, "
                    "or unset them and set `target.profile` or AWS_PROFILE."
                )
            case "iam-role" | "container-role" | "assume-role-with-web-identity":
                return "Run `aws sts get-caller-identity` to check that the role exists and trusts this machine."
            case "":
                return (
                    f"Run `aws configure sso{flag}` or `aws login{flag}`, or set `target.profile` or AWS_PROFILE to a "
                    "profile that has credentials."
                )
            case _:
                return (
                    f"Renew the credentials of the profile; `aws sts get-caller-identity{flag}` shows the same error."
                )


def missing_credentials(doing: str, source: Source) -> CredentialsError:
    """Return the error for an environment without AWS credentials, the same for every command."""
    happened = f"found no AWS credentials in the environment, in {source} or in the metadata service"
    return CredentialsError(doing, happened, source.renewal)
