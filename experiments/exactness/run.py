#!/usr/bin/env python3
"""Computes how far the draws of four methods are from sampling without replacement."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import distance  # noqa: E402
import findings  # noqa: E402
from lib.commands import n_processors, read_tsv, sbeam  # noqa: E402
from lib.experiment import TOP, Experiment  # noqa: E402
from lib.units import Unit  # noqa: E402

SEED = 1
OTHER_SEED = 2
MODELS = {'tree': 'experiments/exactness/tree.json', 'wide': 'experiments/exactness/wide.json',
          'fig1': 'models/fig1.json'}
METHODS = ('sbs', 'sbs-again', 'resample', 'commit', 'beam-sample')  # sbs-again is sbs with another seed
COLUMNS = 'model,k,temperature,method,draws,tv_sets,expected_sets,tv_first,expected_first'


class Exactness(Experiment):
    models = MODELS.values()
    parts = ('distance.py',)
    uses_data = False

    def settings(self):
        """Sets the numbers of draws after which the distance is computed."""
        self.marks = [1000, 2000, 5000, 10000, 20000]
        self.more_marks = self.marks  # on the tree of 27 leaves
        if not self.quick:
            self.marks = self.marks + [50000, 100000, 200000]
            self.more_marks = self.marks + [500000, 1000000]

    def units(self):
        yield from self.cases('tree', 2, self.more_marks, METHODS)
        yield from self.cases('wide', 2, self.marks, METHODS)
        # Figure 1's tree has two first tokens, so commit never gets three sequences and is left out.
        yield from self.cases('fig1', 3, self.marks, [method for method in METHODS if method != 'commit'])

    def cases(self, model, k, marks, methods):
        cost = marks[-1] * k // 250000 + 1  # measured: about 4 microseconds for each sequence
        for temperature in '1', '0.5':
            for method in methods:
                yield Unit(f'{model}-{temperature}-{method}', cost, self.distance, model, k, temperature, method, marks)

    def distance(self, model, k, temperature, method, marks):
        """Returns a row for each number of draws."""
        common = ['draw', '-m', TOP / MODELS[model], '-T', temperature, '-f', 'tsv']
        leaves = sbeam([*common, '-k', 100, '--seed', 1])
        again = '-again'
        seed = OTHER_SEED if method.endswith(again) else SEED
        draws = sbeam([*common, '-k', k, '--seed', seed, '--method', method.replace(again, ''), '--draws', marks[-1],
                       '--threads', n_processors()])
        law = distance.Law(read_tsv(leaves, 'text', 'log_p'), k)
        for numbers in distance.distances(law, read_tsv(draws, 'rank', 'text'), marks):
            yield [model, k, temperature, method, *numbers]

    def tables(self):
        self.table('exactness.csv', COLUMNS, self.rows(*(unit.name for unit in self.units())))
        table = self.read_table('exactness.csv')
        self.table('findings.csv', COLUMNS, findings.findings(table, METHODS))
        self.table('claims.csv', 'claim,held,cases', findings.claims(table))


if __name__ == '__main__':
    sys.exit(Exactness(__file__).main(sys.argv[1:]))
