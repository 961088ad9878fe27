"""The command line: options in, one answer on stdout, everything else on stderr.

Nothing is imported here, so that a Ctrl-C from the first moments on finds the process
prepared.
"""

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code.

    Parameters
    ----------
    arguments : list of str, optional
        What to do. By default what the process was started for, which is then the
        command's own: its streams and hooks are taken over.
    """
    import sys

    if arguments is None:
        from planopt.cli.process import take_over

        take_over()
    from planopt.cli.program import run

    sys.exit(run(sys.argv[1:] if arguments is None else arguments))
