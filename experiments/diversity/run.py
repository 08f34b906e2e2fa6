#!/usr/bin/env python3
"""Computes Figure 2 of the paper: BLEU against diversity, for four ways to get k translations."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import findings  # noqa: E402
from lib.commands import fields, n_processors, sbeam  # noqa: E402
from lib.experiment import Experiment  # noqa: E402
from lib.units import Unit  # noqa: E402

SEED = 1
KS = (5, 10, 20)
# The share of the time of k rows for each input that a method needs, in percent, measured on two cores. The cache
# saves most in beam search.
PERCENT = {'beam': 30, 'sample': 45, 'sbs': 65, 'diverse': 85}
COLUMNS = 'method,k,temperature,strength,inputs,bleu_min,bleu_mean,bleu_max,d1,d2,d3,d4,diversity'


class Diversity(Experiment):
    def settings(self):
        # These are temperatures, or strengths of diverse beam search.
        self.levels = ['0.1', '0.2', '0.3', '0.4', '0.5', '0.6', '0.7', '0.8']
        if self.quick:
            self.levels = ['0.2', '0.4', '0.6', '0.8']
            self.sentences = self.sentences[:12]

    def units(self):
        for k in KS:
            for method in PERCENT:
                yield Unit(f'{method}-{k}', self.cost(method, k), self.scores, method, k)

    def cost(self, method, k):
        return len(self.levels) * len(self.sentences) * (k + 3) * PERCENT[method] // 120000 + 1

    def scores(self, method, k):
        """Returns a row for each temperature or strength."""
        temperatures = ['-T', ','.join(self.levels)]
        if method == 'diverse':
            draws = [line for strength in self.levels
                     for line in self.translate(method, k, '--groups', k, '-T', 1, '--strength', strength)]
        elif method == 'sbs':
            draws = self.translate(method, k, *temperatures, '--no-kappa')
        else:
            draws = self.translate(method, k, *temperatures)
        scores = sbeam(['eval', '--ref', self.french, '-f', 'jsonl'], lines=draws)
        return [fields(line, COLUMNS.split(','), digits=6) for line in scores]

    def translate(self, method, k, *arguments):
        """Draws for all sentences. Temperatures share the rows of equal prefixes."""
        return sbeam(['draw', '--method', method, '-k', k, *arguments, '--seed', SEED, '--threads', n_processors(),
                      '--cache', 256, '-f', 'jsonl'], lines=self.sentences)

    def tables(self):
        self.table('diversity.csv', COLUMNS, self.rows(*(unit.name for unit in self.units())))
        points = self.read_table('diversity.csv')
        self.table('findings-equal-diversity.csv', findings.EQUAL_DIVERSITY, findings.equal_diversity(points))
        self.table('findings-best.csv', findings.BEST, findings.best(points))
        self.table('claims.csv', 'claim,held,cases', findings.claims(points))


if __name__ == '__main__':
    sys.exit(Diversity(__file__).main(sys.argv[1:]))
