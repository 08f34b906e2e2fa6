"""Compares rejection with Stochastic Beam Search in evaluations.csv, and its two searches in searches.csv."""
from collections import defaultdict

from lib.tables import claim

COLUMNS = 'k,temperature,entropy,sbs_rows,reject_samples,reject_rows,given_up,reject_rows_shared,sbs_ms,reject_ms'
SEARCH_COLUMNS = ('k,temperature,level_rows,best_first_rows,fewest_rows,level_over_fewest,best_first_over_fewest,'
                  'level_ms,best_first_ms,one_by_one_ms')


def pairs(table):
    """Yields the rows of sbs and of reject for each k and temperature."""
    reject = {(row['k'], row['temperature']): row for row in table if row['method'] == 'reject'}
    for row in table:
        if row['method'] == 'sbs':
            yield row, reject[row['k'], row['temperature']]


def milliseconds(row):
    """Returns the time of a draw, without that of loading the model."""
    return 1000 * (float(row['seconds']) - float(row['startup_seconds'])) / int(row['inputs'])


def rounded(text):
    return f'{float(text):.0f}'


def findings(table):
    """Returns the rows of findings.csv."""
    return [[sbs['k'], sbs['temperature'], sbs['entropy'], rounded(sbs['rows']), rounded(reject['samples']),
             rounded(reject['rows']), f"{reject['censored']}/{reject['inputs']}", rounded(reject['rows_evaluated']),
             f'{milliseconds(sbs):.1f}', f'{milliseconds(reject):.1f}']
            for sbs, reject in pairs(table)]


def triples(searches):
    """Yields the rows of level search, of best-first search, and of best-first search with --parallel 1 for each k and
    temperature. The last evaluates only the prefixes that its sequences continue: the fewest rows possible."""
    rows = {(row['search'], row['parallel'], row['k'], row['temperature']): row for row in searches}
    for row in searches:
        if row['search'] == 'level':
            case = row['k'], row['temperature']
            yield row, rows[('best-first', 'auto', *case)], rows[('best-first', '1', *case)]


def search_findings(searches):
    """Returns the rows of findings-searches.csv."""
    return [[level['k'], level['temperature'], *(rounded(row['rows']) for row in (level, best_first, fewest)),
             *(f"{float(row['rows']) / float(fewest['rows']):.2f}" for row in (level, best_first)),
             *(f'{milliseconds(row):.1f}' for row in (level, best_first, fewest))]
            for level, best_first, fewest in triples(searches)]


def claims(table, searches):
    """Returns the rows of claims.csv."""
    cold = [(sbs, reject) for sbs, reject in pairs(table) if float(sbs['temperature']) <= 0.25]
    sbs_rows = defaultdict(list)
    for sbs, _ in pairs(table):
        sbs_rows[sbs['k']].append(float(sbs['rows']))
    return [
        claim('the rows of sbs by level search hardly depend on T (largest below 1.2 times the smallest)',
              (max(rows) < 1.2 * min(rows) for rows in sbs_rows.values())),
        claim('for T <= 0.25 rejection one sample after the other needs more rows than sbs',
              (float(reject['rows']) > float(sbs['rows']) for sbs, reject in cold)),
        claim('for T <= 0.25 rejection takes longer than sbs (common prefixes evaluated once)',
              (milliseconds(reject) > milliseconds(sbs) for sbs, reject in cold)),
        claim('best-first search needs fewer rows than level search',
              (float(best_first['rows']) < float(level['rows']) for level, best_first, _ in triples(searches))),
        claim('for k >= 20 best-first search needs at most 1.15 times the fewest rows possible',
              (float(best_first['rows']) <= 1.15 * float(fewest['rows'])
               for _, best_first, fewest in triples(searches) if int(fewest['k']) >= 20)),
    ]
