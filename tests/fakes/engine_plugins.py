"""Which plugins the engine finds in a home, as the engine itself looks for them.

Facts: pulumi v3.259.0, sdk/go/common/workspace/plugins.go. `GetPluginsFromDir` reads the entries of `HOME/plugins`;
`tryPlugin` skips what is not a directory by its own type (Go's `DirEntry.IsDir` follows no symbolic link), what ends
in `.tmp` and digits, and every name that is not KIND-NAME-vVERSION; an entry with a `.partial` beside it is skipped
too. `getPluginPath` then takes the file `pulumi-resource-NAME` in it.
"""

import os
import re
from pathlib import Path

_NAME = re.compile(r"(?P<kind>[a-z]+)-(?P<name>[a-zA-Z0-9-][\w.-]*[a-zA-Z0-9])-v(?P<version>\d+\.\d+\.\d+)")


def found_by_engine(home: Path) -> dict[str, Path]:
    """Return the file that the engine starts for each plugin, by `NAME vVERSION`."""
    plugins = home / "plugins"
    found: dict[str, Path] = {}
    for entry in os.scandir(plugins) if plugins.is_dir() else ():
        name = _NAME.fullmatch(entry.name)
        if name is None or not entry.is_dir(follow_symlinks=False) or Path(f"{entry.path}.partial").exists():
            continue
        found[f"{name['name']} v{name['version']}"] = Path(entry.path) / f"pulumi-resource-{name['name']}"
    return found


def install_dummy(home: Path, name: str, version: str, script: str = "#!/bin/sh\nexit 1\n") -> Path:
    """Put a plugin of a few files into a home, as the engine's own `plugin install` lays it out; returns its folder."""
    folder = home / "plugins" / f"resource-{name}-v{version}"
    folder.mkdir(parents=True)
    program = folder / f"pulumi-resource-{name}"
    program.write_text(script, encoding="utf-8")
    program.chmod(0o755)
    (folder / "LICENSE").write_text("free\n", encoding="utf-8")
    (folder / "data").mkdir()
    (folder / "data" / "schema.json").write_text("{}\n", encoding="utf-8")
    return folder
