"""docs/air-gapped.md: every chart and image of the catalogue, and where `components.registry` looks for each."""

from collections.abc import Iterator, Mapping, Sequence

from mlcluster.catalog.components import ComponentPin, pins
from mlcluster.plan.components.mirror import CHARTS, is_value, mirrored

MIRROR = "registry.example.com/mirror"

_HEAD = f"""# Sites without a way out

```yaml
components:
  registry: {MIRROR}
```

With this field ([reference](spec.md#componentsregistry)), every chart is taken from `oci://{MIRROR}/charts/NAME`,
and every image from the same registry, under its own path without its host: `nvcr.io/nvidia/driver` becomes
`{MIRROR}/nvidia/driver`. `mlcluster plan` shows the result; nothing else of the plan changes. Node images, the
Kubernetes control plane and what AWS installs as an add-on are not
mlcluster's to fetch and are not listed here. An entry of `values:` that names an image is taken as it is written.

The cluster's container runtime must trust the registry, and the machine that runs `mlcluster up` must be logged in to
it (`helm registry login`). The built-in Kubernetes provider comes with mlcluster. With `kubernetesProvider: official`
bring the plugin along: it is in no package registry.

When a chart cannot be had, `preview` and `up` say which one, in which version, from where, what Helm's cache on this
machine has of it, and what Helm said. Helm uses packages of its cache for nothing: they save the download when you fill
the mirror.

## Plugins of the engine

`local`, and `existing` with the default provider, need none. `mlcluster plugins list cluster.yaml` says which
ones another cluster needs, in which versions. They are not in a package registry: fetch the archives of their releases
(`pulumi-resource-NAME-vVERSION-OS-ARCH.tar.gz`, under the releases of
[pulumi-aws](https://github.com/pulumi/pulumi-aws/releases), [pulumi-eks](https://github.com/pulumi/pulumi-eks/releases)
and [pulumi-kubernetes](https://github.com/pulumi/pulumi-kubernetes/releases)), carry them to the machine that runs
mlcluster, keep their names, and install them with the engine that mlcluster runs:

```bash
mlcluster plugins install cluster.yaml --from archives/
```

Each archive is read to its end before anything is unpacked. With a mirror instead of archives, set Pulumi's
`PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES`, which is passed on to the engine.

## What your cluster needs

On a machine with a way out, with the spec as it is without `registry`:

```bash
mlcluster plan cluster.yaml -o json > plan.json
# charts
jq -r '.releases[] | select(.realisation == "helm") | [.name, .chart, .version, .repository] | @tsv' plan.json
# images of objects that are ours
jq -r '.objects | .. | .image? | strings' plan.json | sort -u
```

The images of a chart in exactly this version and with exactly these values:

```bash
jq '.releases[] | select(.name == "gpu-operator") | .values' plan.json > values.json
helm template gpu-operator gpu-operator --repo https://helm.ngc.nvidia.com/nvidia --version v26.7.0 -f values.json |
  grep -E 'image:|repository:'
```

An operator starts images that its chart only names in parts (`repository:`, `image:`, `version:`), and Trainer's and
KServe's runtimes bring their own: look at these two lines together.

## Fill the mirror

```bash
helm pull gpu-operator --repo https://helm.ngc.nvidia.com/nvidia --version v26.7.0
helm push gpu-operator-v26.7.0.tgz oci://{MIRROR}/{CHARTS}
crane copy nvcr.io/nvidia/gpu-operator:v26.7.0 {MIRROR}/nvidia/gpu-operator:v26.7.0     # or skopeo, oras, docker
```

This was run up to the registry's door: what is rewritten is tested (`tests/unit/plan`), and so is what is said when a
chart cannot be had; no registry was filled where mlcluster was built.
"""


def air_gapped_page() -> str:
    """The whole page, as Markdown; the tables come from the catalogue."""
    known = pins()
    return "\n".join((_HEAD, "## Charts\n", *_charts(known), "\n## Images\n", *_images(known), ""))


def _charts(known: Mapping[str, ComponentPin]) -> Iterator[str]:
    yield from _head("component", "chart", "version", "from", "in the mirror")
    for pin in known.values():
        if pin.chart:
            name = pin.chart.rpartition("/")[2]
            here = pin.repository or pin.chart.rpartition("/")[0]
            yield _row((pin.title, f"`{name}`", pin.version, f"`{here}`", f"`oci://{MIRROR}/{CHARTS}/{name}`"))


def _images(known: Mapping[str, ComponentPin]) -> Iterator[str]:
    yield "What each value of a chart, or image of ours, names; a host or a folder stands for all that the chart takes"
    yield "from there.\n"
    yield from _head("component", "value", "from", "in the mirror")
    for pin in known.values():
        for path, image in pin.images.items():
            what = f"`{path}`" if pin.chart and is_value(path) else "mlcluster's own manifests"
            yield _row((pin.title, what, f"`{image}`", f"`{mirrored(image, MIRROR)}`"))
    none = [f"{pin.title}" for pin in known.values() if pin.chart and not pin.images]
    if none:
        yield f"\nOf these the catalogue names no images, so `registry` moves only the chart: {', '.join(none)}."
        yield "Set the images that they take under `values:`."


def _head(*columns: str) -> Iterator[str]:
    yield _row(columns)
    yield _row(["---"] * len(columns))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
