"""Auto Scaling groups, instances, launch templates and placement groups."""

from collections.abc import Iterator

from mlcluster.aws.leftovers import prices
from mlcluster.aws.leftovers.look import Look
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.things import Leftover

GONE = {"terminated", "shutting-down"}


def scaling_groups(look: Look) -> Iterator[Leftover]:
    """First of all: they would make new instances."""
    filters = [{"Name": "tag-key", "Values": look.owner.tag_keys}]
    for group in look.every("autoscaling", "DescribeAutoScalingGroups", "AutoScalingGroups", Filters=filters):
        why = look.owner.why(tags_of(group.get("Tags")))
        if why and group.get("Status") != "Delete in progress":
            name = group["AutoScalingGroupName"]
            delete = look.aws(
                "autoscaling", "delete-auto-scaling-group", "--auto-scaling-group-name", name, "--force-delete"
            )
            yield look.found("Auto Scaling group", name, [delete], why=why, name=name, arn=group["AutoScalingGroupARN"])


def instances(look: Look) -> Iterator[Leftover]:
    """Also stopped ones: their volumes cost, and their interfaces hold the subnet."""
    reservations = look.ec2_answers("DescribeInstances", "Reservations", "vpc-id")
    every = {one["InstanceId"]: one for answer in reservations for one in answer.get("Instances", [])}
    for identifier, one in every.items():
        why = look.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""))
        state = one.get("State", {}).get("Name", "")
        if why and state not in GONE:
            yield look.found(
                "instance",
                identifier,
                [
                    look.aws("ec2", "terminate-instances", "--instance-ids", identifier),
                    look.aws("ec2", "wait", "instance-terminated", "--instance-ids", identifier),
                ],
                why=why,
                tags=one.get("Tags"),
                arn=look.arn("ec2", f"instance/{identifier}"),
                zone=one.get("Placement", {}).get("AvailabilityZone", ""),
                hourly_usd=prices.instance(one["InstanceType"], state, one.get("InstanceLifecycle", "")),
            )


def launch_templates(look: Look) -> Iterator[Leftover]:
    """Ours, and the copies that EKS makes of them."""
    for one in look.ec2("DescribeLaunchTemplates", "LaunchTemplates", "LaunchTemplateId", ""):
        why = look.owner.why(tags_of(one.get("Tags")))
        if why:
            identifier, name = one["LaunchTemplateId"], one.get("LaunchTemplateName", "")
            delete = look.aws("ec2", "delete-launch-template", "--launch-template-id", identifier)
            arn = look.arn("ec2", f"launch-template/{identifier}")
            yield look.found("launch template", identifier, [delete], why=why, name=name, arn=arn)


def placement_groups(look: Look) -> Iterator[Leftover]:
    """Named, not numbered, in the API that deletes them."""
    filters = [{"Name": "tag-key", "Values": look.owner.tag_keys}]
    answer = look.account.ask("ec2", "DescribePlacementGroups", Filters=filters)
    for one in answer.get("PlacementGroups", []):
        why = look.owner.why(tags_of(one.get("Tags")))
        if why and one.get("State") not in {"deleting", "deleted"}:
            name = one["GroupName"]
            delete = look.aws("ec2", "delete-placement-group", "--group-name", name)
            yield look.found(
                "placement group", one.get("GroupId", name), [delete], why=why, name=name, arn=one.get("GroupArn", "")
            )
