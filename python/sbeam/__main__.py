"""python -m sbeam: the command, with the same arguments."""
import os
import sys

from ._library import find_command


def main() -> None:
    command = find_command()
    if command is None:
        sys.exit("sbeam: the command is neither in the package nor in build/ nor on PATH: run "
                 "scripts/build first")
    os.execv(command, ["sbeam"] + sys.argv[1:])


if __name__ == "__main__":
    main()
