"""Ctrl-C, and the exit of the process, during a draw that would never end."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from support import MODELS, environment
from toys import write_slow_chain

from sbeam._interrupt import Interrupt, run_interruptibly

PROGRAM = """
import sbeam, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in the background
model = %r
try:
    print("begins", flush=True)
    sbeam.draw(model, k=%d, draws=10**9, seed=1, %s)
except KeyboardInterrupt:
    # The library still works.
    again = sbeam.draw(model, k=3, seed=1)
    print("interrupted", threading.active_count(), len(again[0]), flush=True)
    raise
"""

CURSOR_PROGRAM = """
import sbeam, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
settings = dict(seed=1, max_len=20000)
cursor = sbeam.Cursor(sys.argv[1], **settings)
n = 0
try:
    print("begins", flush=True)
    while True:
        next(cursor)
except KeyboardInterrupt:
    n = cursor.use.sequences
    print("interrupted", threading.active_count(), flush=True)
while cursor.use.sequences < n + 2:
    next(cursor)
found = cursor.draw()
[draw] = sbeam.draw(sys.argv[1], k=len(found), **settings)
print("goes on", found.sequences == draw.sequences, found.kappa == draw.kappa, flush=True)
"""

EXIT_PROGRAM = """
import sbeam, sys, threading, time
model = sbeam.Model(%r)
begins = threading.Event()

def work():
    while True:
        begins.set()
        sbeam.draw(model, [""] * 50, k=8, max_len=5, draws=1000, seed=1)

threading.Thread(target=work, daemon=True).start()
begins.wait()
time.sleep(float(sys.argv[1]))
"""


class Helpers(unittest.TestCase):
    """The thread that makes a call for the main thread."""

    def test_interrupted_while_it_starts(self):
        """A thread that begins after its caller was interrupted does not do the work any more."""
        class Mine(Exception):
            pass

        def fail_to_start(thread):
            late.append(thread)
            raise Mine

        late, worked = [], []
        with mock.patch("threading.Thread.start", fail_to_start), self.assertRaises(Mine):
            run_interruptibly(lambda: worked.append(1), Interrupt())
        [thread] = late
        thread.start()
        thread.join()
        self.assertEqual(worked, [])
        run_interruptibly(lambda: worked.append(1), Interrupt())
        self.assertEqual(worked, [1])


class Interrupts(unittest.TestCase):
    def run_program(self, keywords, k=100, seconds=0.7):
        program = PROGRAM % (str(MODELS / "weather.json"), k, keywords)
        process = subprocess.Popen([sys.executable, "-c", program], env=environment(), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.assertEqual(process.stdout.readline(), "begins\n")
            time.sleep(seconds)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            since = time.monotonic()
            output, errors = process.communicate(timeout=30)
            took = time.monotonic() - since
        finally:
            process.kill()
            process.wait()
        self.assertEqual(output, "interrupted 1 3\n")
        self.assertIn("KeyboardInterrupt", errors)
        self.assertLess(took, 2)
        self.assertIn(process.returncode, (-signal.SIGINT, 130))

    def test_one_thread(self):
        self.run_program("")

    def test_threads(self):
        self.run_program("threads=4, batch=3")

    def test_cache(self):
        self.run_program("threads=3, cache=1")

    def test_large_steps(self):
        self.run_program("method='sample'", k=20000)

    def test_cursor(self):
        """The cursor goes on after Ctrl-C."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "slow.json")
        write_slow_chain(path)
        process = subprocess.Popen([sys.executable, "-c", CURSOR_PROGRAM, path],
                                   env=environment(), text=True, stdout=subprocess.PIPE)
        try:
            self.assertEqual(process.stdout.readline(), "begins\n")
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            since = time.monotonic()
            self.assertEqual(process.stdout.readline(), "interrupted 1\n")
            self.assertLess(time.monotonic() - since, 2)
            self.assertEqual(process.communicate(timeout=120)[0], "goes on True True\n")
        finally:
            process.kill()
            process.wait()
        self.assertEqual(process.returncode, 0)

    def test_exit_beside_a_thread_that_draws(self):
        """The process interrupts the last draw and ends without a message."""
        program = EXIT_PROGRAM % (os.environ.get("SBEAM_GGUF") or str(MODELS / "weather.json"))
        for seconds in "0", "0.02", "0.1", "0.2":
            done = subprocess.run([sys.executable, "-c", program, seconds], env=environment(),
                                  text=True, capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
