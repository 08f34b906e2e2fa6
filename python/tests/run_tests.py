"""Runs the tests and prints lines that can be counted: see python/tests/run."""
import sys
import unittest
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
SLOW = ("test_examples", "test_hf_law", "test_hf_models", "test_install", "test_interrupt",
        "test_law", "test_memory_limit", "test_readme")


class Counting(unittest.TestResult):
    """Prints one line per test."""

    def __init__(self):
        super().__init__()
        self.n_passed = self.n_failed = self.n_skipped = 0
        self.failed_parts = set()

    def addSuccess(self, test):
        if test.id() in self.failed_parts:
            return
        self.n_passed += 1
        print("ok " + test.id(), flush=True)

    def _fail(self, test, problem):
        text = self._exc_info_to_string(problem, test)
        self.n_failed += 1
        print("not ok %s\n%s" % (test.id(), "".join("#   %s\n" % l for l in text.splitlines())),
              end="", flush=True)

    def addFailure(self, test, problem):
        super().addFailure(test, problem)
        self._fail(test, problem)

    addError = addFailure

    def addSubTest(self, test, part, problem):
        if problem is not None:
            self.failed_parts.add(test.id())
            self.failures.append((part, self._exc_info_to_string(problem, test)))
            self._fail(part, problem)

    def addSkip(self, test, reason):
        self.skip(test.id(), reason)

    def skip(self, name, reason):
        self.n_skipped += 1
        print("skipped: %s: %s" % (name, reason), flush=True)


def main(arguments):
    names = [name for name in arguments if not name.startswith("-")]
    if not names:
        names = sorted(path.stem for path in HERE.glob("test_*.py"))
        if "--quick" in arguments:
            names = [name for name in names if name not in SLOW]
    sys.path.insert(0, str(HERE))
    sys.dont_write_bytecode = True
    # A warning about the package or its tests is a failure; other modules may warn.
    warnings.filterwarnings("error", module="sbeam|test_|toys|support")
    result = Counting()
    for name in names:
        try:
            tests = unittest.defaultTestLoader.loadTestsFromName(name)
        except unittest.SkipTest as reason:  # a module that it imports is not installed
            result.skip(name, reason)
            continue
        tests.run(result)
    print("%d passed, %d failed, %d skipped" % (result.n_passed, result.n_failed, result.n_skipped))
    return 1 if result.n_failed or result.n_passed + result.n_skipped == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
