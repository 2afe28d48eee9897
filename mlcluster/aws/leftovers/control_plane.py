"""The EKS cluster, its node groups and add-ons."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.leftovers import prices
from mlcluster.aws.leftovers.look import Look
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.things import Leftover
from mlcluster.aws.session import Account, AwsError
from mlcluster.plan import names


def control_plane(account: Account, cluster: str) -> dict[str, Any] | None:
    """What EKS says of the cluster; None when there is none of this name.

    Raises:
        AwsError: EKS does not answer.
    """
    try:
        found: dict[str, Any] = account.ask("eks", "DescribeCluster", name=cluster)["cluster"]
    except AwsError as error:
        if error.code == "ResourceNotFoundException":
            return None
        raise
    return found


def is_ours(found: dict[str, Any], cluster: str) -> bool:
    """Whether mlcluster made it."""
    return tags_of(found.get("tags")).get(names.CLUSTER) == cluster


def node_groups(look: Look) -> Iterator[Leftover]:
    """Before the Auto Scaling groups and instances that they own."""
    name = look.owner.cluster
    if not _there(look):
        return
    for group in look.every("eks", "ListNodegroups", "nodegroups", clusterName=name):
        which = ("--cluster-name", name, "--nodegroup-name", group)
        commands = [look.aws("eks", "delete-nodegroup", *which), look.aws("eks", "wait", "nodegroup-deleted", *which)]
        yield look.found("EKS node group", f"{name}/{group}", commands, why=f"of cluster {name}", name=group)


def addons(look: Look) -> Iterator[Leftover]:
    """Before the control plane, while it can still take down their pods."""
    name = look.owner.cluster
    if not _there(look):
        return
    for addon in look.every("eks", "ListAddons", "addons", clusterName=name):
        which = ("--cluster-name", name, "--addon-name", addon)
        commands = [look.aws("eks", "delete-addon", *which), look.aws("eks", "wait", "addon-deleted", *which)]
        yield look.found("EKS add-on", f"{name}/{addon}", commands, why=f"of cluster {name}", name=addon)


def clusters(look: Look) -> Iterator[Leftover]:
    """The control plane."""
    name = look.owner.cluster
    found = _there(look)
    if found is None or found.get("status") == "DELETING":
        return
    unlock = [
        look.aws("eks", "update-cluster-config", "--name", name, "--no-deletion-protection"),
        look.aws("eks", "wait", "cluster-active", "--name", name),
    ]
    yield look.found(
        "EKS cluster",
        name,
        [
            *(unlock if found.get("deletionProtection") else []),
            look.aws("eks", "delete-cluster", "--name", name),
            look.aws("eks", "wait", "cluster-deleted", "--name", name),
        ],
        why=f"tag {names.CLUSTER}",
        name=name,
        arn=found.get("arn", ""),
        hourly_usd=prices.EKS_CLUSTER,
        blocked_by=_groups(look, name),
    )


def _there(look: Look) -> dict[str, Any] | None:
    """Our control plane, or None."""
    name = look.owner.cluster
    found: dict[str, Any] | None = look.once("control plane", lambda: control_plane(look.account, name))
    return found if found is not None and is_ours(found, name) else None


def _groups(look: Look, name: str) -> list[str]:
    return [f"{name}/{group}" for group in look.every("eks", "ListNodegroups", "nodegroups", clusterName=name)]
