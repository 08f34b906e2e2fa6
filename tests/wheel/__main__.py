"""Tests the wheel and the source distribution that scripts/wheel makes: python tests/wheel DIST FILES [TEST...]

DIST holds both; FILES holds the wheels that they are installed with, so that no network is needed. The last line is
"N passed, N failed, N skipped"."""
import os
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "python" / "tests")]
from run_tests import Counting  # noqa: E402


def main(dist, files, *names):
    os.environ["SBEAM_DIST"], os.environ["SBEAM_WHEEL_FILES"] = os.path.abspath(dist), os.path.abspath(files)
    result = Counting()
    names = names or ("test_contents", "test_environments", "test_sources")
    unittest.defaultTestLoader.loadTestsFromNames(names).run(result)
    for path in sorted(Path(dist).iterdir()):
        print("%s: %.1f MB" % (path.name, path.stat().st_size / 1e6))
    print("%d passed, %d failed, %d skipped" % (result.n_passed, result.n_failed, result.n_skipped))
    return 1 if result.n_failed or not result.n_passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
