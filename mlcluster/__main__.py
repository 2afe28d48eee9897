"""`python -m mlcluster`."""

from mlcluster.cli import main

main()
