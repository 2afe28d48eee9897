"""Classification of Helm's messages about charts that could not be pulled. Pure."""

import re
from typing import Literal

ChartTrouble = Literal["unreachable", "missing", "refused"]

_CHARTS: tuple[tuple[ChartTrouble, re.Pattern[str]], ...] = (
    (
        "refused",
        re.compile(r"(?:FetchReference|failed to fetch|chart repository|failed to (?:pull|download)).*"
                   r"(?:\b40[13]\b|denied|unauthorized|forbidden)", re.IGNORECASE | re.DOTALL),
    ),
    (
        "missing",
        re.compile(r"version \S+ not found in \S+ repository|FetchReference.*: not found|manifest unknown"
                   r"|no chart (?:version|name) found|failed to fetch \S+ ?: 404", re.IGNORECASE | re.DOTALL),
    ),
    (
        "unreachable",
        re.compile(r"is not a valid chart repository or cannot be reached|FetchReference|could not download chart"
                   r"|failed to fetch \S+ ?:|failed to (?:pull|download) ", re.IGNORECASE),
    ),
)  # fmt: skip
"""Messages of Helm 3.22 for a chart that it cannot pull. The official provider uses the same library and messages."""


def chart_trouble(message: str) -> ChartTrouble | None:
    """Return why the chart could not be pulled; None if the message of a failed release has another reason."""
    return next((trouble for trouble, pattern in _CHARTS if pattern.search(message)), None)
