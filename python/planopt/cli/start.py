"""What stands there where nothing is asked, and no parser is needed."""

from planopt.cli.output import answer, is_delivered

_START = """\
planopt: the cheapest cluster that serves or trains a language model, with proof

  Serve         planopt solve --model llama-3.3-70b --target 20tok/s
  Train         planopt train --model llama-2-70b --tokens 2T --deadline 30d
  What I have   planopt evaluate serving --accelerator rtx-4090 --tp 4 --pp 2

  Look at it    planopt explore            in the browser, answers change live
  Compare       planopt compare --accelerators l40s,h100-sxm --target 5tok/s
  All commands  planopt --help"""


def start() -> int:
    """Show three questions to start from, and return the exit code."""
    answer(_START)
    return 0 if is_delivered() else 2  # As in `exits`, which loads the parser.
