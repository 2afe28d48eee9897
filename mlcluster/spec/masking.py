"""Secrets in a spec's text are hidden wherever the text is shown."""

import re

_SECRETS = re.compile(
    r"""://(?P<login>[^/@\s"']+)@                                                    # user:password@ in a URL
    | [?&;](?:sig|signature|[\w-]*token|[\w-]*key|[\w-]*secret|x-amz-[\w-]+)=(?P<query>[^&\s"']+)
    | \b(?P<access>(?:AKIA|ASIA)[0-9A-Z]{16})\b                                      # AWS access key IDs
    | (?<![\w-])(?!secretsProvider["']?\s*:\s*["']?(?:passphrase\b|\w+://))[\w-]*(?:pas+w(?:or)?d|pas+phrase|secret|token|api-?key|access-?key|private-?key)
      [\w-]*["']?\s*:\s*["']?(?P<value>[^\s"',}\]][^,}\]]*)                          # key: value by the key's name
    """,
    re.IGNORECASE | re.VERBOSE,
)


def masked(line: str) -> str:
    """`line` with every character of what looks like a secret replaced by *, so that columns stay."""
    hidden = list(line)
    for match in _SECRETS.finditer(line):
        for name, text in match.groupdict().items():
            if text:
                hidden[match.start(name) : match.end(name)] = "*" * len(text)
    return "".join(hidden)


def is_secret(loc: tuple[str | int, ...], text: str) -> bool:
    """Whether a message must not repeat `text`, the value at `loc`."""
    return loc[:1] == ("state",) or masked(f"{loc[-1] if loc else ''}: {text}") != f"{loc[-1] if loc else ''}: {text}"
