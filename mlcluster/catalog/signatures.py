"""Detection signatures of installed components, and the duties that each has in a cluster.

components.json has the signatures of components. neighbours.json has those of other software that conflicts with a
component: node feature discovery, the device plugin of a cloud provider, a metrics adapter.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from mlcluster.catalog.components import pins


@dataclass(frozen=True, slots=True)
class Switch:
    """Condition under which an installation has a duty. Without fields, it always has the duty.

    Attributes:
        off: path in the chart's values; `false` there disables the duty.
        on: path in the chart's values, or in an object of `kind`; the duty is enabled only if a value is set there.
        kind: kind of the object in which `on` is read, e.g. NicClusterPolicy.
        spec: spec entry that makes the planned component leave the duty to an existing installation.
        later: the duty can be enabled after the installation, because an operator creates the workload.
    """

    off: str = ""
    on: str = ""
    kind: str = ""
    spec: str = ""
    later: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """The detection signature of one component or neighbour.

    Attributes:
        name: of the component, or of the neighbour.
        charts: names of Helm charts.
        images: suffixes of image repositories, e.g. nvidia/k8s-device-plugin; a mirror keeps them.
        workloads: patterns (`*`) of names of Deployments and DaemonSets.
        crds: names of CRDs.
        webhooks: patterns of names of webhook configurations.
        api_services: patterns of names of APIServices that a Service in the cluster serves.
        makers: kinds of objects (Kind.group) that its controller reconciles: it created the workloads that they own.
        duties: duty that only one installation in a cluster can have -> its condition.
        crds_in: where its chart has its CRDs: `templates`, or the `crds` directory, which skips existing CRDs.
        adopts: range of chart versions that work with `install: false`; "": any.
        adopts_image: range of image tags that work with `install: false`, if the chart is unknown.
    """

    name: str
    title: str
    charts: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    crds: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    api_services: tuple[str, ...] = ()
    makers: tuple[str, ...] = ()
    duties: Mapping[str, Switch] = field(default_factory=dict)
    crds_in: Literal["templates", "crds"] = "crds"
    adopts: str = ""
    adopts_image: str = ""


@cache
def all_signatures() -> Mapping[str, Signature]:
    """Return every detection signature by the name of its component or neighbour; neighbours come last."""
    found = {name: _signature(name, pin.title, pin.signatures) for name, pin in pins().items() if pin.signatures}
    text = Path(__file__).with_name("neighbours.json").read_text("utf-8")
    for name, entry in json.loads(text).items():
        found[name] = _signature(name, entry["title"], entry["signatures"])
    return found


_LISTS = {
    "charts": "charts",
    "images": "images",
    "workloads": "workloads",
    "crds": "crds",
    "webhooks": "webhooks",
    "apiServices": "api_services",
    "makers": "makers",
}
_WORDS = {"crdsIn": "crds_in", "adopts": "adopts", "adoptsImage": "adopts_image"}


def _signature(name: str, title: str, entry: Mapping[str, Any]) -> Signature:
    """Return a signature. Raises KeyError for an unknown key: a signature with a typo would match nothing."""
    fields: dict[str, Any] = {}
    for key, value in entry.items():
        if key == "duties":
            fields["duties"] = {duty: Switch(**switch) for duty, switch in value.items()}
        elif key in _LISTS:
            fields[_LISTS[key]] = tuple(value)
        else:
            fields[_WORDS[key]] = value
    return Signature(name=name, title=title, **fields)
