"""Repair of the files of a file backend, after the engine was killed while it wrote them.

The engine writes each file of the backend and a small `.attrs` file beside it in place. A kill between the two writes
leaves the `.attrs` file empty, and then every run fails with "failed to load checkpoint: EOF". The engine does not need
the file.
"""

import json
import shutil
from pathlib import Path

from mlcluster.engine.home import StackHome


def repair_files(home: StackHome, project: str, *, killed: bool) -> list[str]:
    """Remove broken `.attrs` files, and restore a broken state file from the engine's copy beside it.

    Args:
        home: the stack.
        project: the Pulumi project.
        killed: a run was provably killed and no other run is in progress; otherwise the state file stays unchanged.

    Returns:
        A text for each repair; [] if no file was broken or the backend is not a file backend.
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
    return f"removed {path.name}, which was truncated"


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True
