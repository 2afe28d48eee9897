"""Webhooks and aggregated APIs without endpoints: registrations at the API server whose Service is gone.

A webhook without a Service refuses every write that it would look at; an aggregated API without one keeps every
namespace from going.
"""

from collections.abc import Iterator, Mapping

from mlcluster.catalog.residue import Residue
from mlcluster.kube.client import Kube, Object
from mlcluster.kube.controllers import is_of, list_if_served, owner_of
from mlcluster.progress import Progress

_ADMISSION = "admissionregistration.k8s.io/v1"
_WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_AGGREGATED = ("apiregistration.k8s.io/v1", "APIService")


def remove_broken(kube: Kube, release: str, namespace: str, residue: Residue, progress: Progress) -> None:
    """Delete the registrations of a release whose programs are gone, if their Services have no endpoint.

    A registration of another party with the same name stays: its Service is in another namespace, or its Helm
    annotations name another release.
    """
    for kind in _WEBHOOKS:
        for item in list_if_served(kube, _ADMISSION, kind):
            clients = [hook.get("clientConfig") or {} for hook in item.get("webhooks") or []]
            named = item["metadata"]["name"] in residue.webhooks and _leads_to(clients, namespace)
            if _is_managed(item, namespace, release, named=named) and _all_dead(kube, clients):
                _remove(kube, item, release, progress)
    for item in list_if_served(kube, *_AGGREGATED):
        clients = [item.get("spec") or {}]
        named = item["metadata"]["name"] in residue.api_services and _leads_to(clients, namespace)
        if _is_managed(item, namespace, release, named=named) and _all_dead(kube, clients):
            _remove(kube, item, release, progress)


def _is_managed(item: Object, namespace: str, release: str, *, named: bool) -> bool:
    return is_of(item, namespace, release) or (named and not owner_of(item))


def _leads_to(clients: list[Mapping[str, Object]], namespace: str) -> bool:
    return all((client.get("service") or {}).get("namespace") == namespace for client in clients)


def _remove(kube: Kube, item: Object, release: str, progress: Progress) -> None:
    name = item["metadata"]["name"]
    kube.delete(item["apiVersion"], item["kind"], name, uid=item["metadata"]["uid"])
    progress.say(f"removed {item['kind']} {name}, which {release} left behind: its Service has no endpoint")


def _all_dead(kube: Kube, clients: list[Mapping[str, Object]]) -> bool:
    """Return whether each client names a Service, and none of these has an endpoint."""
    return all(client.get("service") for client in clients) and not any(
        True for client in clients for _ in _endpoints(kube, client["service"])
    )


def _endpoints(kube: Kube, service: Mapping[str, str]) -> Iterator[Object]:
    namespace, name = service["namespace"], service["name"]
    if kube.get_object("v1", "Service", name, namespace) is None:
        return
    for item in list_if_served(kube, "discovery.k8s.io/v1", "EndpointSlice", namespace):
        if (item["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == name:
            yield from item.get("endpoints") or []
