"""Computes the total variation between the sets that a method draws and sampling without replacement."""
import math
from collections import Counter, defaultdict
from itertools import permutations


class Law:
    """The exact probabilities of the first sequence, `first`, and of the sets of k sequences, `sets`."""

    def __init__(self, leaves, k):
        """`leaves` are the texts and log-probabilities of all leaves."""
        self.k = k
        self.first = {text: math.exp(float(log_p)) for text, log_p in leaves}
        total = sum(self.first.values())
        self.sets = defaultdict(float)
        # The probability of a set is the sum over its orders (Plackett-Luce).
        for order in permutations(self.first, k):
            probability, left = 1, total
            for text in order:
                probability *= self.first[text] / left
                left -= self.first[text]
            self.sets[frozenset(order)] += probability


def mean_deviation(n, q):
    """Returns the mean of |X - nq|, X binomial (n, q), by De Moivre's formula."""
    if q <= 0 or q >= 1:
        return 0
    m = min(int(n * q) + 1, n)
    log_choose = math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)
    return 2 * m * math.exp(log_choose + m * math.log(q) + (n - m + 1) * math.log(1 - q))


def total_variation(law, counts, n):
    """Returns the distance of n outcomes from their law, and its expectation for an exact sampler."""
    found = sum(abs(counts[outcome] / n - probability) for outcome, probability in law.items())
    found += sum(count / n for outcome, count in counts.items() if outcome not in law)
    expected = sum(mean_deviation(n, probability) / n for probability in law.values())
    return found / 2, expected / 2


def distances(law, sequences, marks):
    """Yields a row after each number of draws in `marks`: draws, the distance of sets and its expectation, and both
    for the first sequence. `sequences` are the ranks and texts of all draws, one draw after the other."""
    first, orders = Counter(), Counter()
    n_draws = 0
    last_rank = str(law.k)
    for rank, text in sequences:
        if rank == '1':
            order = []
            first[text] += 1
        order.append(text)
        if rank == last_rank:
            orders[tuple(order)] += 1
            n_draws += 1
            if n_draws in marks:
                numbers = (*total_variation(law.sets, sets_of(orders), n_draws),
                           *total_variation(law.first, first, n_draws))
                yield [n_draws, *(f'{x:.6g}' for x in numbers)]


def sets_of(orders):
    """Returns the number of draws of each set, from that of each order. There are few orders and many draws."""
    sets = Counter()
    for order, count in orders.items():
        sets[frozenset(order)] += count
    return sets
