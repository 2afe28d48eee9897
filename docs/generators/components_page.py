"""docs/components.md, made from the catalog: why each component, what we set and why, what is checked, its end."""

from collections.abc import Iterable, Iterator

from mlcluster.catalog.components import ComponentPin, pins
from mlcluster.catalog.guide import Topic, topics

_HEAD = """# Components

This page describes the purpose of each component, the values that mlcluster sets and the reasons, the checks, and the
removal. It is generated from the catalog (`mlcluster/catalog/components.json` and `guide.json`) by
`pytest tests/golden/test_components_page.py --update-golden`.

To add a component, add its key under `components:` ([fields](spec.md#components)); with `{}`, mlcluster configures it
from the pools, the target and the node images. `install: false` declares an existing installation. `values:` adds Helm
values; mlcluster manages those in the tables below (finding [CMP001](findings.md#cmp001)). If the spec has
`systemOnly` pools, every controller with `tolerations` also gets a `nodeSelector`. With `registry:`, every chart
and image comes from one mirror ([Air-gapped sites](air-gapped.md)).

Some components are on by default: Kueue on every target; on `eks` also the GPU operator if a pool has NVIDIA GPUs, the
EFA plugin if a pool has EFA, and the autoscaler of the target. mlcluster also adds the dependencies of a component. On
`local`, some controllers run as real programs. The pods of all other components are simulated, and so are their effects
on nodes ([The lab](lab.md)).

## Pods

A plan has the shape of every pod that a component creates: its requests, its tolerations, the number of replicas, and
whether replicas may share a node. Tests render every chart below with the values of the examples and compare the result
(`tests/lab/test_charts.py`). If your `values:` change the pods of a chart, let the plan render the chart:

```bash
mkdir charts
helm pull gpu-operator --version v26.7.0 --repo https://helm.ngc.nvidia.com/nvidia -d charts
mlcluster plan --chart-dir charts
```

`charts` must have the archive of every chart of the plan in the planned version; the error names missing archives with
the commands that pull them. `Their pods` and the overhead of daemon sets then use the rendered shapes. Pods that an
operator creates at run time, such as the daemon sets of the GPU operator, keep the declared shapes. `mlcluster up` uses
the declared shapes and needs no archives.
"""


def components_page() -> str:
    """The whole page, as Markdown."""
    parts = [_HEAD, _guide(topics()), _versions(pins().values()), *(_component(pin) for pin in pins().values())]
    return "\n".join(parts)


def _guide(known: Iterable[Topic]) -> str:
    rows = (
        (
            topic.name,
            f"`{topic.asks}`",
            ", ".join(f"[{name}](#{_anchor(pins()[name])})" for name in topic.components),
            f"[spec](../{topic.spec})",
            ", ".join(f"`{path}`" for path in topic.tested),
        )
        for topic in known
    )
    table = _table(("feature", "spec entry", "component", "example", "tests"), rows)
    return f"## Features\n\n{table}\n"


def _versions(known: Iterable[ComponentPin]) -> str:
    rows = (
        (
            f"[{pin.title}](#{_anchor(pin)})",
            pin.version,
            _kubernetes(pin),
            _chart(pin),
            pin.source,
            pin.date if pin.confirmed == "source" else f"second-hand, {pin.date}",
        )
        for pin in known
    )
    return f"## Versions\n\n{_table(('component', 'version', 'Kubernetes', 'chart', 'source', 'date'), rows)}\n"


def _chart(pin: ComponentPin) -> str:
    if not pin.chart:
        return "mlcluster's own manifests"
    return f"`{pin.chart}`, {pin.repository}" if pin.repository else f"`{pin.chart}`"


def _component(pin: ComponentPin) -> str:
    blocks = [f"## {pin.title}", pin.why]
    if pin.sets:
        blocks.append(_table(("value", "reason"), ((f"`{path}`", why) for path, why in pin.sets.items())))
    if pin.checks:
        blocks.append("Checked:\n\n" + "\n".join(f"- {check}" for check in pin.checks))
    blocks.append(f"Removal: {pin.removal}")
    return "\n\n".join(blocks) + "\n"


def _kubernetes(pin: ComponentPin) -> str:
    if not pin.oldest and not pin.newest:
        return "not stated"
    return f"{pin.oldest or '...'} to {pin.newest}" if pin.newest else f"{pin.oldest} and later"


def _anchor(pin: ComponentPin) -> str:
    """As GitHub makes it of the heading."""
    kept = "".join(char for char in pin.title.lower() if char.isalnum() or char in " -_")
    return kept.replace(" ", "-")


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    return "\n".join(_lines(tuple(head), rows))


def _lines(head: tuple[str, ...], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |"
