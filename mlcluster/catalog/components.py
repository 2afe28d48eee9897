"""Components: the exact version, the source and the known facts of each (components.json).

Bump a version there and nowhere else. The order of the file is the order of components in every plan.
`docs/components.md` is made from the same file.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class ComponentPin:
    """A component at one exact version.

    Attributes:
        name: key of the catalog, and name of the Helm release.
        chart: name of the chart, or the whole reference of an OCI chart; "" where we write the objects ourselves.
        version: of the chart, else of the images.
        repository: URL of the chart repository; "" for OCI.
        oldest: first supported minor version of Kubernetes; "" if upstream does not document it.
        newest: last minor version of Kubernetes with which it is known to work; "" if unknown.
        images: by path in the chart's values, by kind and name of an object ("EnvoyProxy mlcluster"), or by a name
            in mlcluster if there is no chart: the image, or the registry at the path.
        source: source of the facts; `date` is the day of reading (YYYY-MM-DD).
        confirmed: read in the source itself, or second-hand.
        why: its purpose.
        sets: path in the values -> the reason why mlcluster sets it.
        checks: the checks of it, and the modules that make them.
        removal: how it is removed.
        records: known facts about steps between versions (`rules.upgrades`).
        signatures: detection signature of an installation (`catalog.signatures`).
        residue: leftover resources of its chart after an uninstall (`catalog.residue`).
        field: its field in the spec's `components`, and its module in `plan.components`; "" if another part of the spec
            selects it, then the module has its own name.
        requires: components that are installed with it.
        after: components that come before it if the plan has them.
        chart_of: the component that this chart is one more chart of; "" for a component.
    """

    name: str
    title: str
    chart: str
    version: str
    repository: str
    namespace: str
    oldest: str
    newest: str
    source: str
    date: str
    confirmed: Literal["source", "second-hand"]
    images: Mapping[str, str]
    why: str
    sets: Mapping[str, str]
    checks: tuple[str, ...]
    removal: str
    records: tuple[Mapping[str, Any], ...]
    signatures: Mapping[str, Any]
    residue: Mapping[str, Any]
    field: str = ""
    requires: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    chart_of: str = ""


@cache
def pins() -> Mapping[str, ComponentPin]:
    """Return every pin by name, in the order of the file."""
    text = Path(__file__).with_name("components.json").read_text("utf-8")
    return {name: _pin(name, entry) for name, entry in json.loads(text).items()}


def pin(name: str) -> ComponentPin:
    """Return the pin of a component.

    Raises:
        KeyError: the catalog has no such component.
    """
    return pins()[name]


def chart_name(chart: str) -> str:
    """Return the name of a chart, given by name or by an OCI reference: kueue of oci://registry.k8s.io/kueue/charts/kueue."""
    return chart.rstrip("/").rpartition("/")[2]


def _pin(name: str, entry: dict[str, Any]) -> ComponentPin:
    kubernetes = entry.pop("kubernetes")
    for key in ("checks", "records", "requires", "after"):
        entry[key] = tuple(entry.get(key, ()))
    return ComponentPin(name=name, oldest=kubernetes["oldest"], newest=kubernetes["newest"], **entry)
