"""Charts and images from one mirror, for sites without internet access (`components.registry`)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mlcluster.catalog.components import ComponentPin, pins
from mlcluster.plan.model import PlanObject, PlanRelease
from mlcluster.plan.value_paths import catalog_path, with_value

CHARTS = "charts"


def mirrored_release(release: PlanRelease, registry: str) -> PlanRelease:
    """Return the release with its chart from `oci://REGISTRY/charts/NAME`, and its images from the same registry.

    Values of the spec are left unchanged, including values with an image.
    """
    known = next((pin for pin in pins().values() if pin.chart == release.chart), None)
    values = release.values
    for path, image in known.images.items() if known else ():
        keys = catalog_path(path)
        if is_value(path) and not any(keys[: len(given)] == given for given in release.overrides):
            values = with_value(values, keys, mirrored(_of_version(image, known, release.version), registry))
    chart = f"oci://{registry}/{CHARTS}/{release.chart.rpartition('/')[2]}"
    return replace(release, chart=chart, repository="", values=values)


def _of_version(image: str, known: ComponentPin | None, version: str) -> str:
    """Return the image at this version of the release, if the catalog's image has the version of its pin."""
    there = f":{known.version}" if known else ""
    return f"{image.removesuffix(there)}:{version}" if there and image.endswith(there) else image


def mirrored_object(entry: PlanObject, registry: str) -> PlanObject:
    """Return a managed object with its images from the mirror."""
    return replace(entry, manifest=_images(entry.manifest, registry))


def is_value(path: str) -> bool:
    """Return whether a key of a pin's images is a path in the values of its chart; other keys are kinds of objects."""
    return " " not in path


def mirrored(image: str, registry: str) -> str:
    """Return `REGISTRY/` and the image without its host: nvcr.io/nvidia/driver becomes REGISTRY/nvidia/driver.

    A host alone, which some charts require, becomes REGISTRY; an image that is already in REGISTRY stays unchanged.
    """
    if image.startswith(f"{registry}/"):
        return image
    host, slash, path = image.partition("/")
    if not slash and "." in host and ":" not in host:
        return registry
    is_host = bool(slash) and ("." in host or ":" in host or host == "localhost")
    return f"{registry}/{path if is_host else image}"


def _images(node: Any, registry: str) -> Any:
    """Return the manifest with the images of all its containers from the mirror."""
    if isinstance(node, Mapping):
        is_container = isinstance(node.get("image"), str) and "name" in node
        return {
            key: mirrored(value, registry) if key == "image" and is_container else _images(value, registry)
            for key, value in node.items()
        }
    return [_images(item, registry) for item in node] if isinstance(node, list) else node
