"""Compares policy gradients without replacement with REINFORCE, on a toy with an exact gradient.

    PYTHONPATH=python python3 python/examples/02_policy_gradient.py

The policy p writes words of 5 letters from 'abcd'. There are 1024 such words. A table holds the
logits of a letter after the previous one. The reward f of a word is the square of the number of
letters that follow their left neighbour in the cycle a, b, c, d, a, ... The program estimates the
gradient of E[f] with respect to the logits from k = 8 words x_i. Let g_i = grad log p(x_i),
f_i = f(x_i), w_i = p_i / q_i the weight of a word drawn without replacement, W = sum w_i, and
B = sum w_i f_i. The estimates are

    REINFORCE              1/k sum f_i g_i                              unbiased
      less the others      1/k sum (f_i - mean of the other f) g_i      unbiased
    SBS                    sum w_i f_i g_i                              unbiased
      less the others      sum w_i (W f_i - B) g_i                      unbiased
    SBS normalised         sum w_i/W f_i g_i                            biased
      less their mean      sum w_i/W (f_i - B/W) g_i                    biased
      less the others      sum w_i/W (f_i - B_i/W_i) g_i                biased

The subtracted numbers are baselines, computed from the same words; no gradient passes through w, W
and B. In B_i and W_i the word i has the weight p_i instead of w_i, so that this baseline comes from
the other words. B/W compares each word also with itself: this makes the estimate too short, by a
factor of 1 - 1/k for a flat policy. The second estimate of SBS is unbiased, because it is the sum
of w_i w_j (f_i - f_j) g_i over pairs, and E[w_i w_j] = p_i p_j if i and j differ.

For three policies, from flat to peaked, the program prints the norm of the bias, the norm that
chance alone would show, the variance (summed over the logits), and the variance of REINFORCE
divided by it (with a baseline if the estimate has one). Then it prints the reward that each
estimate reaches in training. Each step of the training uses a new seed: with the same seed, all
steps would have the same noise. It needs only NumPy and takes 12 seconds; --quick takes 2.
"""
import argparse
import itertools

import numpy as np

import sbeam

LETTERS, LENGTH, K = "abcd", 5, 8
V = len(LETTERS)
START = V  # the row of the table that a first letter takes

# For all words: their letters, how often each uses each element of the table, and their rewards.
WORDS = np.array(list(itertools.product(range(V), repeat=LENGTH)))
BEFORE = np.hstack([np.full((len(WORDS), 1), START), WORDS[:, :-1]])
USES = np.zeros((len(WORDS), V + 1, V))
for column in range(LENGTH):
    USES[np.arange(len(WORDS)), BEFORE[:, column], WORDS[:, column]] += 1
REWARD = ((WORDS[:, 1:] == (WORDS[:, :-1] + 1) % V).sum(1) ** 2).astype(float)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def probabilities(logits):
    """Returns the probabilities of all words: (..., 1024) for tables of (..., 5, 4)."""
    return np.exp(np.tensordot(log_softmax(logits), USES, axes=([-2, -1], [1, 2])))


def gradient(logits, words, coefficients):
    """Returns sum_i c_i grad log p(x_i), (R, 5, 4), for words and c of (R, k) and tables of
    (R, 5, 4)."""
    sums = np.einsum("rk,rkab->rab", coefficients, USES[words])
    return sums - sums.sum(2, keepdims=True) * np.exp(log_softmax(logits))


def draw(logits, method, seed):
    """Draws K words from each of R policies at once. Returns their indices in WORDS, their weights
    (NaN with replacement) and their probabilities, (R, K) each. The state of a row is the index of
    its policy."""
    rows = log_softmax(logits)
    draws = sbeam.sample_without_replacement(
        lambda policy, letters: (rows[policy, letters], policy), np.arange(len(rows)), K,
        inputs=len(rows), start_token=START, max_len=LENGTH, method=method, seed=seed)
    words = np.array([[s.tokens for s in d] for d in draws]) @ V ** np.arange(LENGTH)[::-1]
    return (words, np.exp([[s.log_weight for s in d] for d in draws]),
            np.exp([[s.log_p for s in d] for d in draws]))


