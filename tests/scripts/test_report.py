"""Tests the parts of the page of results."""
import tempfile
import unittest
from pathlib import Path

from lib import EXPERIMENTS, report


class Markdown(unittest.TestCase):
    def test_inline(self):
        for text, expected in (('a < "b" & c', 'a &lt; &quot;b&quot; &amp; c'),
                               ('`k` and **T**', '<code>k</code> and <b>T</b>'),
                               ('(*only* here) 2*3*4', '(<em>only</em> here) 2*3*4'),
                               ('see [this](x.md).', 'see this.')):
            with self.subTest(text):
                self.assertEqual(report.inline(text), expected)

    def test_paragraphs(self):
        self.assertEqual(list(report.paragraphs(['', 'a', 'b', ' ', '', 'c'])), ['<p>a', 'b', '</p>', '<p>c', '</p>'])


class Readmes(unittest.TestCase):
    def test_each_experiment_has_a_question_and_a_seed(self):
        for name in EXPERIMENTS:
            with self.subTest(name):
                self.assertTrue(any(report.Readme(name).question()))
                self.assertRegex(report.seeds(name), r'^seed \d')

    def test_files_are_described(self):
        about = report.Readme('diversity').about(Path('x/findings-best.csv'))
        self.assertEqual(about, '<b>findings-best.csv</b>: the maximum BLEU of k translations for each temperature')
        self.assertEqual(report.Readme('diversity').about(Path('unknown.csv')), '<b>unknown.csv</b>')

    def test_seeds(self):
        self.assertEqual(report.seeds('exactness'), 'seed 1, other seed 2')
        self.assertEqual(report.seeds('bleu-estimate'), 'seed 1, truth seed 2')


class Tables(unittest.TestCase):
    def table(self, text):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / 'findings.csv'
            file.write_text(text)
            return '\n'.join(report.table(file, report.Readme('diversity')))

    def test_numbers_are_aligned(self):
        table = self.table('k,sbs_max,name\n5,-0.5,a<b\n')
        self.assertIn('<th>sbs max</th>', table)
        self.assertIn('<tr><td class=n>5</td><td class=n>\u22120.5</td><td>a&lt;b</td></tr>', table)
        self.assertNotIn('<details>', table)

    def test_a_long_table_is_folded(self):
        table = self.table('k\n' + '1\n' * 16)
        self.assertIn('(16 rows)</summary>', table)
        self.assertTrue(table.endswith('</details>'))

    def test_an_empty_table_says_so(self):
        self.assertIn('This table has no rows.', self.table('k\n'))


class Verdicts(unittest.TestCase):
    def test_words(self):
        for held, cases, expected in ((0, 0, ('none', 'no case')), (3, 3, ('all', 'held')),
                                      (2, 3, ('most', 'held in part')), (1, 2, ('few', 'mostly did not hold')),
                                      (0, 2, ('few', 'did not hold'))):
            with self.subTest(held=held, cases=cases):
                self.assertEqual(report.verdict(held, cases), expected)
