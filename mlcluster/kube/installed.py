"""Discovery of existing installations. Kinds without list permission are reported, never treated as absent.

Lists of CRDs, webhooks and release records request only metadata: CRDs take megabytes, and records contain values. Then
one record of each release is read, of which only chart, versions and status are used.
"""

import base64
import binascii
import json
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError, Forbidden
from mlcluster.plan import names
from mlcluster.rules.cluster_facts import Named, Release, Seen, Workload
from mlcluster.rules.makers import maker_of

Object = dict[str, Any]
Thing = TypeVar("Thing")

RECORDS = "Helm's release records"
WORKLOADS = {"Deployment": "deployments", "DaemonSet": "daemon sets"}

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_STORES = ("/api/v1/secrets", "/api/v1/configmaps")  # Helm stores records here, according to HELM_DRIVER
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
_PAGE = "500"
_RECORD = re.compile(r"sh\.helm\.release\.v1\.(.+)\.v([0-9]+)")
_LARGEST = 64 << 20  # bytes of an unpacked record; a packed one has at most 1.5 MB, the limit of etcd


def look(kube: Kube) -> Seen:
    """Return the existing installations of a cluster.

    Raises:
        Unreachable: the server does not respond.
        ApiError: the server returns an error other than Forbidden.
    """
    blind: dict[str, str] = {}

    def tried(what: str, read: Callable[[Kube], Iterator[Thing]]) -> tuple[Thing, ...]:
        return _tried(blind, what, lambda: read(kube))

    return Seen(
        kubernetes=kube.version(),
        releases=tried(RECORDS, _releases),
        workloads=tried(WORKLOADS["Deployment"], _deployments) + tried(WORKLOADS["DaemonSet"], _daemon_sets),
        crds=tried("custom resource definitions", _crds),
        webhooks=tried("webhook configurations", _webhooks),
        api_services=tried("API services", _api_services),
        namespaces=tried("namespaces", _namespaces),
        blind=blind,
    )


def _tried(blind: dict[str, str], what: str, read: Callable[[], Iterator[Thing]]) -> tuple[Thing, ...]:
    """Return the entries that were read, and note a kind whose list is forbidden; a missing kind has no note."""
    try:
        return tuple(read())
    except Forbidden as error:
        blind[what] = error.message
    except ApiError as error:
        if error.status != 404:
            raise
    return ()


def _deployments(kube: Kube) -> Iterator[Workload]:
    return (_workload(item) for item in kube.list("apps/v1", "Deployment"))


def _daemon_sets(kube: Kube) -> Iterator[Workload]:
    return (_workload(item) for item in kube.list("apps/v1", "DaemonSet"))


def _workload(item: Object) -> Workload:
    metadata, pod = item["metadata"], item["spec"]["template"].get("spec") or {}
    labels = metadata.get("labels") or {}
    return Workload(
        kind=item["kind"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        images=tuple(container.get("image", "") for container in pod.get("containers") or []),
        maker=maker_of(metadata),
        chart=labels.get("helm.sh/chart", ""),
        version=labels.get("app.kubernetes.io/version", ""),
    )


def _crds(kube: Kube) -> Iterator[Named]:
    for metadata in _metadata(kube, _DEFINITIONS):
        yield _named("CustomResourceDefinition", metadata)


def _webhooks(kube: Kube) -> Iterator[Named]:
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for metadata in _metadata(kube, f"{_ADMISSION}/{kind.lower()}s"):
            yield _named(kind, metadata)


def _namespaces(kube: Kube) -> Iterator[Named]:
    for metadata in _metadata(kube, "/api/v1/namespaces"):
        yield _named("Namespace", metadata)


def _api_services(kube: Kube) -> Iterator[Named]:
    for item in kube.list("apiregistration.k8s.io/v1", "APIService"):
        service = item["spec"].get("service")
        if service:
            yield _named("APIService", item["metadata"], f"{service.get('namespace')}/{service.get('name')}")


def _named(kind: str, metadata: Object, service: str = "") -> Named:
    labels = metadata.get("labels") or {}
    chart, version = labels.get("helm.sh/chart", ""), labels.get("app.kubernetes.io/version", "")
    return Named(kind, metadata["name"], maker_of(metadata), chart, version, service)


def _releases(kube: Kube) -> Iterator[Release]:
    """Yield every release that is not uninstalled, with its deployed revision, or else its last one."""
    revisions: dict[tuple[str, str], list[tuple[int, Object, str]]] = {}
    for store in _STORES:
        for metadata in _metadata(kube, store, "owner=helm"):
            parsed = _RECORD.fullmatch(metadata["name"])
            if parsed:
                key = (metadata["namespace"], parsed[1])
                revisions.setdefault(key, []).append((int(parsed[2]), metadata, store))
    for (namespace, name), found in sorted(revisions.items()):
        found.sort(key=lambda entry: entry[0])
        _, last, _ = found[-1]
        if _status(last) in {"uninstalled", "uninstalling"}:
            continue
        deployed = [entry for entry in found if _status(entry[1]) == "deployed"]
        _, metadata, store = (deployed or found)[-1]
        yield _release(namespace, name, last, _chart(_record(kube, _path(store, namespace, metadata["name"]))))


def _record(kube: Kube, path: str) -> Object:
    """Return a release record; {} if Helm deleted it after the list, because Helm keeps ten records per release."""
    try:
        return kube.request("GET", path)
    except ApiError as error:
        if error.status == 404:
            return {}
        raise


def _status(metadata: Object) -> str:
    return str((metadata.get("labels") or {}).get("status", ""))


def _path(store: str, namespace: str, name: str) -> str:
    root, plural = store.rsplit("/", 1)
    return f"{root}/namespaces/{namespace}/{plural}/{name}"


def _release(namespace: str, name: str, last: Object, chart: Object) -> Release:
    cluster = (last.get("labels") or {}).get(names.CLUSTER, "")
    version, app_version = str(chart.get("version") or ""), str(chart.get("appVersion") or "")
    return Release(namespace, name, str(chart.get("name") or ""), version, app_version, _status(last), cluster)


def _chart(record: Object) -> Object:
    """Return the chart's metadata from a release record; {} if its encoding is unknown."""
    try:
        packed = base64.b64decode((record.get("data") or {}).get("release") or "")
        if record.get("kind") != "ConfigMap":  # the data of a Secret has a second base64 encoding
            packed = base64.b64decode(packed)
        text = zlib.decompressobj(wbits=31).decompress(packed, _LARGEST)
        chart = (json.loads(text).get("chart") or {}).get("metadata") or {}
    except (binascii.Error, zlib.error, ValueError, AttributeError):
        return {}
    return chart if isinstance(chart, dict) else {}


def _metadata(kube: Kube, path: str, selector: str = "") -> Iterator[Object]:
    """Yield the metadata of all objects of a kind, read in pages."""
    params = {"limit": _PAGE} | ({"labelSelector": selector} if selector else {})
    while True:
        page = kube.request("GET", path, params=params, headers=[("Accept", _METADATA)])
        for item in page.get("items") or []:
            yield item["metadata"]
        token = (page.get("metadata") or {}).get("continue")
        if not token:
            return
        params["continue"] = token
