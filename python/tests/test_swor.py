"""sample_without_replacement: states of every form, reordered by parent between two calls."""
import collections
import unittest

import numpy as np

from support import MODELS, need
from toys import ChainHost, make_network

import sbeam

Pair = collections.namedtuple("Pair", "last depth")


def hash_step(states, tokens):
    """Computes logits from a hash of all tokens, which is the state: rows in a wrong order would
    change the results."""
    states = (states * 31 + tokens[:, None] + 7) % 1009
    return np.sin(states * np.arange(1, 6)[None, :] * 0.7) * 2, states


def check_paths(draw, start=0):
    """Recomputes the log-probability of each sequence only from its tokens."""
    for sequence in draw:
        state, total = np.zeros((1, 1), dtype=np.int64), 0.0
        token = start
        for next_token in sequence.tokens:
            logits, state = hash_step(state, np.array([token]))
            total += logits[0, next_token] - np.log(np.exp(logits[0]).sum())
            token = next_token
        np.testing.assert_allclose(sequence.log_p, total, rtol=1e-12)


class States(unittest.TestCase):
    def draw(self, step_fn, init_state, **keywords):
        return sbeam.sample_without_replacement(step_fn, init_state, k=6, max_len=5, seed=2,
                                                **keywords)

    def test_chain(self):
        host = ChainHost()

        def step(states, tokens):
            return (host.next[tokens] if states[0, 0] else host.start[None, :]), states + 1

        draw = sbeam.sample_without_replacement(step, np.zeros((1, 1)), k=6, eos=host.eos, seed=5)
        [expected] = sbeam.draw(MODELS / "weather.json", k=6, seed=5)
        self.assertEqual([(s.tokens, s.g, s.log_weight) for s in draw],
                         [(s.tokens, s.g, s.log_weight) for s in expected])

    def test_nests(self):
        state = np.zeros((1, 1), dtype=np.int64)
        expected = self.draw(hash_step, state)
        check_paths(expected)
        forms = {
            "tuple": (lambda s: (s, None), lambda s: s[0]),
            "list": (lambda s: [s, s + 1], lambda s: s[0]),
            "dict": (lambda s: {"a": s, "b": (s, s)}, lambda s: s["b"][1]),
            "ordered": (lambda s: collections.OrderedDict(a=s), lambda s: s["a"]),
            "named": (lambda s: Pair(last=s, depth=[s]), lambda s: s.depth[0]),
        }
        for name, (wrap, unwrap) in forms.items():
            def step(states, tokens):
                self.assertIs(type(states), type(wrap(state)))
                logits, states = hash_step(unwrap(states), tokens)
                return logits, wrap(states)
            with self.subTest(form=name):
                self.assertEqual(self.draw(step, wrap(state)), expected)

    def test_prefixes_as_states(self):
        """States may grow: here a state is the whole prefix."""
        def step(prefixes, tokens):
            prefixes = np.concatenate((prefixes, tokens[:, None]), axis=1)
            state = np.zeros((len(tokens), 1), dtype=np.int64)
            for column in prefixes.T:
                logits, state = hash_step(state, column)
            return logits, prefixes
        self.assertEqual(self.draw(step, np.zeros((1, 0), dtype=np.int64)),
                         self.draw(hash_step, np.zeros((1, 1), dtype=np.int64)))

    def test_batch(self):
        for method in ("sbs", "reject", "sample", "beam"):
            starts = [3, 0, 1, 4]
            found = self.draw(hash_step, np.zeros((4, 1), dtype=np.int64), inputs=4, method=method,
                              start_token=starts, temperature=[1.0, 0.5, 1.0, 2.0])
            self.assertEqual([d.stream for d in found], [0, 1, 2, 3])
            for i, draw in enumerate(found):
                alone = self.draw(hash_step, np.zeros((1, 1), dtype=np.int64), method=method,
                                  start_token=starts[i], streams=[i],
                                  temperature=[1.0, 0.5, 1.0, 2.0][i])
                self.assertEqual(repr(draw), repr(alone))  # == fails for NaN
            check_paths(found[0], 3)

    def test_numbers_of_inputs(self):
        """All forms of temperature, streams and draws; method reject takes one input at a time."""
        for method in ("sbs", "reject"):
            for temperature in (0.5, np.float64(0.5), [0.5], np.array([0.5, 0.5])):
                found = self.draw(hash_step, np.zeros((2, 1), dtype=np.int64), inputs=2,
                                  method=method, temperature=temperature, streams=(4, 2),
                                  draws=np.array([1, 3]))
                self.assertEqual([(d.temperature, d.stream, d.draw) for d in found],
                                 [(0.5, 4, 1), (0.5, 2, 3)])
            for keywords in ({"temperature": [1, 2, 3]}, {"streams": [1]}, {"draws": [1]}):
                with self.assertRaisesRegex(ValueError, r"has (3 numbers|1 number) for 2 inputs$"):
                    self.draw(hash_step, np.zeros((2, 1), dtype=np.int64), inputs=2, method=method,
                              **keywords)

    def test_noise_in_loops(self):
        """One seed gives every call the same noise, unless `draws` or `streams` count."""
        def tokens(i, **keywords):
            found = sbeam.sample_without_replacement(
                hash_step, np.zeros((2, 1), dtype=np.int64), k=3, max_len=4, seed=1, inputs=2,
                **keywords)
            return tuple(tuple(s.tokens for s in draw) for draw in found)

        self.assertEqual(len({tokens(i) for i in range(4)}), 1)
        self.assertEqual(len({tokens(i, draws=i) for i in range(4)}), 4)
        self.assertEqual(len({tokens(i, streams=[2 * i, 2 * i + 1]) for i in range(4)}), 4)

    def test_dictionaries_of_other_classes(self):
        def step(states, tokens):
            self.assertIsInstance(states, collections.defaultdict)
            logits, moved = hash_step(states["path"], tokens)
            return logits, collections.defaultdict(list, path=moved)

        start = collections.defaultdict(list, path=np.zeros((1, 1), dtype=np.int64))
        check_paths(sbeam.sample_without_replacement(step, start, k=4, max_len=4, seed=1))

    def test_no_state(self):
        draw = self.draw(lambda states, tokens: (np.zeros((len(tokens), 3)), states), None)
        self.assertEqual(len({s.tokens for s in draw}), 6)

    def test_numbers_without_an_axis(self):
        for method in "sbs", "reject":
            plain, same = (sbeam.sample_without_replacement(
                hash_step, np.zeros((2, 1), dtype=np.int64), k=3, max_len=3, seed=1, method=method,
                inputs=2, start_token=number(1), temperature=number(2.0), draws=number(3))
                for number in (lambda x: x, np.array))
            self.assertEqual(repr(plain), repr(same))

    def test_start(self):
        seen = []

        def step(states, tokens):
            seen.append(tokens.tolist())
            return np.zeros((len(tokens), 3)), states

        for keywords, first in (({}, 0), ({"eos": 2}, 2), ({"eos": 2, "start_token": 1}, 1)):
            seen.clear()
            self.draw(step, None, **keywords)
            self.assertEqual(seen[0], [first])

    def test_torch(self):
        torch = need("torch")
        step, state, vocab_size = make_network(torch)

        def nested(states, tokens):
            self.assertEqual(tokens.dtype, torch.int64)
            logits, inner = step(states["h"][0], tokens)
            return logits, {"h": (inner, states["h"][1])}

        keywords = dict(k=6, max_len=5, seed=2, start_token=vocab_size)
        expected = sbeam.sample_without_replacement(step, state, **keywords)
        found = sbeam.sample_without_replacement(nested, {"h": (state, np.zeros(1))}, **keywords)
        self.assertEqual(found, expected)
        state.requires_grad_()
        self.assertEqual(sbeam.sample_without_replacement(step, state, **keywords), expected)


