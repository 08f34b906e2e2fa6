"""Tests how the output of sbeam is read, with a program of a few lines in its place."""
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lib import commands

PROGRAM = '''#!/bin/sh
case $1 in
copy) cat ;;
fail) cat; exit "$2" ;;
deaf) exit 3 ;;
esac
'''


class Pipelines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = Path(folder.name) / 'sbeam'
        program.write_text(PROGRAM)
        program.chmod(0o755)
        changed = mock.patch.dict(os.environ, PATH=f"{folder.name}:{os.environ['PATH']}")
        changed.start()
        self.addCleanup(changed.stop)

    def test_lines_go_through_unchanged(self):
        lines = ['a', '', 'b\r', 'caf\u00e9', b'\xff\xfe'.decode('utf-8', 'surrogateescape')]
        self.assertEqual(list(commands.sbeam(['copy'], ['copy'], lines=lines)), lines)

    def test_many_lines_do_not_block(self):
        lines = ['x' * 100] * 20000
        self.assertEqual(list(commands.sbeam(['copy'], ['copy'], lines=lines)), lines)

    def test_a_failure_anywhere_is_a_failure(self):
        for pipeline, status in (([['fail', 4]], 4), ([['fail', 5], ['copy']], 5), ([['copy'], ['deaf']], 3),
                                 ([['fail', 4], ['fail', 5]], 5)):
            with self.subTest(pipeline), self.assertRaises(commands.CommandFailed) as failure:
                list(commands.sbeam(*pipeline, lines=['a']))
            self.assertEqual(failure.exception.status, status)


class Fields(unittest.TestCase):
    LINE = '{"method":"sbs","k":5,"bleu":12.3456789,"tiny":1e-05,"complete":false,"kappa":null,"text":"a,\\"b\\""}'

    def test_values_are_text(self):
        keys = ('method', 'k', 'bleu', 'tiny', 'complete', 'kappa', 'missing', 'text')
        self.assertEqual(commands.fields(self.LINE, keys),
                         ['sbs', '5', '12.3456789', '1e-05', 'false', '', '', 'a,"b"'])

    def test_long_numbers_are_shortened(self):
        self.assertEqual(commands.fields(self.LINE, ('bleu', 'k', 'method'), digits=6), ['12.3457', '5', 'sbs'])

    def test_tsv_is_read_by_the_names_of_columns(self):
        lines = ['rank\tlog_p\ttext', '1\t-0.5\ta b', '2\t-1.25\t']
        self.assertEqual(list(commands.read_tsv(lines, 'text', 'rank')), [('a b', '1'), ('', '2')])
        self.assertEqual(list(commands.read_tsv(lines, 'log_p')), ['-0.5', '-1.25'])
