"""Load balancers that controllers created for Services and Ingresses, and their target groups."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.leftovers import prices
from mlcluster.aws.leftovers.look import Look, in_parts
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.things import Leftover

_MOST_TAGGED = 20
"""Balancers or groups in one DescribeTags (both ELB APIs)."""


def balancers(look: Look) -> Iterator[Leftover]:
    """Application, network and gateway load balancers."""
    every = look.every("elbv2", "DescribeLoadBalancers", "LoadBalancers")
    tags = _tags(look, [one["LoadBalancerArn"] for one in every])
    for one in every:
        arn = one["LoadBalancerArn"]
        why = look.owner.why(tags.get(arn, {}), one.get("VpcId", ""))
        if why:
            yield look.found(
                "load balancer",
                arn,
                [
                    look.aws("elbv2", "delete-load-balancer", "--load-balancer-arn", arn),
                    look.aws("elbv2", "wait", "load-balancers-deleted", "--load-balancer-arns", arn),
                ],
                why=why,
                name=one.get("LoadBalancerName", ""),
                arn=arn,
                zone=_zones(one.get("AvailabilityZones", [])),
                hourly_usd=prices.BALANCERS.get(one.get("Type", "")),
            )


def target_groups(look: Look) -> Iterator[Leftover]:
    """Free, but they hold their names."""
    every = look.every("elbv2", "DescribeTargetGroups", "TargetGroups")
    tags = _tags(look, [one["TargetGroupArn"] for one in every])
    for one in every:
        arn = one["TargetGroupArn"]
        why = look.owner.why(tags.get(arn, {}), one.get("VpcId", ""))
        if why:
            delete = look.aws("elbv2", "delete-target-group", "--target-group-arn", arn)
            name, users = one.get("TargetGroupName", ""), one.get("LoadBalancerArns", [])
            yield look.found("target group", arn, [delete], why=why, name=name, arn=arn, blocked_by=users)


def classic_balancers(look: Look) -> Iterator[Leftover]:
    """What a Service of type LoadBalancer gets without the load balancer controller."""
    every = look.every("elb", "DescribeLoadBalancers", "LoadBalancerDescriptions")
    tags: dict[str, dict[str, str]] = {}
    for part in in_parts([one["LoadBalancerName"] for one in every], _MOST_TAGGED):
        answer = look.account.ask("elb", "DescribeTags", LoadBalancerNames=part)
        tags |= {one["LoadBalancerName"]: tags_of(one.get("Tags")) for one in answer["TagDescriptions"]}
    for one in every:
        name = one["LoadBalancerName"]
        why = look.owner.why(tags.get(name, {}), one.get("VPCId", ""))
        if why:
            delete = look.aws("elb", "delete-load-balancer", "--load-balancer-name", name)
            arn, zone = look.arn("elasticloadbalancing", f"loadbalancer/{name}"), ", ".join(one["AvailabilityZones"])
            price = prices.CLASSIC_BALANCER
            yield look.found(
                "classic load balancer", name, [delete], why=why, name=name, arn=arn, zone=zone, hourly_usd=price
            )


def _tags(look: Look, arns: list[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for part in in_parts(arns, _MOST_TAGGED):
        answer = look.account.ask("elbv2", "DescribeTags", ResourceArns=part)
        found |= {one["ResourceArn"]: tags_of(one.get("Tags")) for one in answer["TagDescriptions"]}
    return found


def _zones(zones: list[dict[str, Any]]) -> str:
    return ", ".join(sorted(one.get("ZoneName", "") for one in zones))
