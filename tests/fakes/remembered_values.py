"""Values that the aws provider keeps where an input is taken away: an update without them changes nothing.

Each path is Optional and Computed in its file of terraform-provider-aws (read on 2026-11-22). The provider's SDK plans
the value of its state for such an argument that the configuration does not have, so there is no difference at all
(Terraform plugin SDK v2, "data consistency errors"; pulumi-terraform-bridge#2152). An explicit value is a difference,
an empty list too. The state is what AWS said last, not what was asked for.
"""

from collections.abc import Mapping
from typing import Any

Values = dict[str, Any]

REMEMBERED: Mapping[str, tuple[str, ...]] = {
    # internal/service/ec2/ec2_launch_template.go
    "aws:ec2/launchTemplate:LaunchTemplate": (
        "blockDeviceMappings.ebs.iops",
        "blockDeviceMappings.ebs.throughput",
        "blockDeviceMappings.ebs.volumeSize",
        "blockDeviceMappings.ebs.volumeType",
    ),
    # internal/service/eks/access_entry.go
    "aws:eks/accessEntry:AccessEntry": ("kubernetesGroups", "userName"),
    # internal/service/eks/addon.go
    "aws:eks/addon:Addon": ("addonVersion", "configurationValues"),
    # internal/service/eks/cluster.go
    "aws:eks/cluster:Cluster": ("accessConfig", "upgradePolicy", "version", "vpcConfig.publicAccessCidrs"),
    # internal/service/eks/node_group.go
    "aws:eks/nodeGroup:NodeGroup": (
        "amiType",
        "capacityType",
        "diskSize",
        "instanceTypes",
        "nodeRepairConfig",
        "releaseVersion",
        "updateConfig",
        "version",
    ),
}
"""Paths by type; a list in a path stands for its elements, which keep their values by their position."""


def planned(token: str, state: Mapping[str, Any], inputs: Mapping[str, Any]) -> Values:
    """Return the inputs with what the provider keeps of the state."""
    found: Any = dict(inputs)
    for path in REMEMBERED.get(token, ()):
        found = _with(found, state, path.split("."))
    return dict(found)


def _with(inputs: Any, state: Any, parts: list[str]) -> Any:
    if isinstance(inputs, list) and isinstance(state, list):
        known = [*state, *[None] * len(inputs)]
        return [_with(one, known[index], parts) for index, one in enumerate(inputs)]
    if not isinstance(inputs, dict) or not isinstance(state, dict) or state.get(parts[0]) is None:
        return inputs
    first, rest = parts[0], parts[1:]
    if rest:
        return {**inputs, first: _with(inputs[first], state[first], rest)} if first in inputs else inputs
    return inputs if inputs.get(first) is not None else {**inputs, first: state[first]}
