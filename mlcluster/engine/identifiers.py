"""Predict the ID that a provider gives a resource from its inputs, to find what a killed run was creating.

Kubernetes objects and Helm releases are called NAMESPACE/NAME. Of AWS only types whose import ID is made of inputs are
here (source: "Import" section of each type in the registry documentation of pulumi-aws 7.51); others get a random ID
from AWS, and a killed creation of one is found by its tags at the end of `down`.
"""

import re
from collections.abc import Mapping
from typing import Any

_AWS_IDS = {
    "aws:cloudwatch/eventRule:EventRule": "{name}",
    "aws:cloudwatch/logGroup:LogGroup": "{name}",
    "aws:eks/accessEntry:AccessEntry": "{clusterName}:{principalArn}",
    "aws:eks/addon:Addon": "{clusterName}:{addonName}",
    "aws:eks/cluster:Cluster": "{name}",
    "aws:eks/nodeGroup:NodeGroup": "{clusterName}:{nodeGroupName}",
    "aws:iam/role:Role": "{name}",
    "aws:kms/alias:Alias": "{name}",
    "aws:ec2/placementGroup:PlacementGroup": "{name}",
}
_FIELD = re.compile(r"{(\w+)}")


def provider_id(resource: Mapping[str, Any]) -> str:
    """The provider's ID of a resource in the state, "" when its inputs do not tell.

    Args:
        resource: as the state holds it: `type` and `inputs`.
    """
    inputs = resource.get("inputs") or {}
    kind = str(resource.get("type") or "")
    if kind.startswith(("aws:", "eks:")):
        pattern = _AWS_IDS.get(kind, "")
        parts = [str(inputs.get(name) or "") for name in _FIELD.findall(pattern)]
        return pattern.format(**inputs) if parts and all(parts) else ""
    named = inputs.get("metadata") if "metadata" in inputs else inputs
    if not isinstance(named, dict) or not named.get("name"):
        return ""
    return f"{named['namespace']}/{named['name']}" if named.get("namespace") else str(named["name"])
