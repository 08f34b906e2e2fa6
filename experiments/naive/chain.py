"""A chain whose likely sequences branch at every step and whose rare ones do not, and its exact shares.

The first token is u or v, which are rare, or one of m others, which are equally likely. u is always followed by u and v
by v; any other token by x with probability 0.9 or y with 0.1, and so on. So a sequence of only u has the probability of
its first token at any length.
"""
import math

RARE = {'u': 0.01, 'v': 0.001}
U, V = RARE.values()


def make_model(m):
    """Returns the chain as sbeam reads it."""
    likely = [f'a{i}' for i in range(1, m + 1)]
    vocab = [*likely, 'u', 'v', 'x', 'y', '</s>']

    def row(probabilities):
        return [probabilities.get(token, 0) for token in vocab]

    # Six digits are exact for the values of m in use, and siblings may be off by 1e-6.
    start = {token: float(f'{(1 - U - V) / m:.6g}') for token in likely}
    following = {token: row({'x': 0.9, 'y': 0.1}) for token in vocab[:-1]}
    following.update({token: row({token: 1}) for token in RARE})
    return {'format': 'sbeam-chain', 'vocab': vocab, 'eos': '</s>', 'start': row({**start, **RARE}), 'next': following}


def times(polynomial, a, b, n):
    """Returns the product of a polynomial and (a + b x)^n, cut to the length of the polynomial."""
    factor = []
    log_choose = 0
    for i in range(len(polynomial)):
        if i > n or (a <= 0 and i < n) or (b <= 0 and i > 0):
            factor.append(0)
        else:
            factor.append(math.exp(log_choose + (math.log(a) * (n - i) if i < n else 0) +
                                   (math.log(b) * i if i > 0 else 0)))
        if i < n:
            log_choose += math.log((n - i) / (i + 1))
    return [sum(polynomial[j] * factor[i - j] for j in range(i + 1)) for i in range(len(polynomial))]


class Chain:
    """The sequences of a chain as exponential clocks: each rings at a random time, with its probability as rate, and
    the first k to ring are a sample without replacement.

    The sequences that share a likely first token are a group. In a group, copies[j] sequences have rates[j] each."""

    def __init__(self, m, k, length):
        self.m = m
        self.one = [1] + [0] * (k - 1)
        self.group = (1 - U - V) / m
        self.copies = [math.comb(length - 1, j) for j in range(length)]
        self.rates = [self.group * 0.9 ** (length - 1) / 9 ** j for j in range(length)]

    def few_likely(self, t):
        """Returns the probabilities that 0, 1, ..., k - 1 of the likely sequences rang by t."""
        polynomial = self.one
        for copies, rate in zip(self.copies, self.rates):
            silent = math.exp(-rate * t)
            polynomial = times(polynomial, silent, 1 - silent, copies * self.m)
        return polynomial

    def apart(self, t):
        """Returns the density at t of the k-th ring, with all k in groups of their own: the ring at t is the first of
        its group, k - 1 other groups have rung once and the rest not at all. u and v are groups of one."""
        none = math.exp(-self.group * t)
        once = sum(copies * (math.exp(-(self.group - rate) * t) - none)
                   for copies, rate in zip(self.copies, self.rates))
        u, v = math.exp(-U * t), math.exp(-V * t)

        def others(n_groups, *silent):
            polynomial = times(self.one, none, once, n_groups)
            for probability in silent:
                polynomial = times(polynomial, probability, 1 - probability, 1)
            return polynomial[-1]

        return (self.m * self.group * none * others(self.m - 1, u, v) +
                U * u * others(self.m, v) + V * v * others(self.m, u))


def exact_shares(m, k, length, steps=400):
    """Returns the probabilities that a sample of k without replacement holds u..., that it holds v..., and that two of
    its sequences share their first token.

    A sequence of rate r is in the sample if fewer than k others rang before it: the integral of
    r exp(-r t) P(fewer than k others by t) dt, by Simpson's rule in log t, t from 1e-9 to 1e6."""
    chain = Chain(m, k, length)
    low = math.log(1e-9)
    width = (math.log(1e6) - low) / steps
    holds_u = holds_v = apart = 0
    for i in range(steps + 1):
        t = math.exp(low + i * width)
        weight = (1 if i in (0, steps) else 4 if i % 2 else 2) * width / 3 * t
        likely = chain.few_likely(t)
        for_u, for_v = (sum(times(likely, math.exp(-other * t), 1 - math.exp(-other * t), 1)) for other in (V, U))
        holds_u += weight * U * math.exp(-U * t) * for_u
        holds_v += weight * V * math.exp(-V * t) * for_v
        apart += weight * chain.apart(t)
    return holds_u, holds_v, 1 - apart
