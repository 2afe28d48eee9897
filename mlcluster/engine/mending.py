"""Repair the files of a file backend after the engine was killed while it wrote them.

The engine writes each file of the backend together with a small `.attrs` file beside it, in place. A kill in between
leaves that one empty, and from then on every run ends with "failed to load checkpoint: EOF". Nothing needs the file.
"""

import json
import shutil
from pathlib import Path

from mlcluster.engine.home import StackHome


def mend_files(home: StackHome, project: str, *, killed: bool) -> list[str]:
    """Removes broken `.attrs` files; restores a broken state file from the copy that the engine keeps beside it.

    Args:
        home: whose backend.
        project: the Pulumi project.
        killed: a run was killed for certain and nobody else is at work; only then the state itself is touched.

    Returns:
        What was done, in words; [] when everything was in order or the backend is not made of files.
    """
    checkpoint, base = home.checkpoint(project), home.state_files
    if checkpoint is None or base is None:
        return []
    copy = checkpoint.with_name(f"{checkpoint.name}.bak")
    beside = [path.with_name(f"{path.name}.attrs") for path in (checkpoint, copy, base / ".pulumi" / "meta.yaml")]
    done = [_removed(path) for path in beside if path.exists() and not _is_json(path)]
    if killed and checkpoint.exists() and not _is_json(checkpoint) and _is_json(copy):
        shutil.copyfile(copy, checkpoint)
        done.append(f"restored {checkpoint.name} from {copy.name}")
    return done


def _removed(path: Path) -> str:
    path.unlink(missing_ok=True)
    return f"removed {path.name}, which was cut off"


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True
