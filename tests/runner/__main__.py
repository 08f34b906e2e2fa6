"""Runs all tests and says which failed; scripts/check calls it: python3 tests/runner [--quick | --full]"""
import sys

sys.dont_write_bytecode = True
from check import Check  # noqa: E402
from plan import run_plan  # noqa: E402


def main(arguments):
    check = Check()
    try:
        run_plan(check, arguments[0].lstrip("-") if arguments else "plain")
    except KeyboardInterrupt:
        check.say("check: interrupted")
        return 130
    return check.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