class Refusals(unittest.TestCase):
    def test_functions(self):
        def step(states, tokens):
            return np.zeros((len(tokens), 3)), states

        class Mine(Exception):
            pass

        def fail_later(states, tokens):
            if len(tokens) > 1:
                raise Mine("at the second step")
            return np.zeros((1, 3)), states

        def change_size(states, tokens):
            return np.zeros((len(tokens), 3 if len(tokens) == 1 else 4)), states

        good = np.zeros((1, 2))
        for step_fn, state, keywords, kind, text in (
                (fail_later, good, {}, Mine, "at the second step"),
                (change_size, good, {}, ValueError, "shape"),
                (lambda s, t: None, good, {}, ValueError, "expected .logits, states."),
                (lambda s, t: (np.zeros(3), s), good, {}, ValueError, "vocab_size"),
                (lambda s, t: (np.zeros((len(t), 3)), s[:0]), good, {}, ValueError,
                 "expected 1 row$"),
                (lambda s, t: (np.full((len(t), 3), np.nan), s), good, {}, sbeam.ModelError, "nan"),
                (step, np.zeros((2, 2)), {}, ValueError,
                 r"init_state: .* \(2, 2\); expected 1 row; for a batch of 2 inputs use inputs=2$"),
                (step, np.zeros((0, 2)), {}, ValueError, r"expected 1 row$"),
                (lambda s, t: (np.zeros((2, 3)), s), None, {}, ValueError, "inputs=2$"),
                (lambda s, t: (np.zeros((1, 3)), np.zeros((2, 2))), good, {}, ValueError,
                 "the states of step_fn: .*expected 1 row$"),
                (step, np.zeros(()), {}, ValueError, "init_state"),
                (step, {"a": 3}, {}, ValueError, "init_state holds a int"),
                (step, np.zeros((2, 2)), {"inputs": 3}, ValueError, "init_state.*expected 3 rows$"),
                (step, good, {"start_token": [1, 2]}, ValueError,
                 "start_token has 2 tokens for 1 input; for a batch use inputs=2$"),
                (step, good, {"vocab_size": 4}, ValueError, "shape"),
                (step, good, {"eos": 7}, ValueError, "eos"),
                (step, good, {"inputs": 0}, ValueError, "inputs"),
                (lambda s, t: ([[1.0, 2.0], [3.0]], s), good, {}, ValueError, "seen as an array"),
                (step, np.zeros((2, 2)),
                 {"inputs": 2, "method": "reject", "temperature": [1, 2, 3]}, ValueError,
                 "temperature has 3"),
                (step, np.zeros((2, 2)), {"inputs": 2, "method": "reject", "draws": [1]},
                 ValueError, "draws has 1"),
                (step, np.zeros((2, 2)), {"inputs": 2, "method": "reject", "streams": [1, 2, 3]},
                 ValueError, "streams has 3"),
                (step, good, {"no_such": 1}, TypeError, "no_such"),
                (None, good, {}, TypeError, "callable")):
            with self.subTest(text=text), self.assertRaisesRegex(kind, text):
                sbeam.sample_without_replacement(step_fn, state, **{"max_len": 3, "k": 2,
                                                                    **keywords})


if __name__ == "__main__":
    unittest.main()
