"""Registers the cloud resources of a plan, each after what it needs, under its plan id."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from mlcluster.plan.model import PlanResource
from mlcluster.plan.values import Ref, references
from stacks.eks.outputs import SELF, first, output_of
from stacks.references import sent
from stacks.registration import in_order

AWS_VERSION = "7.51.1"
"""Version of the aws plugin; the one pulumi-aws is pinned to."""

EKS_VERSION = "4.4.0"
"""Version of the eks plugin; the one pulumi-eks is pinned to."""

CLUSTER = "eks:index:Cluster"
"""The one component: a control plane with its kubeconfig."""

CONTROL_PLANE = "aws:eks/cluster:Cluster"
"""What the component makes of it."""

TIMEOUTS = {
    "aws:eks/addon:Addon": "40m",  # add-ons of a new cluster wait for its first nodes
    "aws:eks/nodeGroup:NodeGroup": "60m",
    CONTROL_PLANE: "40m",
}
"""How long AWS may take to create, update or delete; everything else has what the aws plugin gives it."""

NEW_FIRST = frozenset({"aws:ec2/eip:Eip", "aws:ec2/vpc:Vpc", "aws:kms/key:Key"})
"""Types of which AWS takes a second one beside the first: replaced without a gap. All others have a name, a place or a
range of their own that only one can have, so the old one goes first."""


@dataclass(frozen=True, slots=True)
class Made:
    """The registered resources, by plan id."""

    resources: Mapping[str, pulumi.Resource]

    def output(self, ref: Ref) -> Any:
        """Return the pulumi.Output behind a reference.

        Raises:
            KeyError: nobody registered the resource, or its output was not announced.
        """
        return output_of(self.resources[ref.resource], ref)


def register(resources: Iterable[PlanResource], provider: pulumi.ProviderResource, asked: Iterable[Ref]) -> Made:
    """Registers every resource.

    Args:
        resources: of the plan, in any order.
        provider: of all of them.
        asked: references from elsewhere; those between the resources are found here.

    Raises:
        ValueError: a resource needs or refers to one that is not there.
    """
    known = list(resources)
    refs = [*asked, *(ref for resource in known for ref in references(resource.inputs))]
    outputs: dict[str, set[str]] = {}
    for ref in refs:
        outputs.setdefault(ref.resource, set()).add(first(ref))
    missing = outputs.keys() - {resource.id for resource in known}
    if missing:
        raise ValueError(f"the plan refers to {', '.join(sorted(missing))}, which it does not hold")
    made: dict[str, pulumi.Resource] = {}
    for resource in in_order(known):
        made[resource.id] = _registered(resource, provider, made, outputs.get(resource.id, set()))
    return Made(made)


def _registered(
    resource: PlanResource, provider: pulumi.ProviderResource, made: dict[str, pulumi.Resource], outputs: set[str]
) -> pulumi.Resource:
    # The SDK resolves an output only where the property is announced; None is not sent.
    announced = dict.fromkeys(sorted(outputs - {"id", SELF}))
    properties = {**announced, **sent(resource.inputs, Made(made).output)}
    options = _options(resource, [made[need] for need in resource.needs])
    if resource.type != CLUSTER:
        own = pulumi.ResourceOptions(provider=provider, version=AWS_VERSION)
        merged = pulumi.ResourceOptions.merge(options, own)
        return pulumi.CustomResource(resource.type, resource.id, properties, merged)
    own = pulumi.ResourceOptions(providers={"aws": provider}, version=EKS_VERSION, transforms=[_patient])
    merged = pulumi.ResourceOptions.merge(options, own)
    return pulumi.ComponentResource(resource.type, resource.id, properties, merged, remote=True)


def _options(resource: PlanResource, needs: list[pulumi.Resource]) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(
        depends_on=needs,
        ignore_changes=list(resource.ignore),
        retain_on_delete=resource.retained or None,
        delete_before_replace=None if resource.type in (*NEW_FIRST, CLUSTER) else True,
        custom_timeouts=_timeouts(resource.type),
    )


def _timeouts(token: str) -> pulumi.CustomTimeouts | None:
    wait = TIMEOUTS.get(token)
    return None if wait is None else pulumi.CustomTimeouts(create=wait, update=wait, delete=wait)


def _patient(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
    """Gives the control plane inside the component its time: a component hands none of its own on."""
    if args.type_ != CONTROL_PLANE:
        return None
    options = pulumi.ResourceOptions.merge(args.opts, pulumi.ResourceOptions(custom_timeouts=_timeouts(args.type_)))
    return pulumi.ResourceTransformResult(props=args.props, opts=options)
