"""Records of Helm releases in the cluster: one Secret or ConfigMap for each revision, chosen by HELM_DRIVER.

Read as metadata only: the records hold the values of the release.
"""

import re
from dataclasses import dataclass

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError

_RECORD = re.compile(r"sh\.helm\.release\.v1\.(.+)\.v([0-9]+)")
_STORES = ("secrets", "configmaps")
_KINDS = {"secrets": "Secret", "configmaps": "ConfigMap"}
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


@dataclass(frozen=True, slots=True)
class Record:
    """One revision of a release."""

    kind: str
    namespace: str
    name: str
    uid: str
    revision: int
    status: str


def records_of(kube: Kube, namespace: str, release: str) -> list[Record]:
    """Return the revisions of a release, oldest first; none if it does not exist."""
    found = [record for store in _STORES for record in _in_store(kube, store, namespace, release)]
    return sorted(found, key=lambda record: record.revision)


def remove_pending(kube: Kube, records: list[Record]) -> bool:
    """Delete the record of the last revision if that one is pending; return whether it was."""
    if not records or not records[-1].status.startswith("pending"):
        return False
    last = records[-1]
    kube.delete("v1", last.kind, last.name, last.namespace, uid=last.uid)
    return True


def _in_store(kube: Kube, store: str, namespace: str, release: str) -> list[Record]:
    path = f"/api/v1/namespaces/{namespace}/{store}"
    params = {"labelSelector": f"owner=helm,name={release}"}
    try:
        page = kube.request("GET", path, params=params, headers=[("Accept", _METADATA)])
    except ApiError as error:
        if error.status in {403, 404}:
            return []
        raise
    records = []
    for item in page.get("items") or []:
        metadata = item["metadata"]
        if (parsed := _RECORD.fullmatch(metadata["name"])) is not None:
            status = str((metadata.get("labels") or {}).get("status", ""))
            identity = (metadata["namespace"], metadata["name"], str(metadata.get("uid") or ""))
            records.append(Record(_KINDS[store], *identity, int(parsed[2]), status))
    return records
