"""Prerequisites of a controller's process: its objects, its certificate, its permissions."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from mlcluster import __version__
from mlcluster.kube.client import Kube
from mlcluster.lab import components, configs, pki
from mlcluster.lab.control_plane import server_of
from mlcluster.lab.controllers import objects
from mlcluster.lab.controllers.adaptation import Manifest
from mlcluster.lab.controllers.controller import Controller, Site
from mlcluster.lab.controllers.registry import controller
from mlcluster.lab.controllers.rendering import Programs
from mlcluster.lab.lab_state import LabState
from mlcluster.lab.record import ControllerRecord
from mlcluster.progress import Task

_SECONDS = 315_360_000


def provide(lab_state: LabState, wanted: ControllerRecord, kube: Kube, task: Task) -> None:
    """Apply the objects of its chart, unless the same objects are already applied, and write its kubeconfig."""
    site = components.site(lab_state.layout, wanted)
    files = _certificates(controller(wanted.name), site)
    account = _applied(kube, wanted, site, files) or _apply(lab_state, kube, wanted, files, task)
    _write_kubeconfig(lab_state, kube, account, site)


def waiting(lab_state: LabState, task: Task) -> objects.Waiting:
    """Return the progress reporting of a wait for deleted objects, and the check of components it depends on."""
    log = lab_state.layout.log("kube-controller-manager")
    return objects.Waiting(task, log, lambda: lab_state.require("etcd", "kube-apiserver", "kube-controller-manager"))


def withdraw(home: Path) -> None:
    """Record that no object of the controller in `home` is applied."""
    objects.forget(home)
    _mark(home).unlink(missing_ok=True)


def _apply(
    lab_state: LabState, kube: Kube, wanted: ControllerRecord, files: Mapping[str, bytes], task: Task
) -> tuple[str, str]:
    """Render and apply the objects of a controller, and record that; return its service account."""
    found, site = controller(wanted.name), components.site(lab_state.layout, wanted)
    _mark(site.home).unlink(missing_ok=True)
    task.update(f"rendering the manifests of {wanted.name}")
    programs = Programs(lab_state.record.binaries["helm"], lab_state.record.binaries["kubectl"])
    rendered = found.render(programs, wanted.manifests, wanted.settings)
    task.update(f"applying the CRDs and permissions of {wanted.name}")
    objects.apply(kube, found.arrange(rendered, site, files), site.home, waiting(lab_state, task))
    account = _account(rendered)
    pki.write_private(_mark(site.home), json.dumps([_source(wanted, files), *account]).encode())
    return account


def _applied(kube: Kube, wanted: ControllerRecord, site: Site, files: Mapping[str, bytes]) -> tuple[str, str] | None:
    """Return the service account if all objects were applied from the same source and still exist."""
    try:
        source, namespace, name = json.loads(_mark(site.home).read_text())
    except FileNotFoundError:
        return None
    return (namespace, name) if source == _source(wanted, files) and objects.all_there(kube, site.home) else None


def _mark(home: Path) -> Path:
    return home / "applied-from.json"


def _source(wanted: ControllerRecord, files: Mapping[str, bytes]) -> str:
    """Return a digest of the inputs of the applied objects; the path of the manifests contains their version."""
    parts = [
        __version__,
        str(wanted.manifests),
        json.dumps([wanted.settings, wanted.ports], sort_keys=True),
        files["ca.crt"].hex(),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _account(rendered: Iterable[Manifest]) -> tuple[str, str]:
    """Return namespace and name of the service account of the controller's pod, which has the chart's permissions."""
    deployment = next(item for item in rendered if item["kind"] == "Deployment")
    return deployment["metadata"]["namespace"], deployment["spec"]["template"]["spec"]["serviceAccountName"]


def _write_kubeconfig(lab_state: LabState, kube: Kube, account: tuple[str, str], site: Site) -> None:
    """Write a kubeconfig with a token of its service account, which is valid for ten years."""
    namespace, name = account
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": _SECONDS}}
    token = kube.request("POST", path, body=asked)["status"]["token"]
    authority = lab_state.layout.certificate("ca").read_bytes()
    document = configs.kubeconfig_with_token(name, server_of(lab_state.record.ports), authority, token)
    pki.write_private(site.kubeconfig, configs.as_yaml(document))


def _certificates(found: Controller, site: Site) -> dict[str, bytes]:
    """Return the controller's certificates, which are created once per lab."""
    if not (site.certificates / "tls.key").exists():
        site.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        pki.write(site.certificates, found.certificates())
    return {file.name: file.read_bytes() for kind in ("crt", "key") for file in site.certificates.glob(f"*.{kind}")}
