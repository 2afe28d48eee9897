"""Check that the account is the intended one, and that no other EKS cluster has the name."""

from mlcluster.aws.preflight.facts import Facts
from mlcluster.aws.preflight.report import Outcome
from mlcluster.findings import finding
from mlcluster.plan.eks.access import access_entries, caller_listing


def account(facts: Facts) -> Outcome:
    """Check AWS001: the credentials belong to `target.accountId`."""
    account, wanted = facts.account, facts.target.account_id
    evidence = f"account {account.account_id} in {account.region} as {account.caller}, by {account.source}"
    if wanted is None:
        return Outcome(f"{evidence}; target.accountId is not set, so any account is accepted")
    if wanted == account.account_id:
        return Outcome(f"{evidence}, as target.accountId requires")
    return Outcome(
        evidence,
        (
            finding(
                "AWS001",
                ("target", "accountId"),
                f"{account.source} belongs to account {account.account_id}, the spec requires {wanted}",
                "Set `target.profile` or AWS_PROFILE to a profile of that account, or correct `target.accountId`.",
            ),
        ),
    )


def cluster_name(facts: Facts) -> Outcome:
    """Check AWS001: the region has no EKS cluster of this name that mlcluster did not create."""
    name = facts.plan.cluster.name
    cluster = facts.cluster()
    if cluster is None:
        return Outcome(f"no EKS cluster is named {name} in {facts.account.region}")
    state = f"status {cluster['status']}, Kubernetes {cluster.get('version', 'unknown')}"
    if facts.is_managed(cluster):
        return Outcome(f"the EKS cluster {name} exists and carries the tags of mlcluster ({state})")
    return Outcome(
        f"an EKS cluster {name} exists ({state}) without the tags of mlcluster",
        (
            finding(
                "AWS001",
                ("metadata", "name"),
                f"account {facts.account.account_id} has an EKS cluster {name} in {facts.account.region} "
                f"that does not carry the tags {facts.context.tags}",
                "Choose another `metadata.name`, account or region, or use that cluster with `target.kind: existing`.",
            ),
        ),
    )


def creator(facts: Facts) -> Outcome:
    """Check AWS012: the plan has no access entry for the creator of the cluster, for which EKS itself adds one."""
    caller = facts.account.caller
    if facts.cluster() is not None:
        return Outcome("the cluster exists, and its creator already has an access entry")
    if caller_listing(facts.context, caller) == "unlisted":
        entries = len(access_entries(facts.context))
        return Outcome(f"{caller} will create the cluster and is not among its {entries} access entries")
    return Outcome(
        f"{caller} will create the cluster",
        (
            finding(
                "AWS012",
                ("target", "access"),
                f"EKS makes the creator of a cluster an administrator and rejects a second access entry for {caller}",
                "Remove it from `target.access` and `teams[].members`, or create the cluster as another principal.",
            ),
        ),
    )
