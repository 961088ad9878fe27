"""``python -m planopt``."""

from planopt.cli import main

main()
