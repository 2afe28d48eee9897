"""Detection signatures of installed components, and the duties that each has in a cluster.

The components' own signs stand in components.json; neighbours.json has those of what is no component of ours but would
get in the way of one: node feature discovery, a cloud's device plugin, an adapter for metrics.
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
    """On what it depends whether something has a duty; without any field it always has.

    Attributes:
        off: path in the chart's values; false there takes the duty away.
        on: path in the chart's values, or of an object of `kind`; only what is set there brings the duty.
        kind: of the object that `on` is looked up in, e.g. NicClusterPolicy.
        spec: what to write in the spec so that ours leaves the duty to others.
        later: whoever installed it elsewhere may take the duty up later: only its operator makes the workload.
    """

    off: str = ""
    on: str = ""
    kind: str = ""
    spec: str = ""
    later: bool = False


@dataclass(frozen=True, slots=True)
class Signs:
    """The signs of one thing that may be installed.

    Attributes:
        name: of the component, or of the neighbour.
        charts: names of Helm charts.
        images: ends of image repositories, e.g. nvidia/k8s-device-plugin: a mirror keeps them.
        workloads: patterns (`*`) of names of Deployments and DaemonSets.
        definitions: names of custom resource definitions.
        webhooks: patterns of names of webhook configurations.
        api_services: patterns of names of APIServices that something in the cluster serves.
        makers: kinds of objects (Kind.group) whose controller it is: workloads that such an object owns are its doing.
        duties: what only one may do in a cluster -> on what it depends.
        definitions_in: whether its chart makes the definitions anew (templates) or takes them as they are (crds).
        adopts: versions that can be used with `install: false`: a range of the chart's, "" for any.
        adopts_image: the same for image tags, where no chart is known.
    """

    name: str
    title: str
    charts: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    api_services: tuple[str, ...] = ()
    makers: tuple[str, ...] = ()
    duties: Mapping[str, Switch] = field(default_factory=dict)
    definitions_in: Literal["templates", "crds"] = "crds"
    adopts: str = ""
    adopts_image: str = ""


@cache
def all_signs() -> Mapping[str, Signs]:
    """The signs of every component and neighbour that has any, by name; neighbours last."""
    found = {name: _signs(name, pin.title, pin.signs) for name, pin in pins().items() if pin.signs}
    text = Path(__file__).with_name("neighbours.json").read_text("utf-8")
    for name, entry in json.loads(text).items():
        found[name] = _signs(name, entry["title"], entry["signs"])
    return found


_LISTS = {
    "charts": "charts",
    "images": "images",
    "workloads": "workloads",
    "definitions": "definitions",
    "webhooks": "webhooks",
    "apiServices": "api_services",
    "makers": "makers",
}
_WORDS = {"definitionsIn": "definitions_in", "adopts": "adopts", "adoptsImage": "adopts_image"}


def _signs(name: str, title: str, entry: Mapping[str, Any]) -> Signs:
    """Raises KeyError for a key that is none: a sign with a typo would find nothing."""
    fields: dict[str, Any] = {}
    for key, value in entry.items():
        if key == "duties":
            fields["duties"] = {duty: Switch(**switch) for duty, switch in value.items()}
        elif key in _LISTS:
            fields[_LISTS[key]] = tuple(value)
        else:
            fields[_WORDS[key]] = value
    return Signs(name=name, title=title, **fields)
