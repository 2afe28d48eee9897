"""A fake `aws` CLI: an executable that records its arguments and returns one token."""

import json
import os
import sys
from pathlib import Path
from typing import Any

VERSION = "2.31.0"
_PROGRAM = """#!{python}
import json, os, sys
home = {home!r}
with open(os.path.join(home, "calls.jsonl"), "a", encoding="utf-8") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1:] == ["--version"]:
    print("aws-cli/{version} Python/3.13.7 Linux/6.8.0 exe/x86_64.ubuntu.24")
elif "get-token" in sys.argv:
    with open(os.path.join(home, "token"), encoding="utf-8") as file:
        status = dict(token=file.read())
    print(json.dumps(dict(kind="ExecCredential", apiVersion="client.authentication.k8s.io/v1beta1", status=status)))
else:
    sys.exit("aws: [ERROR]: argument command: Found invalid choice")
"""


class AwsCli:
    """The executable `aws` in its own directory.

    Attributes:
        folder: for PATH.
    """

    def __init__(self, folder: Path, *, token: str = "made-up", version: str = VERSION) -> None:  # noqa: S107 -- no secret
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "token").write_text(token, encoding="utf-8")
        program = folder / "aws"
        program.write_text(_PROGRAM.format(python=sys.executable, home=str(folder), version=version), encoding="utf-8")
        program.chmod(0o755)

    @property
    def calls(self) -> list[list[str]]:
        """The arguments of every call so far."""
        log = self.folder / "calls.jsonl"
        lines = log.read_text("utf-8").splitlines() if log.exists() else []
        found: list[list[Any]] = [json.loads(line) for line in lines]
        return found

    @property
    def path(self) -> str:
        """$PATH with this executable first."""
        return f"{self.folder}{os.pathsep}{os.environ.get('PATH', '')}"
