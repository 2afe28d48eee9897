"""`components.registry`: every chart and image from one mirror, for sites that reach nothing else."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mlcluster.catalog.components import pins
from mlcluster.plan.model import Manifest, PlanObject, PlanRelease

CHARTS = "charts"


def mirrored_release(release: PlanRelease, registry: str) -> PlanRelease:
    """The release with its chart from `oci://REGISTRY/charts/NAME`, and its images from the same registry."""
    known = next((pin for pin in pins().values() if pin.chart == release.chart), None)
    values = release.values
    for path, image in known.images.items() if known else ():
        values = _with(values, path.split("."), mirrored(image, registry))
    chart = f"oci://{registry}/{CHARTS}/{release.chart.rpartition('/')[2]}"
    return replace(release, chart=chart, repository="", values=values)


def mirrored_object(entry: PlanObject, registry: str) -> PlanObject:
    """An object of ours with its images from the mirror."""
    return replace(entry, manifest=_images(entry.manifest, registry))


def mirrored(image: str, registry: str) -> str:
    """`REGISTRY/` and the image without its host: nvcr.io/nvidia/driver becomes REGISTRY/nvidia/driver.

    A host alone, which some charts want, becomes REGISTRY.
    """
    host, slash, path = image.partition("/")
    if not slash and "." in host and ":" not in host:
        return registry
    is_host = bool(slash) and ("." in host or ":" in host or host == "localhost")
    return f"{registry}/{path if is_host else image}"


def _with(values: Manifest, path: list[str], value: str) -> Manifest:
    key, *rest = path
    return {**values, key: _with(values.get(key, {}), rest, value) if rest else value}


def _images(node: Any, registry: str) -> Any:
    """Wherever a container says its image."""
    if isinstance(node, Mapping):
        is_container = isinstance(node.get("image"), str) and "name" in node
        return {
            key: mirrored(value, registry) if key == "image" and is_container else _images(value, registry)
            for key, value in node.items()
        }
    return [_images(item, registry) for item in node] if isinstance(node, list) else node
