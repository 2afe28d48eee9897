"""The requests of the finders, each response fetched once."""

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from mlcluster.aws.leftovers.ownership import Owner, tags_of
from mlcluster.aws.leftovers.results import Leftover
from mlcluster.aws.session import Account

_MOST_VALUES = 200
"""The maximum number of values in one filter (EC2 API, request limits)."""


@dataclass(slots=True)
class Search:
    """A running search for leftover resources.

    Attributes:
        account: the account to search.
        owner: the cluster whose resources are searched for.
        kept: IDs and ARNs of the resources that the plan keeps; finders add the resources that depend on them.
    """

    account: Account
    owner: Owner
    kept: set[str]
    _answers: dict[str, Any] = field(default_factory=dict)

    def every(self, service: str, operation: str, key: str, **parameters: Any) -> list[Any]:
        """Return the entries of all pages of a response, which is fetched once.

        Raises:
            AwsError: see `Account.ask_all`.
        """
        question = f"{service} {operation} {sorted(parameters.items())}"
        answer: list[Any] = self.once(question, lambda: self.account.ask_all(service, operation, key, **parameters))
        return answer

    def once(self, question: str, ask: Callable[[], Any]) -> Any:
        """Return the result of the first `ask` for this question."""
        if question not in self._answers:
            self._answers[question] = ask()
        return self._answers[question]

    def ec2(self, operation: str, key: str, identifier: str, vpc_filter: str = "vpc-id") -> list[dict[str, Any]]:
        """Return each EC2 resource that has a tag key of the cluster or is in its VPC, once.

        The result can contain resources of other owners; `Owner.why` decides.

        Args:
            identifier: the key of the ID, e.g. SubnetId.
            vpc_filter: the filter by VPC, "" if the operation has none.
        """
        return list({thing[identifier]: thing for thing in self.ec2_answers(operation, key, vpc_filter)}.values())

    def ec2_answers(self, operation: str, key: str, vpc_filter: str) -> list[dict[str, Any]]:
        """Return the entries of the responses by tag, then by VPC, some of them twice."""
        asked = [{"Name": "tag-key", "Values": self.owner.tag_keys}]
        if vpc_filter and self.owner.vpcs:
            asked.append({"Name": vpc_filter, "Values": sorted(self.owner.vpcs)})
        parameter = "Filter" if operation == "DescribeNatGateways" else "Filters"
        return [thing for one in asked for thing in self.every("ec2", operation, key, **{parameter: [one]})]

    def aws(self, *words: str) -> str:
        """Return a command line of the AWS CLI for this account and region."""
        profile = ("--profile", self.account.profile) if self.account.profile else ()
        return shlex.join(["aws", *words, "--region", self.account.region, *profile])

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of a resource in this account and region."""
        return f"arn:{self.account.partition}:{service}:{self.account.region}:{self.account.account_id}:{resource}"

    def found(  # noqa: PLR0913 -- the parts of a leftover
        self,
        kind: str,
        identifier: str,
        commands: Iterable[str],
        *,
        why: str,
        tags: Any = (),
        name: str = "",
        arn: str = "",
        zone: str = "",
        hourly_usd: float | None = 0.0,
        blocked_by: Iterable[str] = (),
    ) -> Leftover:
        """Return a leftover. Its commands run in order, each only if the previous one succeeds."""
        return Leftover(
            kind=kind,
            id=identifier,
            name=name or tags_of(tags).get("Name", ""),
            arn=arn,
            zone=zone,
            hourly_usd=hourly_usd,
            command=" && ".join(commands),
            why=why,
            blocked_by=tuple(dict.fromkeys(blocked_by)),
        )


def in_parts(values: Iterable[str], size: int = _MOST_VALUES) -> Iterator[list[str]]:
    """Yield the values in lists of at most `size`."""
    every = list(values)
    for start in range(0, len(every), size):
        yield every[start : start + size]
