"""Tests that importing the package with too little memory ends: with an exception, or with a
message of NumPy."""
import resource
import subprocess
import sys
import unittest

from support import environment

LIMITS = range(30_000, 400_001, 30_000)  # KB of addresses
DEADLINE = 60  # seconds; an import takes a few tenths of one


def import_with(module, kilobytes):
    """Returns the exit code and the messages of `import module`, with a limit on addresses."""
    size = kilobytes * 1024
    done = subprocess.run([sys.executable, "-c", "import " + module], env=environment(), timeout=DEADLINE, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))
    return done.returncode, done.stderr.decode("utf-8", "replace")


class Import(unittest.TestCase):
    def test_limits(self):
        for kilobytes in LIMITS:
            with self.subTest(kilobytes=kilobytes):
                code, _ = import_with("numpy", kilobytes)
                if code != 0:
                    continue  # NumPy says why
                code, text = import_with("sbeam", kilobytes)
                self.assertTrue(code == 0 or (code == 1 and ("ImportError" in text or "MemoryError" in text)), text)
        self.assertEqual(import_with("sbeam", 4_000_000), (0, ""))
