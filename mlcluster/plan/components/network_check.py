"""A shell script that checks whether a pod could join the secondary networks of a node."""

from mlcluster.plan.components.context import ComponentContext
from mlcluster.spec.components.network import SecondaryNetwork
from mlcluster.spec.secondary_networks import operator_runs

_HEAD = """\
#!/bin/bash
# Ends with 1 when the networks are there: node problem detector then sets the condition to True.
missing=""
need() { [ -e "/host$1" ] || missing="$missing $1"; }
"""
_TAIL = """\
if [ -n "$missing" ]; then
  echo "missing:$missing"
  exit 0
fi
echo "ready"
exit 1
"""
_OF_IPAM = {"whereabouts": "whereabouts", "nv-ipam": "nv-ipam", "static": "static", "dhcp": "dhcp"}


def network_check(context: ComponentContext, networks: tuple[SecondaryNetwork, ...]) -> str:
    """Return the script: it checks the configuration of Multus, every CNI plugin, and the interface of every network.

    The script does not check devices: a pod that requests a device waits for it in the scheduler.
    """
    paths = ["/etc/cni/net.d/00-multus.conf"]
    if not operator_runs(context.spec):
        paths.append("/run/multus/multus.sock")
    for network in networks:
        paths.append(f"/opt/cni/bin/{network.type}")
        if network.ipam is not None:
            paths.append(f"/opt/cni/bin/{_OF_IPAM[network.ipam.type]}")
        if network.master is not None:
            paths.append(f"/sys/class/net/{network.master}")
    wanted = "".join(f'need "{path}"\n' for path in dict.fromkeys(paths))
    return f"{_HEAD}{wanted}{_TAIL}"
