#!/usr/bin/env python3
"""Computes what k distinct samples cost: by rejection as entropy falls (section 4.2 of the paper), and by the two
searches of Stochastic Beam Search."""
import resource
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import findings  # noqa: E402
from lib.commands import fields, read_tsv, sbeam  # noqa: E402
from lib.experiment import Experiment  # noqa: E402
from lib.units import Unit  # noqa: E402

SEED = 1
COLUMNS = ('method,k,temperature,entropy,inputs,censored,samples,rows,rows_median,rows_evaluated,seconds,'
           'startup_seconds')
SEARCH_COLUMNS = 'search,parallel,k,temperature,inputs,rows,seconds,startup_seconds'
SEARCHES = (('level', ''), ('best-first', 'auto'), ('best-first', 1))  # search, parallel


def processor_seconds():
    """Returns the processor time of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Evaluations(Experiment):
    def settings(self):
        self.temperatures = ['1', '0.7', '0.5', '0.35', '0.25', '0.2', '0.15', '0.1', '0.07', '0.05']
        self.ks = (10, 50)
        self.max_samples = 30000
        self.search_temperatures = ['0.1', '0.3', '1']
        self.search_ks = (1, 2, 5, 10, 20, 50, 100)
        self.sentences = self.sentences[::15][:20]  # lines 1, 16, 31, ...
        if self.quick:
            self.temperatures = ['1', '0.35', '0.1', '0.05']
            self.ks = (10,)
            self.max_samples = 3000
            self.search_ks = (1, 5, 20)
            self.sentences = self.sentences[:6]

    def units(self):
        yield Unit('startup', 2, self.startup)
        for temperature in self.temperatures:
            yield Unit(f'entropy-{temperature}', 2, self.entropy, temperature)
            for k in self.ks:
                yield Unit(f'sbs-{k}-{temperature}', k // 10 + 1, self.price, 'sbs', k, temperature)
                yield Unit(f'reject-{k}-{temperature}', k // 10 + 2, self.price, 'reject', k, temperature)
        for temperature in self.search_temperatures:
            for k in self.search_ks:
                yield Unit(f'searches-{k}-{temperature}', k // 10 + 1, self.search_prices, k, temperature)

    def startup(self):
        """Returns the time of a command that only loads the model and encodes the sentences."""
        return [[self.measure('draw', '--method', 'beam', '-k', 1, '--max-len', 1, '-f', 'jsonl')[0]]]

    def entropy(self, temperature):
        """Returns the mean of -log p over samples and sentences, in nats."""
        draws = sbeam(['draw', '--method', 'sample', '-k', 200, '-T', temperature, '--seed', SEED, '-f', 'tsv'],
                      lines=self.sentences)
        entropies = [-float(log_p) for log_p in read_tsv(draws, 'log_p')]
        return [[temperature, f'{sum(entropies) / len(entropies):.4g}']]

    def price(self, method, k, temperature):
        """Returns the means of samples and rows over the sentences, and the time, of a method."""
        rejects = method == 'reject'
        option = ['--max-samples', self.max_samples] if rejects else ['--no-kappa', '--search', 'level']
        seconds, records = self.measure('draw', '--method', method, '-k', k, '-T', temperature, '--seed', SEED,
                                        *option, '-f', 'jsonl')
        complete, samples, sampled_rows, evaluated = zip(
            *(fields(line, ('complete', 'samples', 'sampled_rows', 'model_rows')) for line in records))
        # The rows of sbs are those that it evaluated; those of reject are what its samples cost one by one.
        rows = [int(n) for n in (sampled_rows if rejects else evaluated)]
        n = len(records)
        mean_samples = sum(map(int, samples)) / n if rejects else k
        means = mean_samples, sum(rows) / n, statistics.median(rows), sum(map(int, evaluated)) / n
        return [[method, k, temperature, n, complete.count('false'), *(f'{x:.6g}' for x in means), seconds]]

    def search_prices(self, k, temperature):
        """Returns the mean number of rows over the sentences, and the time, of each search. Draws have kappa."""
        prices = []
        for search, parallel in SEARCHES:
            option = ['--parallel', parallel] if parallel else []
            seconds, records = self.measure('draw', '-k', k, '-T', temperature, '--seed', SEED, '--search', search,
                                            *option, '-f', 'jsonl', n_runs=2)
            rows = [int(n) for line in records for n in fields(line, ('model_rows',))]
            prices.append([search, parallel, k, temperature, len(rows), f'{sum(rows) / len(rows):.6g}', seconds])
        return prices

    def measure(self, *command, n_runs=3):
        """Returns the processor time of a command with one thread, in seconds, and the lines that it prints. The
        time is the smallest of n_runs runs, or of fewer if a run takes over 1.5 s."""
        times = []
        while len(times) < n_runs and not (times and times[-1] > 1.5):
            before = processor_seconds()
            lines = list(sbeam(command, lines=self.sentences))
            times.append(processor_seconds() - before)
        return f'{min(times):.3f}', lines

    def tables(self):
        entropies = dict(self.rows(*(f'entropy-{temperature}' for temperature in self.temperatures)))
        [startup], = self.rows('startup')
        prices = self.rows(*(unit.name for unit in self.units() if unit.function == self.price))
        self.table('evaluations.csv', COLUMNS,
                   [[*row[:3], entropies[row[2]], *row[3:], startup] for row in prices])
        prices = self.rows(*(unit.name for unit in self.units() if unit.function == self.search_prices))
        self.table('searches.csv', SEARCH_COLUMNS, [[*row, startup] for row in prices])
        table, searches = self.read_table('evaluations.csv'), self.read_table('searches.csv')
        self.table('findings.csv', findings.COLUMNS, findings.findings(table))
        self.table('findings-searches.csv', findings.SEARCH_COLUMNS, findings.search_findings(searches))
        self.table('claims.csv', 'claim,held,cases', findings.claims(table, searches))


if __name__ == '__main__':
    sys.exit(Evaluations(__file__).main(sys.argv[1:]))
