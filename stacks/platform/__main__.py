"""`pulumi up` in this folder; see stacks/plain.py for the configuration."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where `stacks` is, in a checkout and in a wheel

from stacks.plain import run
from stacks.platform.program import program

run(program, waits=True)
