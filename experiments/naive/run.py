#!/usr/bin/env python3
"""Computes what happens to a rare sequence as sequences grow longer (section 4.1 of the paper)."""
import json
import math
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import findings  # noqa: E402
from chain import RARE, exact_shares, make_model  # noqa: E402
from lib.commands import n_processors, read_tsv, sbeam  # noqa: E402
from lib.experiment import Experiment  # noqa: E402
from lib.units import Unit  # noqa: E402

SEED = 0  # plus 100 k, plus the length
RARE_COLUMNS = 'method,k,length,p,draws,count,inclusion,se,at_most,exact,ratio,ratio_se'
SIBLINGS_COLUMNS = 'method,k,length,draws,share,se,exact'


class Naive(Experiment):
    models = ()
    parts = ('chain.py',)
    uses_data = False

    def settings(self):
        self.lengths = [1, 2, 3, 4, 5, 6, 8, 10, 12]
        draws = 50000
        if self.quick:
            self.lengths = [1, 2, 4, 8]
            draws = 4000
        self.draws = {5: draws, 20: draws // 4}  # for each k

    def units(self):
        for k, draws in self.draws.items():
            for length in self.lengths:
                # Measured: about 4 microseconds for each entry of three beams, on two cores.
                cost = draws * k * length // 250000 + 1
                yield Unit(f'rare-{k}-{length}', cost, self.rare, k, length)

    def rare(self, k, length):
        """Returns how often each method draws the two rare sequences ("rare"), and how often two sequences of a draw
        share their first token ("siblings"). There are 2k likely first tokens."""
        exact = exact_shares(2 * k, k, length)
        for method in 'sbs', 'resample', 'commit':
            draws = self.draw(method, k, length)
            n = len(draws)
            for (token, p), law in zip(RARE.items(), exact):
                count = sum(token in tokens for tokens in draws)
                share, se = share_of(count, n)
                # If none was seen, `at_most` is the probability above which that had a chance below 5 %.
                at_most = '' if count else f'{3 / n:.6g}'
                yield ['rare', method, k, length, p, n, count, f'{share:.6g}', f'{se:.3g}', at_most,
                       f'{law:.8g}', f'{share / law:.6g}', f'{se / law:.3g}']
            share, se = share_of(sum(len(set(tokens)) < len(tokens) for tokens in draws), n)
            yield ['siblings', method, k, length, n, f'{share:.6g}', f'{se:.3g}', f'{exact[2]:.8g}']

    def draw(self, method, k, length):
        """Returns the first tokens of the sequences of each draw. Every k and length has noise of its own."""
        draws = []
        with tempfile.NamedTemporaryFile('w', suffix='.json') as model:
            json.dump(make_model(2 * k), model)
            model.flush()
            lines = sbeam(['draw', '--method', method, '-k', k, '--max-len', length, '--draws', self.draws[k],
                           '-f', 'tsv', '-m', model.name, '--seed', SEED + 100 * k + length,
                           '--threads', n_processors()])
            for rank, text in read_tsv(lines, 'rank', 'text'):
                if rank == '1':
                    draws.append([])
                draws[-1].append(text.split(' ')[0])
        return draws

    def tables(self):
        rows = self.rows(*(unit.name for unit in self.units()))
        self.table('rare.csv', RARE_COLUMNS, [row[1:] for row in rows if row[0] == 'rare'])
        self.table('siblings.csv', SIBLINGS_COLUMNS, [row[1:] for row in rows if row[0] == 'siblings'])
        rare, siblings = self.read_table('rare.csv'), self.read_table('siblings.csv')
        self.table('findings.csv', findings.COLUMNS, findings.findings(rare))
        self.table('claims.csv', 'claim,held,cases', findings.claims(rare, siblings))


def share_of(count, n):
    """Returns count / n and its standard error."""
    share = count / n
    return share, math.sqrt(share * (1 - share) / n)


if __name__ == '__main__':
    sys.exit(Naive(__file__).main(sys.argv[1:]))
