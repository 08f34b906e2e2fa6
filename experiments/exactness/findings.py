"""Compares the distances in exactness.csv with those that an exact sampler is expected to have."""
from lib.tables import claim

NUMBERS = ('tv_sets', 'expected_sets', 'tv_first', 'expected_first')


def last_rows(table):
    """Returns the last row, which has the most draws, of each model, k and temperature, and of each method."""
    cases = {}
    for row in table:
        methods = cases.setdefault((row['model'], row['k'], row['temperature']), {})
        methods[row['method']] = row
    return cases


def findings(table, methods):
    """Returns the rows of findings.csv, in the order of these methods."""
    return [[*case, method, rows[method]['draws'], *(f'{float(rows[method][key]):.4f}' for key in NUMBERS)]
            for case, rows in last_rows(table).items() for method in methods if method in rows]


def claims(table):
    """Returns the rows of claims.csv."""
    exact, biased = [], []
    for rows in last_rows(table).values():
        for method, row in rows.items():
            distance = float(row['tv_sets']) / float(row['expected_sets'])
            (exact if method.startswith('sbs') else biased).append(distance)
    return [
        claim('the sets of sbs are as near as those of an exact sampler (at most 1.5 times its expected distance)',
              (distance < 1.5 for distance in exact)),
        claim('the sets of a shortcut are not (over twice that distance)', (distance > 2 for distance in biased)),
    ]
