"""Tests the numbers of the experiments: findings and claims against the results in the repository, which an earlier
program wrote, and the exact laws against what can be computed in another way."""
import importlib.util
import io
import math
import random
import unittest
from itertools import permutations
from pathlib import Path

from lib import estimate_findings, tables

EXPERIMENTS = Path(tables.__file__).parent.parent


def load(experiment, module):
    """Imports a module of an experiment; several experiments have modules of one name."""
    spec = importlib.util.spec_from_file_location(f'{experiment}_{module}', EXPERIMENTS / experiment / f'{module}.py')
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class Committed(unittest.TestCase):
    """The tables of the full run, computed again from the others."""

    def check(self, experiment, file, columns, rows):
        written = io.StringIO()
        written.write(columns + '\n')
        tables.write_rows(written, rows)
        self.assertEqual(written.getvalue(), (EXPERIMENTS / experiment / file).read_text())

    def table(self, experiment, file):
        return tables.read_table(EXPERIMENTS / experiment / file)

    def test_diversity(self):
        findings = load('diversity', 'findings')
        points = self.table('diversity', 'diversity.csv')
        self.check('diversity', 'findings-equal-diversity.csv', findings.EQUAL_DIVERSITY,
                   findings.equal_diversity(points))
        self.check('diversity', 'findings-best.csv', findings.BEST, findings.best(points))
        self.check('diversity', 'claims.csv', 'claim,held,cases', findings.claims(points))
        tatoeba = self.table('diversity', 'tatoeba.csv')
        self.check('diversity', 'tatoeba-claims.csv', 'claim,held,cases', findings.claims(tatoeba))

    def test_estimates(self):
        for experiment in 'bleu-estimate', 'entropy-estimate':
            with self.subTest(experiment):
                given = self.table(experiment, 'truth.csv'), self.table(experiment, 'estimates.csv')
                self.check(experiment, 'findings.csv', estimate_findings.COLUMNS, estimate_findings.findings(*given))
                self.check(experiment, 'claims.csv', 'claim,held,cases', estimate_findings.claims(*given))

    def test_naive(self):
        findings = load('naive', 'findings')
        rare, siblings = self.table('naive', 'rare.csv'), self.table('naive', 'siblings.csv')
        self.check('naive', 'findings.csv', findings.COLUMNS, findings.findings(rare))
        self.check('naive', 'claims.csv', 'claim,held,cases', findings.claims(rare, siblings))

    def test_evaluations(self):
        findings = load('evaluations', 'findings')
        table, searches = self.table('evaluations', 'evaluations.csv'), self.table('evaluations', 'searches.csv')
        self.check('evaluations', 'findings.csv', findings.COLUMNS, findings.findings(table))
        self.check('evaluations', 'findings-searches.csv', findings.SEARCH_COLUMNS, findings.search_findings(searches))
        self.check('evaluations', 'claims.csv', 'claim,held,cases', findings.claims(table, searches))

    def test_exactness(self):
        findings = load('exactness', 'findings')
        table = self.table('exactness', 'exactness.csv')
        methods = ('sbs', 'sbs-again', 'resample', 'commit', 'beam-sample')
        self.check('exactness', 'findings.csv', ','.join(table[0]), findings.findings(table, methods))
        self.check('exactness', 'claims.csv', 'claim,held,cases', findings.claims(table))


class Chain(unittest.TestCase):
    chain = load('naive', 'chain')

    def test_exact_shares_are_those_of_the_full_run(self):
        for k, length in ((5, 1), (5, 4), (20, 2)):
            shares = self.chain.exact_shares(2 * k, k, length)
            rows = [row for row in tables.read_table(EXPERIMENTS / 'naive/rare.csv')
                    if (row['k'], row['length'], row['method']) == (str(k), str(length), 'sbs')]
            self.assertEqual([f'{share:.8g}' for share in shares[:2]], [row['exact'] for row in rows])

    def test_exact_shares_by_enumeration(self):
        leaves = {'u': 0.01, 'v': 0.001}
        for first in 'abc':
            for rest, p in (('x', 0.9), ('y', 0.1)):
                leaves[first + rest] = p * (1 - 0.011) / 3
        holds_u = holds_v = siblings = 0
        for order in permutations(leaves, 3):
            probability, left = 1, 1
            for leaf in order:
                probability *= leaves[leaf] / left
                left -= leaves[leaf]
            holds_u += probability * ('u' in order)
            holds_v += probability * ('v' in order)
            siblings += probability * (len({leaf[0] for leaf in order}) < 3)
        for found, expected in zip(self.chain.exact_shares(3, 3, 2), (holds_u, holds_v, siblings)):
            self.assertAlmostEqual(found, expected, delta=1e-8)

    def test_the_model_is_a_distribution(self):
        for m in 10, 40:
            model = self.chain.make_model(m)
            for row in [model['start'], *model['next'].values()]:
                self.assertEqual(len(row), len(model['vocab']))
                self.assertAlmostEqual(sum(row), 1, delta=1e-12)


class Distance(unittest.TestCase):
    distance = load('exactness', 'distance')
    LEAVES = [('a', math.log(0.5)), ('b', math.log(0.3)), ('c', math.log(0.2))]

    def test_law_of_sets(self):
        law = self.distance.Law(self.LEAVES, 2)
        self.assertAlmostEqual(law.sets[frozenset('ab')], 0.5 * 0.3 / 0.5 + 0.3 * 0.5 / 0.7, delta=1e-15)
        self.assertAlmostEqual(sum(law.sets.values()), 1, delta=1e-15)

    def test_mean_deviation_by_summation(self):
        for n, q in ((1, 0.317), (7, 0.317), (30, 0.9), (12, 0.01)):
            expected = sum(math.comb(n, x) * q ** x * (1 - q) ** (n - x) * abs(x - n * q) for x in range(n + 1))
            self.assertAlmostEqual(self.distance.mean_deviation(n, q), expected, delta=1e-12)
        self.assertEqual(self.distance.mean_deviation(5, 0), 0)

    def test_distances_of_an_exact_and_of_a_wrong_sampler(self):
        noise = random.Random(1)
        law = self.distance.Law(self.LEAVES, 2)
        exact, wrong = [], []
        for _ in range(4000):
            keys = {text: math.log(noise.random()) / math.exp(log_p) for text, log_p in self.LEAVES}
            order = sorted(keys, key=keys.get, reverse=True)
            exact += [('1', order[0]), ('2', order[1])]
            wrong += [('1', order[0]), ('2', 'c' if order[0] != 'c' else 'a')]
        for sequences, is_exact in ((exact, True), (wrong, False)):
            first, last = self.distance.distances(law, sequences, [100, 4000])
            self.assertEqual((first[0], last[0]), (100, 4000))
            found, expected = map(float, last[1:3])
            self.assertEqual(found < 4 * expected, is_exact)

    def test_outcomes_outside_of_the_law_count(self):
        found, _ = self.distance.total_variation({'a': 1.0}, {'a': 3, 'b': 1}, 4)
        self.assertEqual(found, 0.25)
