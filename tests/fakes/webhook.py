"""An admission webhook on loopback that answers when the test says so, and a real chart that registers it.

hook = Webhook()                 # a port that nobody listens on
write_chart(tmp_path, hook)      # CRD in crds/, ValidatingWebhookConfiguration in templates/
hook.answer()                    # from now on it allows what does not say `refuse: true`
hook.close()
"""

import base64
import json
import ssl
import tempfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from mlcluster.lab.pki import Authority, Subject, pem, private_pem
from mlcluster.lab.ports import free_ports

GROUP, VERSION, KIND, PLURAL = "example.test", "v1", "Gadget", "gadgets"
API = f"{GROUP}/{VERSION}"
DEFINITION = f"{PLURAL}.{GROUP}"


def gadget(name: str, namespace: str = "", **metadata: Any) -> dict[str, Any]:
    """An object that the webhook looks at."""
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": API, "kind": KIND, "metadata": {"name": name, **place, **metadata}}


@dataclass
class Webhook:
    """One webhook on a port where nobody listens until `answer`; it refuses an object that is called "refused".

    Attributes:
        asked: what it was asked: (name of the object, whether it was a dry run).
    """

    port: int = field(default_factory=lambda: free_ports(1)[0])
    asked: list[tuple[str, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._authority = Authority("webhook-ca")
        self._server: ThreadingHTTPServer | None = None

    @property
    def configuration(self) -> dict[str, Any]:
        """What registers it."""
        client = {
            "url": f"https://127.0.0.1:{self.port}/",
            "caBundle": base64.b64encode(pem(self._authority.certificate)).decode(),
        }
        rule = {"apiGroups": [GROUP], "apiVersions": [VERSION], "operations": ["CREATE"], "resources": [PLURAL]}
        hook = {
            "name": f"look.{GROUP}",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "timeoutSeconds": 2,
            "clientConfig": client,
            "rules": [rule],
        }
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "gadgets"},
            "webhooks": [hook],
        }

    def answer(self) -> None:
        """Begins to listen; once more changes nothing."""
        if self._server is not None:
            return
        certificate, key = self._authority.issue(Subject("webhook", serves=("127.0.0.1",)))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile() as file:
            file.write(private_pem(key) + pem(certificate))
            file.flush()
            context.load_cert_chain(file.name)
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                request = review["request"]
                asked.append((request["name"], bool(request["dryRun"])))
                allowed = request["name"] != "refused"
                told = {"uid": request["uid"], "allowed": allowed, "status": {"message": "not this one"}}
                body = json.dumps({**review, "request": None, "response": told}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stops to listen."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


def write_chart(directory: Path, hook: Webhook) -> Path:
    """A chart whose `crds/` folder has the definition, which Helm never deletes."""
    chart = directory / "gadgets"
    for folder in ("crds", "templates"):
        (chart / folder).mkdir(parents=True, exist_ok=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: gadgets\nversion: 1.0.0\n", "utf-8")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": VERSION, "served": True, "storage": True, "schema": schema}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": DEFINITION},
        "spec": {
            "group": GROUP,
            "names": {"kind": KIND, "plural": PLURAL, "singular": "gadget"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }
    (chart / "crds" / "gadgets.json").write_text(json.dumps(crd), "utf-8")
    (chart / "templates" / "webhook.json").write_text(json.dumps(hook.configuration), "utf-8")
    return chart
