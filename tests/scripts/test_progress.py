"""Tests the progress of scripts/figures with a clock of its own."""
import io
import os
import unittest
from unittest import mock

from lib.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Counting(unittest.TestCase):
    def start(self, stream):
        self.now = 100
        with mock.patch.dict(os.environ, TERM='xterm'):
            progress = Progress(stream, clock=lambda: self.now)
        for unit, cost, is_found in (('a', 100, True), ('b', 60, False), ('c', 40, False), ('b', 60, False)):
            progress.add(unit, cost, is_found)
        progress.start()
        return progress

    def test_a_line_for_each_unit(self):
        stream = io.StringIO()
        progress = self.start(stream)
        self.now += 30
        progress.finish('b', name='diversity b')
        progress.finish('b', name='diversity b')
        progress.finish('a', is_found=True)
        self.assertEqual(stream.getvalue(), '  2 of 3,  80 %, about 25 s left: diversity b\n')
        self.assertEqual((progress.n_found, progress.seconds()), (1, 30))

    def test_time_left(self):
        progress = self.start(io.StringIO())
        self.assertEqual(progress.time_left(), 'about 2 min left')  # the costs are seconds at first
        progress.finish('b')
        progress.finish('c')
        self.assertEqual(progress.time_left(), 'about 0 s left')

    def test_the_bar_fits_the_terminal(self):
        stream = Terminal()
        progress = self.start(stream)
        with mock.patch.dict(os.environ, COLUMNS='60'):
            progress.show_bar('diversity sbs-20')
        line = '[############............]  50 %  about 2 min left  diversity sbs-20'
        self.assertEqual(stream.getvalue(), '\r\033[K' + line[:59])
        progress.clear()
        self.assertTrue(stream.getvalue().endswith('\r\033[K'))

    def test_no_bar_without_a_terminal(self):
        stream = io.StringIO()
        self.start(stream).show_bar('diversity')
        self.assertEqual(stream.getvalue(), '')

    def test_no_units(self):
        self.assertEqual(Progress(io.StringIO()).percent(), 100)
