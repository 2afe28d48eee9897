"""docs/components.md, made from the catalogue: why each component, what we set and why, what is checked, its end."""

from collections.abc import Iterable, Iterator

from mlcluster.catalog.components import ComponentPin, pins
from mlcluster.catalog.guide import Topic, topics

_HEAD = """# Components

What is installed beside the teams: why, what mlcluster sets and why, what is checked, and how it goes away. This page
is made from the catalogue (`mlcluster/catalog/components.json` and `guide.json`) by
`pytest tests/golden/test_components_page.py --update-golden`.

A component is asked for by its key under `components:` ([fields](spec.md#components)); `{}` takes what follows from
the pools, the target and the images of the nodes. `install: false` says that it is there already. `values:` adds Helm
values; those in the tables below are ours (finding [CMP001](findings.md#cmp001)). Where the spec has
`systemOnly` pools, a `nodeSelector` stands beside every `tolerations` of a controller. `registry:` takes every chart
and image from one mirror ([air-gapped.md](air-gapped.md)).

On by default: Kueue everywhere; on `eks` also the GPU operator where a pool has NVIDIA GPUs, the EFA plugin where a
pool has EFA, and the autoscaler of the target. What another component needs comes with it. On `local`, the lab,
controllers that are real programs there run for real; of all others the pods are simulated, and what they would do to
nodes is simulated too ([lab.md](lab.md)).

## Pods

A plan holds the shape of every pod that a component makes: what it requests, what it tolerates, how many replicas it
has and whether they may share a node. Tests render every chart below with the values of the examples and compare
(`tests/lab/test_charts.py`). If your `values:` change the pods of a chart, have the plan render it:

```bash
mkdir charts
helm pull gpu-operator --version v26.7.0 --repo https://helm.ngc.nvidia.com/nvidia -d charts
mlcluster plan --chart-dir charts
```

`charts` must hold the archive of every chart of the plan in its version; the error names the missing ones with the
commands that pull them. Then `Their pods` counts rendered shapes, and the overhead of daemon sets is theirs. Pods
that an operator makes when it runs, such as the daemon sets of the GPU operator, stay declared. `mlcluster up` counts
the declared shapes: it needs no archives.
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
    table = _table(("what guides name", "ask for it", "component", "shown by", "tried by"), rows)
    return f"## What guides name, and where it is\n\n{table}\n"


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
    return f"## Versions\n\n{_table(('component', 'version', 'Kubernetes', 'chart', 'read in', 'as of'), rows)}\n"


def _chart(pin: ComponentPin) -> str:
    if not pin.chart:
        return "mlcluster's own manifests"
    return f"`{pin.chart}`, {pin.repository}" if pin.repository else f"`{pin.chart}`"


def _component(pin: ComponentPin) -> str:
    blocks = [f"## {pin.title}", pin.why]
    if pin.sets:
        blocks.append(_table(("what is set", "why"), ((f"`{path}`", why) for path, why in pin.sets.items())))
    if pin.checks:
        blocks.append("Checked:\n\n" + "\n".join(f"- {check}" for check in pin.checks))
    blocks.append(f"How it goes away: {pin.removal}")
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
