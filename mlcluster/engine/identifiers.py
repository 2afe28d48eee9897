"""Prediction of provider IDs from the inputs of resources, to find the resources that a killed run was creating.

The ID of a Kubernetes object or Helm release is NAMESPACE/NAME. For AWS, this module lists only types whose import ID
consists of inputs (source: "Import" section of each type in the registry documentation of pulumi-aws 7.51). AWS gives
the other types a random ID; the search at the end of `down` finds them by their tags.
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
    """Return the provider ID of a resource in the state, "" if its inputs do not determine it.

    Args:
        resource: its entry in the state, with `type` and `inputs`.
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
