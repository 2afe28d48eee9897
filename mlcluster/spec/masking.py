"""Masking of secrets in the text of a spec."""

import re
from functools import lru_cache

_SECRETS = re.compile(
    r"""://(?P<login>[^/\s"']+)@  # user:password@ in a URL
    | [?&;](?:sig|signature|[\w-]{0,40}(?:token|key|secret)|x-amz-[\w-]{1,40})=(?P<query>[^&\s"']+)
    | \b(?P<access>(?:AKIA|ASIA)[0-9A-Z]{16})\b  # AWS access key IDs
    | (?<![\w-])(?!secretsProvider["']?[ \t]*:[ \t]*["']?(?:passphrase\b|\w{1,20}://))  # a key named like a secret
      (?!secrets["']?[ \t]*:[ \t]*-?[0-9]{1,7}[ \t]*(?:[,}\#]|$))  # a number of Secrets: teams[].limits.secrets
      [\w-]{0,40}(?:pas+w(?:or)?d|pas+phrase|secret|token|(?:api|access|private)-?key)[\w-]{0,40}["']?[ \t]*:[ \t]*
      (?:"(?P<double>[^"]*)|'(?P<single>[^']*)|(?P<plain>[^\s"',}\]](?:[^,}\]]|,(?![ ]))*))
    """,
    re.IGNORECASE | re.VERBOSE,
)


@lru_cache(maxsize=16)
def masked(line: str) -> str:
    """Return the line with each character of apparent secrets replaced by *, so that columns stay the same."""
    hidden = list(line)
    for match in _SECRETS.finditer(line):
        for name, text in match.groupdict().items():
            if text:
                hidden[match.start(name) : match.end(name)] = "*" * len(text)
    return "".join(hidden)


def is_secret(loc: tuple[str | int, ...], text: str) -> bool:
    """Return whether `text`, the value at `loc`, looks like a secret, which messages must not contain."""
    return loc[:1] == ("state",) or masked(f"{loc[-1] if loc else ''}: {text}") != f"{loc[-1] if loc else ''}: {text}"
