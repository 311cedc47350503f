"""``python -m reidsim``: the command line."""

from reidsim.cli import main

main()
