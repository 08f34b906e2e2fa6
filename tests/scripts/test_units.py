"""Tests that finished work is kept, and only finished work."""
import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from lib import units
from lib.commands import CommandFailed

# A process that locks a pool, computes a unit and then works on another one until it is killed.
WORKER = '''
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from lib import units
def long():
    yield ["unfinished"]
    print("working", flush=True)
    time.sleep(60)
pool = units.Pool(Path(sys.argv[2]), "pool", "key")
pool.lock(on_wait=None)
pool.compute(units.Unit("first", 1, lambda: [["a", 1]]))
pool.compute(units.Unit("second", 1, long))
'''


class Temporary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)
        self.pool = units.Pool(self.out, 'pool', 'key')

    def files(self):
        return sorted(path.name for path in self.pool.folder.glob('[!.]*'))

    def start_worker(self):
        experiments = Path(units.__file__).parent.parent
        worker = subprocess.Popen([sys.executable, '-c', WORKER, experiments, self.out], stdout=subprocess.PIPE)
        self.addCleanup(worker.stdout.close)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        worker.stdout.readline()
        return worker


class Checksums(Temporary):
    def test_content_and_words_decide(self):
        file = self.out / 'model'
        file.write_text('1')
        key = units.checksum([True], [file])
        self.assertEqual(units.checksum([True], [file]), key)
        self.assertNotEqual(units.checksum([False], [file]), key)
        file.write_text('2')
        self.assertNotEqual(units.checksum([True], [file]), key)


class Computing(Temporary):
    def test_rows_are_kept(self):
        unit = units.Unit('a', 1, lambda k: [[k, '0.5', ''], ['x']], 3)
        self.assertFalse(self.pool.is_finished(unit))
        self.pool.compute(unit)
        self.assertTrue(self.pool.is_finished(unit))
        self.assertEqual(self.pool.rows('a'), [['3', '0.5', ''], ['x']])
        self.assertEqual(self.files(), ['a'])

    def test_a_failed_command_leaves_nothing_and_shows_its_messages(self):
        def draw(method, k):
            yield ['begun']
            os.write(2, b'no such model\n')
            raise CommandFailed(-9)

        messages = io.StringIO()
        with contextlib.redirect_stderr(messages), self.assertRaises(units.UnitFailed) as failure:
            self.pool.compute(units.Unit('a', 1, draw, 'sbs', 5))
        self.assertEqual(str(failure.exception), 'unit a failed with status 137: draw sbs 5')
        self.assertEqual(messages.getvalue(), 'no such model\n')
        self.assertEqual(self.files(), [])

    def test_messages_of_success_are_dropped(self):
        with tempfile.TemporaryFile() as terminal:
            saved = os.dup(2)
            os.dup2(terminal.fileno(), 2)
            try:
                self.pool.compute(units.Unit('a', 1, lambda: [os.write(2, b'seed 3\n')] and []))
                os.write(2, b'later\n')
            finally:
                os.dup2(saved, 2)
                os.close(saved)
            terminal.seek(0)
            self.assertEqual(terminal.read(), b'later\n')


class Killing(Temporary):
    def test_finished_units_survive_and_parts_are_removed(self):
        worker = self.start_worker()
        self.assertEqual(len([name for name in self.files() if '.part.' in name]), 2)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        self.pool.lock(on_wait=lambda: self.fail('the lock of a killed process is still there'))
        self.assertEqual(self.files(), ['first'])
        self.assertEqual(self.pool.rows('first'), [['a', '1']])


class Locking(Temporary):
    def test_a_run_waits_for_another(self):
        worker = self.start_worker()
        self.pool.lock(on_wait=worker.kill)
        self.assertEqual(worker.wait(), -signal.SIGKILL)

    def test_a_run_gives_up(self):
        self.start_worker()
        waits = []
        since = time.monotonic()
        with self.assertRaisesRegex(units.UnitFailed, 'another run has been at work'):
            self.pool.lock(on_wait=lambda: waits.append(1), longest_wait=0.2)
        self.assertEqual(waits, [1])
        self.assertGreater(time.monotonic() - since, 0.2)
