"""``python -m planopt.cli``."""

from planopt.cli import main

main()
