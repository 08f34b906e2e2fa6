"""Runs the command `sbeam` with the same arguments: python -m sbeam."""
import os
import sys

from ._library import find_command, offer_llama


def main() -> None:
    command = find_command()
    if command is None:
        sys.exit("sbeam: the command is neither beside the package nor on PATH: in a source tree, "
                 "run scripts/build")
    offer_llama()
    os.execv(command, ["sbeam"] + sys.argv[1:])


if __name__ == "__main__":
    main()
