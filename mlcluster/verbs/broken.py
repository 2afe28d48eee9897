"""Registrations at the API server that lead nowhere: webhooks and aggregated APIs whose Service is gone.

A webhook without a Service refuses every write that it would look at; an aggregated API without one keeps every
namespace from going (handbook components.md 11.2).
"""

from collections.abc import Iterator, Mapping

from mlcluster.catalog.leaves import Leaves
from mlcluster.kube.client import Kube, Object
from mlcluster.kube.controllers import is_of, listed
from mlcluster.progress import Progress

_ADMISSION = "admissionregistration.k8s.io/v1"
_WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_AGGREGATED = ("apiregistration.k8s.io/v1", "APIService")


def remove_broken(kube: Kube, release: str, namespace: str, leaves: Leaves, progress: Progress) -> None:
    """Deletes what a release whose programs are gone has registered, where nobody answers any more; tells each."""
    for kind in _WEBHOOKS:
        for item in listed(kube, _ADMISSION, kind):
            ours = item["metadata"]["name"] in leaves.webhooks or is_of(item, namespace, release)
            if ours and _all_dead(kube, [hook.get("clientConfig") or {} for hook in item.get("webhooks") or []]):
                _remove(kube, item, release, progress)
    for item in listed(kube, *_AGGREGATED):
        ours = item["metadata"]["name"] in leaves.api_services or is_of(item, namespace, release)
        if ours and _all_dead(kube, [item.get("spec") or {}]):
            _remove(kube, item, release, progress)


def _remove(kube: Kube, item: Object, release: str, progress: Progress) -> None:
    name = item["metadata"]["name"]
    kube.delete(item["apiVersion"], item["kind"], name, uid=item["metadata"]["uid"])
    progress.say(f"removed {item['kind']} {name}, which {release} left behind: nobody answers there")


def _all_dead(kube: Kube, clients: list[Mapping[str, Object]]) -> bool:
    """Whether each of them names a Service, and none of these has an endpoint."""
    return all(client.get("service") for client in clients) and not any(
        True for client in clients for _ in _endpoints(kube, client["service"])
    )


def _endpoints(kube: Kube, service: Mapping[str, str]) -> Iterator[Object]:
    namespace, name = service["namespace"], service["name"]
    if kube.get_object("v1", "Service", name, namespace) is None:
        return
    for item in listed(kube, "discovery.k8s.io/v1", "EndpointSlice", namespace):
        if (item["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == name:
            yield from item.get("endpoints") or []
