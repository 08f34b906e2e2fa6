"""Tests that a full disk is an error with a sentence, and that nothing half-written stays. /dev/full is a file that
can be opened, but each write to it fails for lack of space."""
import os
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lib import experiment, files, report, tables, units

SMALL = 1000  # bytes: the largest file in a test of a program that runs by itself


@unittest.skipUnless(os.path.exists('/dev/full'), 'there is no /dev/full here')
class FullDisk(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)

    def fill(self, path):
        """Makes the path one that nothing can be written to."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to('/dev/full')

    def names(self):
        return sorted(path.name for path in self.out.rglob('*') if path.is_file() or path.is_symlink())

    def test_table(self):
        (self.out / 'a.csv').write_text('before\n')
        self.fill(self.out / 'a.csv.part')
        with self.assertRaisesRegex(files.WriteFailed, "a.csv' cannot be written: No space left"):
            tables.write_table(self.out / 'a.csv', 'x', [[1]])
        self.assertEqual((self.names(), (self.out / 'a.csv').read_text()), (['a.csv'], 'before\n'))

    def test_report(self):
        self.fill(self.out / 'report.html.part')
        with self.assertRaisesRegex(files.WriteFailed, "report.html' cannot be written: No space left"):
            with mock.patch.object(report, 'page', return_value=['<html>', '</html>']):
                report.write(self.out, True, 'scripts/figures')
        self.assertEqual(self.names(), [])

    def test_unit(self):
        pool = units.Pool(self.out, 'pool', 'key')
        self.fill(pool.folder / f'a.part.{os.getpid()}')
        with self.assertRaisesRegex(units.UnitFailed, 'unit a failed: .* cannot be written: No space left'):
            pool.compute(units.Unit('a', 1, lambda: [['x', 1]]))
        self.assertEqual(self.names(), [])

    def test_other_failures_are_passed_on(self):
        with self.assertRaises(ZeroDivisionError), files.whole(self.out / 'a') as file:
            file.write(str(1 // 0))
        self.assertEqual(self.names(), [])


class Plots(unittest.TestCase):
    """Tests plots in a folder with a small plot.gp and a gnuplot that fails without a message."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)
        self.experiment = experiment.Experiment(self.top / 'run.py')
        self.experiment.results = self.top / 'out'
        self.experiment.results.mkdir()
        (self.experiment.results / 'a.svg').write_text('<svg>before</svg>\n')
        path = os.environ['PATH']
        self.addCleanup(os.environ.__setitem__, 'PATH', path)
        os.environ['PATH'] = f'{self.top}:{path}'

    def plot_by(self, script):
        """Plots with a gnuplot that runs this shell script; $to is where figures go."""
        program = self.top / 'gnuplot'
        program.write_text('#!/bin/sh\nto=${2##*to=\\\'}; to=${to%\\\'}\n' + script)
        program.chmod(0o755)
        self.experiment.plot()

    def found(self):
        return sorted((path.name, path.read_text()) for path in self.experiment.results.iterdir())

    def test_cut_figure(self):
        with self.assertRaisesRegex(experiment.Failure, "could not write all of '.*a.svg'; is the disk full"):
            self.plot_by('printf "<svg>" >"$to/a.svg"')
        self.assertEqual(self.found(), [('a.svg', '<svg>before</svg>\n')])

    def test_killed(self):
        with self.assertRaisesRegex(experiment.Failure, 'gnuplot failed'):
            self.plot_by('printf "<svg></svg>" >"$to/a.svg"; kill -9 $$')
        self.assertEqual(self.found(), [('a.svg', '<svg>before</svg>\n')])

    def test_whole_figure(self):
        self.plot_by('printf "<svg></svg>\\n" >"$to/a.svg"')
        self.assertEqual(self.found(), [('a.svg', '<svg></svg>\n')])


class Programs(unittest.TestCase):
    def test_figures(self):
        """scripts/figures says why it cannot use its folder. Here the folder would be below a file."""
        with tempfile.NamedTemporaryFile() as file:
            program = Path(experiment.__file__).parent / 'figures.py'
            code = ('import sys; sys.argv[0] = %r; sys.path.insert(0, %r); import figures; '
                    'figures.TOP = figures.Path(%r); sys.exit(figures.main(sys.argv[1:]))')
            with tempfile.TemporaryDirectory() as top:
                (Path(top) / 'scripts').mkdir()
                for name in 'setup', 'build':
                    (Path(top) / 'scripts' / name).write_text('#!/bin/sh\n')
                    (Path(top) / 'scripts' / name).chmod(0o755)
                done = subprocess.run([sys.executable, '-c', code % (str(program), str(program.parent), top), '--quick',
                                       '--out', file.name + '/out'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      encoding='utf-8')
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, "^figures: '.*/out' cannot be used: Not a directory\n$")

    def test_limit_of_file_size(self):
        """A unit that exceeds the largest size of a file (ulimit -f)."""
        code = ('import sys; sys.path.insert(0, %r)\nfrom pathlib import Path\nfrom lib import units\n'
                'try: units.Pool(Path(sys.argv[1]), "pool", "key").compute(units.Unit("a", 1, lambda: [[0] * 9999]))\n'
                'except units.UnitFailed as error: print(error)\n')
        with tempfile.TemporaryDirectory() as out:
            # -B: Python would keep the modules that it compiles, cut at the limit, for all later runs.
            done = subprocess.run([sys.executable, '-B', '-c', code % str(Path(experiment.__file__).parent.parent), out],
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, SMALL)),
                                  stdout=subprocess.PIPE, encoding='utf-8')
            self.assertRegex(done.stdout, 'unit a failed: .* cannot be written: File too large')
            self.assertEqual([path for path in Path(out).rglob('*') if path.is_file()], [])

