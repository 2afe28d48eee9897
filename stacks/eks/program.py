"""The AWS half of a cluster: everything of the plan that lives in an account, registered through one aws provider."""

from collections.abc import Iterable
from typing import Any

import pulumi

from mlcluster.plan.model import Plan
from mlcluster.plan.values import Ref, references
from stacks.eks.registration import AWS_VERSION, CLUSTER, Made, register

MAX_RETRIES = 25
"""Attempts of a throttled or failed AWS request: a cluster of 50 pools asks for a lot at once."""


def program(plan: Plan, *, region: str, account_id: str | None, profile: str | None) -> None:
    """Registers the cloud resources and exports what the platform stack and people need of them.

    Args:
        plan: with one control plane among its resources.
        region: AWS region.
        account_id: the only account that may be touched; None for whichever the credentials lead to.
        profile: of the AWS configuration; None for the environment's.

    Exports:
        kubeconfig: of the new cluster, as JSON; a secret, though its token is fetched by `aws eks get-token`.
        clusterName: the EKS cluster's name.
        kubernetesVersion: the minor of the control plane; the next `up` sees which step it takes.
        deletionProtection: whether AWS refuses to delete the control plane.
        values: for every reference in objects and releases {resource id: {output: value}}, and every resource that
            they need.

    Raises:
        ValueError: the plan refers to what it does not hold.
        StopIteration: it holds no control plane.
    """
    resources = list(plan.resources)
    control_plane = next(resource for resource in resources if resource.type == CLUSTER)
    kubeconfig = Ref(control_plane.id, "kubeconfigJson")
    asked = [ref for part in _documents(plan) for ref in references(part)]
    made = register(resources, aws_provider(region, account_id, profile), [kubeconfig, *asked])
    pulumi.export("kubeconfig", pulumi.Output.secret(made.output(kubeconfig)))
    pulumi.export("clusterName", control_plane.inputs["name"])
    pulumi.export("kubernetesVersion", control_plane.inputs["version"])
    pulumi.export("deletionProtection", control_plane.inputs.get("deletionProtection", False))
    pulumi.export("values", _values(plan, made, asked))


def aws_provider(region: str, account_id: str | None, profile: str | None) -> pulumi.ProviderResource:
    """Return the one provider. It adds no tags: the plan holds every tag of every resource."""
    from pulumi_aws import Provider

    return Provider(
        "aws",
        region=region,
        allowed_account_ids=None if account_id is None else [account_id],
        profile=profile,
        max_retries=MAX_RETRIES,
        retry_mode="standard",
        opts=pulumi.ResourceOptions(version=AWS_VERSION),
    )


def _documents(plan: Plan) -> list[Any]:
    return [*(item.manifest for item in plan.objects), *(release.values for release in plan.releases)]


def _values(plan: Plan, made: Made, asked: Iterable[Ref]) -> dict[str, dict[str, Any]]:
    needs = {need for item in plan.objects for need in item.needs}
    needs |= {need for release in plan.releases for need in release.needs}
    values: dict[str, dict[str, Any]] = {need: {} for need in sorted(needs & made.resources.keys())}
    for ref in asked:
        values.setdefault(ref.resource, {})[ref.output] = made.output(ref)
    return values
