"""Estimates E[f] for three sentences, for bleu-estimate and entropy-estimate. Both use the same draws, and the first to
run makes the units of both.

Each row of a unit begins with "bleu" or "entropy"; the other columns depend on the unit:
  truth-S      the truth of sentence S (a line of the data) at all temperatures, from one large draw
  beam-S       beam search for sentence S at all temperatures, once for each k of a grid
  METHOD-S-T   the estimators of a method over many draws at temperature T, for each k
"""
import json
import math

from lib import estimate_findings
from lib.commands import fields, n_processors, read_record, sbeam
from lib.experiment import Experiment, Failure
from lib.units import Unit

SEED = 1
TRUTH_SEED = 2  # the truth has noise of its own
SENTENCES = (100, 200, 300)
TEMPERATURES = ('0.05', '0.1', '0.2', '0.5', '1')
TRUTH = ('estimator', 'stream', 'temperature', 'k', 'estimate', 'se')
SUMMARY = ('estimator', 'stream', 'temperature', 'k', 'draws', 'mean', 'p025', 'p975', 'bias', 'rmse')
# The approximate seconds of a unit of METHOD-T in a full run, measured on two cores for a sentence of 15 words. Other
# units take 2 s.
SECONDS = {'sbs-0.05': 5, 'sbs-0.1': 9, 'sbs-0.2': 16, 'sbs-0.5': 35, 'sample-0.5': 20, 'sbs-1': 50, 'sample-1': 50}


class Estimate(Experiment):
    pool_name = 'estimate'
    parts = ('../lib/estimate_draws.py',)

    def __init__(self, script, f):
        super().__init__(script)
        self.f = f

    def settings(self):
        self.repetitions = 100
        self.most = 250  # largest k
        self.truth_k = 5000
        # These are the k of beam search, whose beams are not nested.
        self.grid = [*range(1, 11), *range(12, 23, 2), 25, 28, 32, 36, 40, 45, 50, 56, 63, 71, 80, 90,
                     *range(100, 151, 10), 165, 180, 195, 210, 230, 250]
        if self.quick:
            self.repetitions = 20
            self.most = 20
            self.truth_k = 200
            self.grid = [1, 2, 5, 10, 20]
        if len(self.sentences) < max(SENTENCES):
            line = min(line for line in SENTENCES if line > len(self.sentences))
            raise Failure(f"'{self.english}' has {len(self.sentences)} lines: expected at least {line}")

    def units(self):
        for sentence in SENTENCES:
            yield Unit(f'truth-{sentence}', self.truth_k // 100 + 1, self.truth, sentence)
            for temperature in TEMPERATURES:
                for method in 'sample', 'sbs':
                    yield Unit(f'{method}-{sentence}-{temperature}', self.curve_cost(method, temperature),
                               self.curve, method, sentence, temperature)
            yield Unit(f'beam-{sentence}', len(self.grid) * self.most // 600 + 1, self.beam, sentence)

    def curve_cost(self, method, temperature):
        return SECONDS.get(f'{method}-{temperature}', 2) * self.repetitions * self.most // 25000 + 1

    def truth(self, sentence):
        draws = self.draw(sentence, '-k', self.truth_k, '-T', ','.join(TEMPERATURES), '--seed', TRUTH_SEED,
                          '--batch', 1)
        return [row for f in ('bleu', 'entropy') for row in self.estimates(f, draws, TRUTH)
                if row[1] == 'sbs-normalised']

    def curve(self, method, sentence, temperature):
        draws = self.draw(sentence, '--method', method, '-k', self.most, '-T', temperature,
                          '--draws', self.repetitions, '--seed', SEED)
        return self.summary(sentence, temperature, draws, '--curve', f'1..{self.most}')

    def beam(self, sentence):
        draws = [line for k in self.grid for line in self.draw(
            sentence, '--method', 'beam', '-k', k, '-T', ','.join(TEMPERATURES), '--batch', 1)]
        return [row for temperature in TEMPERATURES for row in self.summary(
            sentence, temperature, [line for line in draws if read_record(line)['temperature'] == temperature])]

    def draw(self, sentence, *arguments):
        """Returns draws for one sentence. Its stream is its line in the data, counted from 0, by which `sbeam estimate`
        finds its references."""
        text = self.sentences[sentence - 1].replace('\r', '')
        given = json.dumps({'input': text, 'stream': sentence - 1}, ensure_ascii=False)
        return list(sbeam(['draw', '--input', 'jsonl', '--threads', n_processors(), '--cache', 1024, '-f', 'jsonl',
                           *arguments], lines=[given]))

    def summary(self, sentence, temperature, draws, *arguments):
        """Returns mean, band and error over the draws, which all have this temperature, for each k."""
        rows = []
        for f in 'bleu', 'entropy':
            truth, = (row[5] for row in self.rows(f'truth-{sentence}') if row[0] == f and row[3] == temperature)
            rows += self.estimates(f, draws, SUMMARY, '--summary', '--truth', truth, *arguments)
        return rows

    def estimates(self, f, draws, keys, *arguments):
        """Returns these keys of the estimates of E[f]."""
        references = ['--ref', self.french] if f == 'bleu' else []
        lines = sbeam(['estimate', '--f', f, '-f', 'jsonl', *arguments, *references], lines=draws)
        return [[f, *fields(line, keys)] for line in lines]

    def tables(self):
        truths = [unit.name for unit in self.units() if unit.function == self.truth]
        others = [unit.name for unit in self.units() if unit.function != self.truth]
        self.table('estimates.csv', 'sentence,temperature,estimator,k,draws,mean,p025,p975,bias,rmse,sd',
                   self.rows_of_f(others, lambda *numbers: [*numbers, standard_deviation(*numbers[-2:])]))
        self.table('truth.csv', 'sentence,temperature,estimator,k,truth,se',
                   self.rows_of_f(truths, lambda *numbers: numbers))
        truth, estimates = self.read_table('truth.csv'), self.read_table('estimates.csv')
        self.table('findings.csv', estimate_findings.COLUMNS, estimate_findings.findings(truth, estimates))
        self.table('claims.csv', 'claim,held,cases', estimate_findings.claims(truth, estimates))

    def rows_of_f(self, names, complete):
        """Returns the rows for f, sorted by sentence (its line in the data) and curve. `complete` returns the numbers
        of a row, given those of the unit."""
        rows = []
        for f, estimator, stream, temperature, k, *texts in self.rows(*names):
            if f == self.f:
                numbers = complete(*(float(text or 0) for text in texts))
                rows.append([int(stream) + 1, temperature, estimator, int(k), *(f'{x:.6g}' for x in numbers)])
        return sorted(rows, key=lambda row: (row[0], float(row[1]), row[2], row[3]))


def standard_deviation(bias, rmse):
    """Returns the standard deviation over the draws."""
    return math.sqrt(rmse ** 2 - bias ** 2 if rmse > abs(bias) else 0)
