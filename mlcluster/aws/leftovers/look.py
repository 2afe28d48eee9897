"""Requests of the finders: one page or all, each answer once."""

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from mlcluster.aws.leftovers.ownership import Owner, tags_of
from mlcluster.aws.leftovers.things import Leftover
from mlcluster.aws.session import Account

_MOST_VALUES = 200
"""Values of one filter (EC2 API, request limits)."""


@dataclass(slots=True)
class Look:
    """A search under way.

    Attributes:
        account: where.
        owner: whose things are looked for.
        kept: ids and ARNs of what stays; finders add what goes or stays with it.
    """

    account: Account
    owner: Owner
    kept: set[str]
    _answers: dict[str, Any] = field(default_factory=dict)

    def every(self, service: str, operation: str, key: str, **parameters: Any) -> list[Any]:
        """All pages of an answer; asked once.

        Raises:
            AwsError: as `Account.ask_all`.
        """
        question = f"{service} {operation} {sorted(parameters.items())}"
        answer: list[Any] = self.once(question, lambda: self.account.ask_all(service, operation, key, **parameters))
        return answer

    def once(self, question: str, ask: Callable[[], Any]) -> Any:
        """What `ask` gave when this question was put for the first time."""
        if question not in self._answers:
            self._answers[question] = ask()
        return self._answers[question]

    def ec2(self, operation: str, key: str, identifier: str, vpc_filter: str = "vpc-id") -> list[dict[str, Any]]:
        """Things of EC2 that have one of our tag keys or are in a VPC of ours, each once; others among them.

        Args:
            identifier: the key of the id, e.g. SubnetId.
            vpc_filter: the filter by VPC, "" where there is none.
        """
        return list({thing[identifier]: thing for thing in self.ec2_answers(operation, key, vpc_filter)}.values())

    def ec2_answers(self, operation: str, key: str, vpc_filter: str) -> list[dict[str, Any]]:
        """The same as the answers have it: by tag, then by VPC, some twice."""
        asked = [{"Name": "tag-key", "Values": self.owner.tag_keys}]
        if vpc_filter and self.owner.vpcs:
            asked.append({"Name": vpc_filter, "Values": sorted(self.owner.vpcs)})
        parameter = "Filter" if operation == "DescribeNatGateways" else "Filters"
        return [thing for one in asked for thing in self.every("ec2", operation, key, **{parameter: [one]})]

    def aws(self, *words: str) -> str:
        """A command line of the AWS CLI for this account and region."""
        profile = ("--profile", self.account.profile) if self.account.profile else ()
        return shlex.join(["aws", *words, "--region", self.account.region, *profile])

    def arn(self, service: str, resource: str) -> str:
        """The ARN of something in this account and region."""
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
        """A leftover; the commands run one after the other, each only when the one before worked."""
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
    """The values in lists of at most `size`."""
    every = list(values)
    for start in range(0, len(every), size):
        yield every[start : start + size]
