"""Remove fields that other managers added to an object whose manifest is exact."""

from typing import Any

from mlcluster.kube.added_fields import IsOurs, added_fields, without_added
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError

Object = dict[str, Any]

_JSON_PATCH = "application/json-patch+json"
_TRIES = 5  # until no other manager wrote in between


def make_exact(kube: Kube, wanted: Object, live: Object, is_ours: IsOurs, field_manager: str) -> Object:
    """Return the live object without added fields; nothing is written when there are none.

    Args:
        kube: the API server.
        wanted: the manifest.
        live: the object as the server returned it last.
        is_ours: tells the entries of `managedFields` that belong to the manifest's own manager.
        field_manager: of the removal, which owns nothing afterwards.

    Raises:
        ApiError: the server refuses the removal, or the object changes all the time.
    """
    for tries_left in reversed(range(_TRIES)):
        added = added_fields(wanted, live, is_ours)
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
