"""Tests the options of scripts/figures and run.sh."""
import unittest
from pathlib import Path

from lib import options


class Parsing(unittest.TestCase):
    def test_defaults(self):
        chosen = options.parse([])
        self.assertEqual(chosen.out, options.TOP / 'experiments')
        self.assertEqual(chosen.english.name, 'everyday.en')
        self.assertFalse(chosen.quick)

    def test_quick_has_a_folder_of_its_own(self):
        self.assertEqual(options.parse(['--quick']).out, options.TOP / 'build/figures')
        self.assertEqual(options.parse(['--quick', '--out', 'x']).out, Path('x'))

    def test_arguments_give_the_same_options(self):
        chosen = options.parse(['--data', 'a.en', 'a.fr', '--quick', '--out', 'x'])
        chosen.make_absolute()
        self.assertTrue(chosen.french.is_absolute())
        self.assertEqual(options.parse(chosen.as_arguments()), chosen)

    def test_help_ends_the_reading(self):
        chosen = options.parse(['-h', '--wrong'])
        chosen.make_absolute()
        self.assertTrue(chosen.help)

    def test_wrong_arguments(self):
        for arguments, message in ((['--out'], '--out needs a folder'), (['--out', ''], '--out needs a folder'),
                                   (['--data', 'a'], '--data needs two files'), (['-x'], "unknown argument '-x'"),
                                   (['--list'], "unknown argument '--list'")):
            with self.subTest(arguments), self.assertRaisesRegex(options.UsageError, message):
                options.parse(arguments)
        self.assertTrue(options.parse(['--list'], takes_list=True).list_units)
