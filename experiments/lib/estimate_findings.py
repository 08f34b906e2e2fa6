"""Compares the paper's claims with truth.csv and estimates.csv."""
import math

from lib.tables import claim

COLUMNS = ('sentence,temperature,k,truth,truth_se,sd_mc,sd_sbs,sd_sbs_normalised,sd_ratio,bias_sbs_normalised,'
           'rmse_ratio')


class Case:
    """A sentence at one temperature: its truth, and estimates[estimator, k] of its mean."""

    def __init__(self, row):
        self.sentence, self.temperature = row['sentence'], row['temperature']
        self.truth, self.truth_se = float(row['truth']), float(row['se'])
        self.estimates = {}

    def sd(self, estimator, k):
        return self.number(estimator, k, 'sd')

    def number(self, estimator, k, column):
        return float(self.estimates[estimator, k][column])

    def allowed(self, se):
        """Returns how far from the truth an estimate may be, by its own noise and that of the truth. A millionth is
        added because the model's rows have single precision and sum to 1 only up to rounding."""
        return 4 * math.sqrt(se ** 2 + self.truth_se ** 2) + 1e-6 * self.truth

    def agrees(self, estimator, k):
        """Returns whether a mean over draws is the truth, within that distance."""
        se = self.sd(estimator, k) / math.sqrt(self.number(estimator, k, 'draws'))
        return abs(self.number(estimator, k, 'bias')) <= self.allowed(se)


def read_cases(truths, estimates):
    cases = {(row['sentence'], row['temperature']): Case(row) for row in truths}
    for row in estimates:
        cases[row['sentence'], row['temperature']].estimates[row['estimator'], int(row['k'])] = row
    return list(cases.values())


def largest_k(estimates):
    return max(int(row['k']) for row in estimates)


def compared(truths, estimates):
    """Returns each case with each k that the tables show."""
    most = largest_k(estimates)
    ks = (10, 50, 250) if most >= 250 else (5, most)
    return [(case, k) for case in read_cases(truths, estimates) for k in ks]


def ratio(a, b):
    return f'{a / b:.2g}' if b > 0 else ''


def findings(truths, estimates):
    """Returns the rows of findings.csv: standard deviations at some k."""
    rows = []
    for case, k in compared(truths, estimates):
        mc, sbs, normalised = (case.sd(estimator, k) for estimator in ('mc', 'sbs', 'sbs-normalised'))
        rows.append([case.sentence, case.temperature, k, f'{case.truth:.5g}', f'{case.truth_se:.2g}',
                     f'{mc:.3g}', f'{sbs:.3g}', f'{normalised:.3g}', ratio(normalised, mc),
                     f"{case.number('sbs-normalised', k, 'bias'):.2g}",
                     ratio(case.number('sbs-normalised', k, 'rmse'), case.number('mc', k, 'rmse'))])
    return rows


def claims(truths, estimates):
    """Returns the rows of claims.csv."""
    sds = [(float(case.temperature), *(case.sd(estimator, k) for estimator in ('mc', 'sbs', 'sbs-normalised')))
           for case, k in compared(truths, estimates)]
    low = [(mc, normalised) for temperature, mc, _, normalised in sds if temperature <= 0.2]
    middle = [(mc, normalised) for temperature, mc, _, normalised in sds if temperature == 0.5]
    cases = read_cases(truths, estimates)
    most = largest_k(estimates)
    beams = [(case, k) for case in cases for estimator, k in case.estimates if estimator == 'beam']
    margin = ' (4 standard errors and a millionth)'
    return [
        claim('for T <= 0.2 normalised SBS has a smaller standard deviation than MC',
              (normalised < mc for mc, normalised in low)),
        claim('at T = 0.5 the two standard deviations are within a factor of 1.5',
              (normalised <= 1.5 * mc and mc <= 1.5 * normalised for mc, normalised in middle)),
        claim('at T = 0.5 that of normalised SBS is at most 1.5 times that of MC',
              (normalised <= 1.5 * mc for mc, normalised in middle)),
        claim('normalised SBS has a smaller standard deviation than SBS unnormalised',
              (normalised < sbs for _, _, sbs, normalised in sds)),
        claim('at the largest k the mean of MC is the truth' + margin, (case.agrees('mc', most) for case in cases)),
        claim('at the largest k the mean of SBS is the truth' + margin, (case.agrees('sbs', most) for case in cases)),
        claim('at the largest k the mean of normalised SBS is the truth' + margin,
              (case.agrees('sbs-normalised', most) for case in cases)),
        claim('beam search without normalisation is never above the truth' + margin,
              (case.number('beam', k, 'bias') <= case.allowed(0) for case, k in beams)),
    ]
