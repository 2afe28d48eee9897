"""Check the account, and that no other cluster has the name."""

from mlcluster.aws.preflight.facts import Facts
from mlcluster.aws.preflight.report import Outcome
from mlcluster.findings import finding
from mlcluster.plan.eks.access import access_entries, standing


def account(facts: Facts) -> Outcome:
    """AWS001: the credentials belong to another account than `target.accountId`."""
    account, wanted = facts.account, facts.target.account_id
    evidence = f"account {account.account_id} in {account.region} as {account.caller}, by {account.source}"
    if wanted is None:
        return Outcome(f"{evidence}; target.accountId is not set, so any account will do")
    if wanted == account.account_id:
        return Outcome(f"{evidence}, as the spec wants")
    return Outcome(
        evidence,
        (
            finding(
                "AWS001",
                ("target", "accountId"),
                f"{account.source} is account {account.account_id}, the spec wants {wanted}",
                "name a profile of the right account (target.profile, or AWS_PROFILE), or correct target.accountId",
            ),
        ),
    )


def cluster_name(facts: Facts) -> Outcome:
    """AWS001: the region has a cluster of this name that mlcluster did not make: the wrong place, or a taken name."""
    name = facts.plan.cluster.name
    cluster = facts.cluster()
    if cluster is None:
        return Outcome(f"no EKS cluster is called {name} in {facts.account.region}")
    state = f"status {cluster['status']}, Kubernetes {cluster.get('version', 'unknown')}"
    if facts.is_ours(cluster):
        return Outcome(f"the EKS cluster {name} is there and carries our tags ({state})")
    return Outcome(
        f"an EKS cluster {name} is there ({state}) without our tags",
        (
            finding(
                "AWS001",
                ("metadata", "name"),
                f"account {facts.account.account_id} has an EKS cluster {name} in {facts.account.region} "
                f"that does not carry our tags {facts.context.tags}",
                "choose another metadata.name, or another account or region, or use that cluster as target: existing",
            ),
        ),
    )


def creator(facts: Facts) -> Outcome:
    """AWS012: whoever creates the cluster gets an access entry from EKS, and the plan has another for the same one."""
    caller = facts.account.caller
    if facts.cluster() is not None:
        return Outcome("the cluster is there; its creator has an access entry already")
    if standing(facts.context, caller) == "unlisted":
        entries = len(access_entries(facts.context))
        return Outcome(f"{caller} will create the cluster and is not among its {entries} access entries")
    return Outcome(
        f"{caller} will create the cluster",
        (
            finding(
                "AWS012",
                ("target", "access"),
                f"EKS makes the creator of a cluster an administrator and refuses the plan's second entry for {caller}",
                "leave it out of target.access and teams[].members, or create the cluster as somebody else",
            ),
        ),
    )
