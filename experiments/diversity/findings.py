"""Compares the paper's claims with the points of diversity.csv."""
from lib.tables import claim

EQUAL_DIVERSITY = 'k,strength,diversity,dbs_mean,sbs_mean,difference_mean,dbs_max,sbs_max,difference_max'
BEST = 'k,temperature,beam_max,sbs_max,difference,sample_max,beam_diversity,sbs_diversity'


class Point:
    """One method with one k at one level: a temperature or, for diverse beam search, a strength."""

    def __init__(self, row):
        self.method, self.k = row['method'], row['k']
        self.level = row['strength' if self.method == 'diverse' else 'temperature']
        self.diversity, self.mean, self.max = (float(row[key]) for key in ('diversity', 'bleu_mean', 'bleu_max'))


def select(rows, method, k):
    return [point for point in map(Point, rows) if point.method == method and point.k == k]


def ks(rows):
    return list(dict.fromkeys(row['k'] for row in rows))


def between(x, x0, x1, y0, y1):
    return (y0 + y1) / 2 if x1 == x0 else y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def pairs_of_equal_diversity(rows):
    """Yields each point of diverse beam search with the mean and maximum BLEU of Stochastic Beam Search at its
    diversity, interpolated between temperatures. Skips points outside of the curve."""
    for k in ks(rows):
        curve = select(rows, 'sbs', k)
        for point in select(rows, 'diverse', k):
            for a, b in zip(curve, curve[1:]):
                if a.diversity <= point.diversity <= b.diversity:
                    ends = point.diversity, a.diversity, b.diversity
                    yield point, between(*ends, a.mean, b.mean), between(*ends, a.max, b.max)
                    break


def equal_diversity(rows):
    """Returns the rows of findings-equal-diversity.csv."""
    return [[point.k, point.level, f'{point.diversity:.3f}',
             f'{point.mean:.2f}', f'{mean:.2f}', f'{mean - point.mean:+.2f}',
             f'{point.max:.2f}', f'{maximum:.2f}', f'{maximum - point.max:+.2f}']
            for point, mean, maximum in pairs_of_equal_diversity(rows)]


def triples_of_equal_temperature(rows):
    """Yields the points of sbs, beam and sample for each k and temperature."""
    for k in ks(rows):
        beam, sample = ({point.level: point for point in select(rows, method, k)} for method in ('beam', 'sample'))
        for sbs in select(rows, 'sbs', k):
            yield sbs, beam[sbs.level], sample[sbs.level]


def best(rows):
    """Returns the rows of findings-best.csv: the maximum BLEU of k translations for each temperature."""
    return [[sbs.k, sbs.level, f'{beam.max:.2f}', f'{sbs.max:.2f}', f'{sbs.max - beam.max:+.2f}',
             f'{sample.max:.2f}', f'{beam.diversity:.3f}', f'{sbs.diversity:.3f}']
            for sbs, beam, sample in triples_of_equal_temperature(rows)]


def claims(rows):
    """Returns the rows of claims.csv."""
    pairs = list(pairs_of_equal_diversity(rows))
    low = [points for points in triples_of_equal_temperature(rows) if float(points[0].level) < 0.5]
    equal = 'at equal diversity SBS has a higher '
    low_t = 'for T < 0.5 the maximum BLEU of SBS is '
    return [
        claim(equal + 'mean BLEU than diverse beam search', (mean > point.mean for point, mean, _ in pairs)),
        claim(equal + 'maximum BLEU than diverse beam search', (best > point.max for point, _, best in pairs)),
        claim(low_t + 'at most 1 point below that of beam search', (sbs.max > beam.max - 1 for sbs, beam, _ in low)),
        claim(low_t + 'above that of sampling with replacement', (sbs.max > sample.max for sbs, _, sample in low)),
        claim('for T < 0.5 SBS is more diverse than beam search',
              (sbs.diversity > beam.diversity for sbs, beam, _ in low)),
    ]