def total(x):
    return x.sum(1, keepdims=True)


def less_others(w, f):
    """Returns W f_i - B, which equals W_i f_i - B_i."""
    return total(w) * f - total(w * f)


ESTIMATORS = {  # the method, and the coefficients of grad log p as a function of w, p, f: (R, K)
    "REINFORCE": ("sample", lambda w, p, f: f / K),
    "REINFORCE less the others": ("sample", lambda w, p, f: (f - (total(f) - f) / (K - 1)) / K),
    "SBS": ("sbs", lambda w, p, f: w * f),
    "SBS less the others": ("sbs", lambda w, p, f: w * less_others(w, f)),
    "SBS normalised": ("sbs", lambda w, p, f: w / total(w) * f),
    "SBS normalised less their mean":
        ("sbs", lambda w, p, f: w / total(w) * (f - total(w * f) / total(w))),
    "SBS normalised less the others":
        ("sbs", lambda w, p, f: w / total(w) * less_others(w, f) / (total(w) - w + p)),
}


def compare(logits, n_draws):
    """Prints the bias and the variance of each estimator for one policy."""
    p = probabilities(logits)
    exact = gradient(logits[None], np.arange(len(WORDS))[None], (p * REWARD)[None])[0]
    print("\nentropy %.2f nats, likeliest word %.3f, E[f] %.3f, norm of the gradient %.3f"
          % (-(p * np.log(p)).sum(), p.max(), p @ REWARD, np.linalg.norm(exact)))
    print("%-30s %8s %8s %10s %8s" % ("", "bias", "chance", "variance", "ratio"))
    many = np.broadcast_to(logits, (n_draws,) + logits.shape)
    drawn = {method: draw(many, method, seed=1) for method in ("sample", "sbs")}
    reinforce = {}  # the variance of REINFORCE, by whether it has a baseline
    for name, (method, coefficients) in ESTIMATORS.items():
        words, w, p = drawn[method]
        found = gradient(many, words, coefficients(w, p, REWARD[words]))
        variance = found.var(0, ddof=1).sum()
        reinforce.setdefault("less" in name, variance)
        print("%-30s %8.4f %8.4f %10.4f %8.2f"
              % (name, np.linalg.norm(found.mean(0) - exact), np.sqrt(variance / n_draws),
                 variance, reinforce["less" in name] / variance))


def train(name, start, rate, n_runs, n_steps):
    """Runs gradient ascent from a policy. Returns the exact E[f] of each run at its end."""
    method, coefficients = ESTIMATORS[name]
    logits = np.broadcast_to(start, (n_runs,) + start.shape)
    for i in range(n_steps):
        words, w, p = draw(logits, method, seed=i)  # new noise in each step
        logits = logits + rate * gradient(logits, words, coefficients(w, p, REWARD[words]))
    return probabilities(logits) @ REWARD


def main():
    parser = argparse.ArgumentParser(description="policy gradients without replacement")
    parser.add_argument("--quick", action="store_true", help="fewer draws, runs and steps")
    quick = parser.parse_args().quick
    policy = np.random.default_rng(1).normal(size=(V + 1, V))
    flat, middle, peaked = policy / 4, policy / 0.4, policy / 0.12

    n_draws = 1000 if quick else 4000
    print("estimates of the gradient from %d words, over %d draws" % (K, n_draws))
    for logits in (flat, middle, peaked):
        compare(logits, n_draws)

    n_runs, n_steps = (10, 30) if quick else (50, 100)
    print("\nE[f] after %d steps, the mean of %d runs; the maximum is 16" % (n_steps, n_runs))
    print("%-30s %15s %15s %15s" % ("from the policy", "first", "second", "second"))
    print("%-30s %15s %15s %15s" % ("learning rate", "0.05", "0.1", "0.3"))
    for name in ESTIMATORS:
        reached = [train(name, start, rate, n_runs, n_steps)
                   for start, rate in ((flat, 0.05), (middle, 0.1), (middle, 0.3))]
        print("%-30s" % name, *("%7.2f +- %4.2f" % (r.mean(), r.std(ddof=1) / n_runs ** 0.5)
                                for r in reached))


if __name__ == "__main__":
    main()
