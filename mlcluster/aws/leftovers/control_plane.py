"""The EKS cluster, its node groups and add-ons."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.leftovers import prices
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.results import Leftover
from mlcluster.aws.leftovers.search import Search
from mlcluster.aws.session import Account, AwsError
from mlcluster.plan import names


def control_plane(account: Account, cluster: str) -> dict[str, Any] | None:
    """Return the DescribeCluster entry of the EKS cluster; None if no cluster has this name.

    Raises:
        AwsError: EKS does not respond.
    """
    try:
        found: dict[str, Any] = account.ask("eks", "DescribeCluster", name=cluster)["cluster"]
    except AwsError as error:
        if error.code == "ResourceNotFoundException":
            return None
        raise
    return found


def is_managed(found: dict[str, Any], cluster: str) -> bool:
    """Return whether mlcluster created this EKS cluster."""
    return tags_of(found.get("tags")).get(names.CLUSTER) == cluster


def node_groups(search: Search) -> Iterator[Leftover]:
    """Yield node groups. They are deleted before the Auto Scaling groups and instances that they own."""
    name = search.owner.cluster
    if not _managed_cluster(search):
        return
    for group in search.every("eks", "ListNodegroups", "nodegroups", clusterName=name):
        which = ("--cluster-name", name, "--nodegroup-name", group)
        commands = [
            search.aws("eks", "delete-nodegroup", *which),
            search.aws("eks", "wait", "nodegroup-deleted", *which),
        ]
        yield search.found("EKS node group", f"{name}/{group}", commands, why=f"of cluster {name}", name=group)


def addons(search: Search) -> Iterator[Leftover]:
    """Yield add-ons. They are deleted before the control plane, while it can still delete their pods."""
    name = search.owner.cluster
    if not _managed_cluster(search):
        return
    for addon in search.every("eks", "ListAddons", "addons", clusterName=name):
        which = ("--cluster-name", name, "--addon-name", addon)
        commands = [search.aws("eks", "delete-addon", *which), search.aws("eks", "wait", "addon-deleted", *which)]
        yield search.found("EKS add-on", f"{name}/{addon}", commands, why=f"of cluster {name}", name=addon)


def clusters(search: Search) -> Iterator[Leftover]:
    """Yield the control plane."""
    name = search.owner.cluster
    found = _managed_cluster(search)
    if found is None or found.get("status") == "DELETING":
        return
    unlock = [
        search.aws("eks", "update-cluster-config", "--name", name, "--no-deletion-protection"),
        search.aws("eks", "wait", "cluster-active", "--name", name),
    ]
    yield search.found(
        "EKS cluster",
        name,
        [
            *(unlock if found.get("deletionProtection") else []),
            search.aws("eks", "delete-cluster", "--name", name),
            search.aws("eks", "wait", "cluster-deleted", "--name", name),
        ],
        why=f"tag {names.CLUSTER}",
        name=name,
        arn=found.get("arn", ""),
        hourly_usd=prices.EKS_CLUSTER,
        blocked_by=_groups(search, name),
    )


def _managed_cluster(search: Search) -> dict[str, Any] | None:
    """Return the control plane that mlcluster created, or None."""
    name = search.owner.cluster
    found: dict[str, Any] | None = search.once("control plane", lambda: control_plane(search.account, name))
    return found if found is not None and is_managed(found, name) else None


def _groups(search: Search, name: str) -> list[str]:
    return [f"{name}/{group}" for group in search.every("eks", "ListNodegroups", "nodegroups", clusterName=name)]
