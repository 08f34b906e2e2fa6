"""Compares the shares in rare.csv and siblings.csv with the exact ones."""
import math

from lib.tables import claim

COLUMNS = 'k,p,length,exact,sbs,resample,resample_ratio,commit,commit_ratio'


class Case:
    """A rare sequence of one probability and length, drawn with one k by three methods."""

    def __init__(self, row):
        self.key = row['k'], row['p'], row['length']
        self.length = int(row['length'])
        self.exact = float(row['exact'])
        # If few or none were seen, the standard error is that of the exact share.
        self.se = math.sqrt(self.exact * (1 - self.exact) / int(row['draws']))
        self.share = {}


def cases(rare):
    found = {}
    for row in rare:
        case = Case(row)
        found.setdefault(case.key, case).share[row['method']] = float(row['inclusion'])
    return list(found.values())


def findings(rare):
    """Returns the rows of findings.csv."""
    rows = []
    for case in cases(rare):
        numbers = [f'{case.exact:.4g}', f"{case.share['sbs']:.4g}"]
        for method in 'resample', 'commit':
            numbers += [f'{case.share[method]:.4g}', f'{case.share[method] / case.exact:.3g}']
        rows.append([*case.key, *numbers])
    return rows


def siblings_agree(row):
    exact = float(row['exact'])
    # Rounding adds up to 1e-9 if the exact share is 0 or 1.
    return (float(row['share']) - exact) ** 2 <= 16 * (exact * (1 - exact) / int(row['draws']) + 1e-18)


def claims(rare, siblings):
    """Returns the rows of claims.csv."""
    all_cases = cases(rare)
    near = 'as often as the exact law (within 4 standard errors)'
    return [
        claim('sbs holds a rare sequence ' + near,
              ((case.share['sbs'] - case.exact) ** 2 <= 16 * case.se ** 2 for case in all_cases)),
        claim('sbs holds two sequences of one first token ' + near,
              (siblings_agree(row) for row in siblings if row['method'] == 'sbs')),
        claim('beyond length 1 resample holds a rare sequence less often (by over 4 standard errors)',
              (case.share['resample'] < case.exact - 4 * case.se for case in all_cases if case.length > 1)),
        claim('no two sequences of commit share their first token',
              (float(row['share']) == 0 for row in siblings if row['method'] == 'commit')),
    ]
