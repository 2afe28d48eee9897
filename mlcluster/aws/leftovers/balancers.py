"""Load balancers that controllers created for Services and Ingresses, and their target groups."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.leftovers import prices
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.results import Leftover
from mlcluster.aws.leftovers.search import Search, in_parts

_MOST_TAGGED = 20
"""The maximum number of load balancers or target groups in one DescribeTags request (both ELB APIs)."""


def balancers(search: Search) -> Iterator[Leftover]:
    """Yield application, network and gateway load balancers."""
    every = search.every("elbv2", "DescribeLoadBalancers", "LoadBalancers")
    tags = _tags(search, [one["LoadBalancerArn"] for one in every])
    for one in every:
        arn = one["LoadBalancerArn"]
        why = search.owner.why(tags.get(arn, {}), one.get("VpcId", ""))
        if why:
            yield search.found(
                "load balancer",
                arn,
                [
                    search.aws("elbv2", "delete-load-balancer", "--load-balancer-arn", arn),
                    search.aws("elbv2", "wait", "load-balancers-deleted", "--load-balancer-arns", arn),
                ],
                why=why,
                name=one.get("LoadBalancerName", ""),
                arn=arn,
                zone=_zones(one.get("AvailabilityZones", [])),
                hourly_usd=prices.BALANCERS.get(one.get("Type", "")),
            )


def target_groups(search: Search) -> Iterator[Leftover]:
    """Yield target groups. They are free, but their names stay taken."""
    every = search.every("elbv2", "DescribeTargetGroups", "TargetGroups")
    tags = _tags(search, [one["TargetGroupArn"] for one in every])
    for one in every:
        arn = one["TargetGroupArn"]
        why = search.owner.why(tags.get(arn, {}), one.get("VpcId", ""))
        if why:
            delete = search.aws("elbv2", "delete-target-group", "--target-group-arn", arn)
            name, users = one.get("TargetGroupName", ""), one.get("LoadBalancerArns", [])
            yield search.found("target group", arn, [delete], why=why, name=name, arn=arn, blocked_by=users)


def classic_balancers(search: Search) -> Iterator[Leftover]:
    """Yield Classic Load Balancers, which a LoadBalancer Service gets without the AWS Load Balancer Controller."""
    every = search.every("elb", "DescribeLoadBalancers", "LoadBalancerDescriptions")
    tags: dict[str, dict[str, str]] = {}
    for part in in_parts([one["LoadBalancerName"] for one in every], _MOST_TAGGED):
        answer = search.account.ask("elb", "DescribeTags", LoadBalancerNames=part)
        tags |= {one["LoadBalancerName"]: tags_of(one.get("Tags")) for one in answer["TagDescriptions"]}
    for one in every:
        name = one["LoadBalancerName"]
        why = search.owner.why(tags.get(name, {}), one.get("VPCId", ""))
        if why:
            delete = search.aws("elb", "delete-load-balancer", "--load-balancer-name", name)
            arn, zone = search.arn("elasticloadbalancing", f"loadbalancer/{name}"), ", ".join(one["AvailabilityZones"])
            price = prices.CLASSIC_BALANCER
            yield search.found(
                "classic load balancer", name, [delete], why=why, name=name, arn=arn, zone=zone, hourly_usd=price
            )


def _tags(search: Search, arns: list[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for part in in_parts(arns, _MOST_TAGGED):
        answer = search.account.ask("elbv2", "DescribeTags", ResourceArns=part)
        found |= {one["ResourceArn"]: tags_of(one.get("Tags")) for one in answer["TagDescriptions"]}
    return found


def _zones(zones: list[dict[str, Any]]) -> str:
    return ", ".join(sorted(one.get("ZoneName", "") for one in zones))
