"""Removal of fields that other managers added to an object with an exact manifest."""

from typing import Any

from mlcluster.kube.added_fields import IsManaged, added_fields, without_added
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError

Object = dict[str, Any]

_JSON_PATCH = "application/json-patch+json"
_TRIES = 5  # attempts until no other manager writes in between


def make_exact(kube: Kube, wanted: Object, live: Object, is_managed: IsManaged, field_manager: str) -> Object:
    """Remove added fields, if there are any, and return the live object.

    Args:
        kube: the API server.
        wanted: the manifest.
        live: the object that the server last returned.
        is_managed: returns whether an entry of `managedFields` belongs to the manager of the manifest.
        field_manager: the manager of the removal, which owns no field afterwards.

    Raises:
        ApiError: the server rejects the removal, or the object changes at every attempt.
    """
    for tries_left in reversed(range(_TRIES)):
        added = added_fields(wanted, live, is_managed)
        if not added:
            break
        path, patch = kube.path_of(live), without_added(live, added)
        try:
            return kube.request("PATCH", path, patch, content_type=_JSON_PATCH, params={"fieldManager": field_manager})
        except ApiError as error:
            if error.status not in {409, 422} or not tries_left:
                raise
            live = kube.request("GET", path)
    return live
