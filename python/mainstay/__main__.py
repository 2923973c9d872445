"""The command line: ``mainstay ...``, or ``python -m mainstay ...``."""

import signal
import sys

from mainstay import _core


def main() -> int:
    """Run the command that ``sys.argv`` spells and return its exit code."""
    # The interpreter does not look at signals while compiled code runs: Ctrl-C ends the process,
    # as it does for any command, until the command installs its own handler.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.command_line(["mainstay", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
