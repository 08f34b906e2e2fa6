"""search and Search: the exact law on trees of Python objects, rounds, and functions that fail."""
import collections
import copy
import gc
import math
import pickle
import signal
import threading
import time
import unittest
import weakref

import numpy as np

from support import FALSE_ALARM, MODELS, chi_square_p, need, plackett_luce, resident_memory
from toys import TreeHost, log

import sbeam
from sbeam._library import lib

CALLS, PER_CALL = 10, 4000


class Branch:
    """A state: log-weights, which need not be normalised, and children. A child that is not a
    Branch is a finished result."""

    def __init__(self, weights, *children):
        self.log_weights = np.array([math.log(w) if w > 0 else -math.inf for w in weights])
        self.children = children

    def enumerate(self, p=1.0, choices=()):
        """Yields the choices, the value and the probability of each leaf."""
        weights = np.exp(self.log_weights)
        for i, (share, child) in enumerate(zip(weights / weights.sum(), self.children)):
            if isinstance(child, Branch):
                yield from child.enumerate(p * share, choices + (i,))
            elif share > 0:
                yield choices + (i,), child, p * share


def children(states):
    return [state.log_weights for state in states]


def step(states, choices):
    found = [state.children[choice] for state, choice in zip(states, choices)]
    return [child if isinstance(child, Branch) else sbeam.Leaf(child) for child in found]


def make_tree():
    """Returns a tree with rows of 1 to 4 children and 8 possible leaves at depths 1 to 4."""
    chain = Branch([0.3], Branch([2.0], "a"))
    wide = Branch([0.5, 0, 1.25, 0.75], "b", "impossible", "c", "d")
    deep = Branch([3, 1.5], Branch([1, 1, 2.5], "e", "f", wide), "g")
    return Branch([0.7, 1.1, 1.9], chain, "h", deep)


def make_random_tree(seed, depth, most):
    generator = np.random.default_rng(seed)

    def make(depth, name):
        if depth == 0 or generator.random() < 0.1:
            return name
        n = int(generator.integers(1, most + 1))
        return Branch(np.exp(generator.normal(size=n)),
                      *(make(depth - 1, name + (i,)) for i in range(n)))

    return Branch(np.exp(generator.normal(size=most)),
                  *(make(depth - 1, (i,)) for i in range(most)))


class Counting:
    """Counts how often each state is evaluated, and each child of a state stepped to."""

    def __init__(self):
        self.evaluated, self.stepped = collections.Counter(), collections.Counter()

    def children(self, states):
        self.evaluated.update(map(id, states))
        return children(states)

    def step(self, states, choices):
        self.stepped.update(zip(map(id, states), choices))
        return step(states, choices)


class Law(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = make_tree()
        cls.law = {value: p for _, value, p in cls.root.enumerate()}
        assert len(cls.law) == 8 and abs(sum(cls.law.values()) - 1) < 1e-12

    def search(self, n=PER_CALL, seed=7, step_fn=step, **keywords):
        return sbeam.search(children, step_fn, [self.root] * n, seed=seed, **keywords)

    def p_value(self, **keywords):
        counts = collections.Counter()
        for call in range(CALLS):
            counts.update(tuple(r.value for r in found)
                          for found in self.search(seed=50 + call, **keywords))
        return chi_square_p(counts, plackett_luce(self.law, 2))

    def test_ordered_pairs(self):
        """A chi-square test over all 56 ordered pairs, in one round of two and two of one."""
        self.assertGreater(self.p_value(k=2), FALSE_ALARM)
        self.assertGreater(self.p_value(k=1, rounds=2, parallel=3), FALSE_ALARM)

    def test_a_wrong_choice_is_caught(self):
        """One step in 16 takes another child of its state."""
        n = 0

        def careless(states, choices):
            nonlocal n
            choices = list(choices)
            for i, state in enumerate(states):
                n += 1
                if n % 16 == 0 and len(state.children) == 3:
                    choices[i] = (choices[i] + 1) % 3
            return step(states, choices)

        self.assertLess(self.p_value(k=2, step_fn=careless), FALSE_ALARM)

    def assert_mean(self, values, exact):
        """A correct sampler differs by more than 5 standard errors once in 1.7 million cases."""
        values = np.array(values)
        error = values.std(ddof=1) / math.sqrt(len(values))
        self.assertLess(abs(values.mean() - exact), 5 * error)

    def test_weights(self):
        f = {value: (i % 4) + 0.5 for i, value in enumerate(self.law)}
        exact = sum(p * f[value] for value, p in self.law.items())
        found = self.search(k=2, rounds=2)
        for draws, size in ((found, 4), ([one.after(1) for one in found], 2)):
            self.assertEqual({len(draw) for draw in draws}, {size})
            self.assert_mean([sum(math.exp(r.log_weight) for r in draw) for draw in draws], 1)
            self.assert_mean([sum(math.exp(r.log_weight) * f[r.value] for r in draw)
                              for draw in draws], exact)
            self.assert_mean([sbeam.estimate(draw, lambda r: f[r.value], "sbs").value
                              for draw in draws], exact)

    def test_a_root_at_zero_is_caught(self):
        """If the root is fixed at 0, g and kappa of each draw are lower by the g of the root, which
        is the largest of all. The order stays right, but the sum of the weights does not."""
        sums = []
        for found in self.search(k=2):
            kappa = found.kappa - found[0].g
            sums.append(sum(math.exp(lib.sb_log_weight(r.log_p, kappa)) for r in found))
        with self.assertRaises(AssertionError):
            self.assert_mean(sums, 1)

    def test_noise_of_the_root(self):
        """The g of the first result is that of the root, a Gumbel of location 0."""
        self.assert_mean([found[0].g for found in self.search(k=1)], np.euler_gamma)

    def test_same_as_a_model_file(self):
        """With the tokens of a model as choices, the draws are those of the library."""
        host = TreeHost()

        def rows(states):
            return [[log(node[name][0]) if name in node else -math.inf for name in host.names]
                    for node in states]

        def next_states(states, choices):
            after = [node[host.names[c]][1] for node, c in zip(states, choices)]
            return [sbeam.Leaf() if node is None else node for node in after]

        for k in (1, 2, 4, 50):
            [found] = sbeam.search(rows, next_states, [host.root], k, seed=5, streams=[3])
            [draw] = sbeam.draw(MODELS / "fig1.json", k=k, seed=5, streams=3)
            self.assertEqual([(r.choices, r.log_p, r.g, r.log_weight) for r in found],
                             [(x.tokens, x.log_p, x.g, x.log_weight) for x in draw])
            self.assertEqual((found.kappa, found.exhausted, found.stream, found.seed),
                             (draw.kappa, draw.exhausted, 3, 5))
            self.assertEqual(found.evaluated, draw.model_rows)


class Rounds(unittest.TestCase):
    def test_rounds_are_one_search(self):
        for root in (make_tree(), make_random_tree(1, 4, 5), make_random_tree(2, 2, 90)):
            [whole] = sbeam.search(children, step, [root], 6, seed=3)
            [split] = sbeam.search(children, step, [root], 2, seed=3, rounds=3)
            self.assertEqual(split.results, whole.results)
            self.assertEqual((split.kappa, split.evaluated), (whole.kappa, whole.evaluated))
            self.assertEqual([len(r) for r in split.rounds], [2, 2, 2])
            self.assertEqual(sum(split.rounds, ()), whole.results)
            [two] = sbeam.search(children, step, [root], 2, seed=3, rounds=2)
            self.assertEqual(split.after(2).results, two.results)
            self.assertEqual(split.after(2).kappas, two.kappas)
            with sbeam.Search(children, step, [root], seed=3) as search:
                self.assertEqual(search.round(2)[0].results, split.after(1).results)
                self.assertEqual(search.round(2), [two])
                self.assertEqual(search.round(2), [split])

    def test_rounds_exhaust_the_tree(self):
        """Rounds of different sizes find each leaf once, with its probability. The rows of one root
        are wide, so that its children are taken in several parts."""
        roots = [make_tree(), make_random_tree(5, 3, 6), make_random_tree(6, 2, 150)]
        laws = [{choices: (value, p) for choices, value, p in root.enumerate()} for root in roots]
        n = max(map(len, laws))
        self.assertGreater(n, 1000)
        counting = Counting()
        with sbeam.Search(counting.children, counting.step, roots, seed=9, parallel=2) as search:
            total = 0
            for k in [1, 2, 5, 100, 400, n, 3]:
                found = search.round(k)
                total += k
                self.assertEqual([len(f) for f in found], [min(total, len(law)) for law in laws])
        for f, law in zip(found, laws):
            self.assertEqual({r.choices: r.value for r in f},
                             {choices: value for choices, (value, _) in law.items()})
            for r in f:
                self.assertAlmostEqual(math.exp(r.log_p), law[r.choices][1], places=12)
            self.assertTrue(f.exhausted)
            self.assertEqual(f.rounds[-1], ())
            self.assertEqual([r.log_weight for r in f], [r.log_p for r in f])
            self.assertEqual(sorted((r.g for r in f), reverse=True), [r.g for r in f])
        self.assertEqual(set(counting.evaluated.values()), {1})
        self.assertEqual(set(counting.stepped.values()), {1})
        again = sbeam.search(children, step, roots, total, seed=9)
        self.assertEqual([f.results for f in again], [f.results for f in found])

    def test_only_what_is_needed(self):
        """With parallel=1 only states on the way to a result are evaluated, each once."""
        root = make_random_tree(11, 6, 6)
        for rounds in (1, 4):
            counting = Counting()
            [found] = sbeam.search(counting.children, counting.step, [root], 8, seed=2,
                                   rounds=rounds)
            prefixes = {r.choices[:n] for r in found for n in range(len(r.choices))}
            self.assertEqual(len(found), 8 * rounds)
            self.assertEqual(found.evaluated, len(prefixes))
            self.assertEqual(sum(counting.evaluated.values()), len(prefixes))
            self.assertEqual(sum(counting.stepped.values()), len(prefixes) - 1 + len(found))
            batches = []

            def count(states):
                batches.append(len(states))
                return children(states)

            [ahead] = sbeam.search(count, step, [root], 8, seed=2, rounds=rounds, parallel=7)
            self.assertEqual(ahead.results, found.results)
            self.assertGreaterEqual(ahead.evaluated, found.evaluated)
            self.assertEqual(ahead.evaluated, sum(batches))
            self.assertLess(len(batches), found.evaluated / 2)

    def test_roots_together_and_alone(self):
        roots = [make_random_tree(i, 4, 5) for i in range(12)] + [make_tree()] * 2
        together = sbeam.search(children, step, roots, 3, seed=4, rounds=2)
        for i, root in enumerate(roots):
            alone = sbeam.search(children, step, [root], 3, seed=4, rounds=2, streams=[i])
            self.assertEqual(alone, [together[i]])
        self.assertNotEqual(together[-1].results, together[-2].results)
        other = sbeam.search(children, step, roots, 3, seed=4, rounds=2, draw=1)
        self.assertNotEqual(other[0].results, together[0].results)

    def test_roots_that_are_leaves(self):
        roots = [sbeam.Leaf("x"), make_tree()]
        found = sbeam.search(children, step, roots, 3, seed=1, rounds=2)
        self.assertEqual([(r.value, r.choices, r.log_p, r.log_weight) for r in found[0]],
                         [("x", (), 0.0, 0.0)])
        self.assertTrue(found[0].exhausted)
        self.assertEqual(found[0].kappas, (-math.inf, -math.inf))
        with sbeam.Search(children, step, roots, seed=1) as search:
            search.round(3)
            self.assertEqual(search.round(3), found)
        self.assertEqual(sbeam.search(children, step, [], 3), [])

    def test_kinds_of_rows(self):
        root = make_tree()
        expected = sbeam.search(children, step, [root], 4, seed=1)

        def as_lists(states):
            return tuple(state.log_weights.tolist() for state in states)

        def as_matrix(states):
            matrix = np.full((len(states), 9), -np.inf)
            for row, state in zip(matrix, states):
                row[:len(state.log_weights)] = state.log_weights
            return matrix

        for function in (as_lists, as_matrix):
            found = sbeam.search(function, step, [root], 4, seed=1)
            self.assertEqual([r.value for r in found[0]], [r.value for r in expected[0]])
            for a, b in zip(found[0], expected[0]):
                self.assertAlmostEqual(a.log_p, b.log_p, places=13)
        buffer = np.empty(4)

        def reuse(states):  # one memory for all rows, one state at a time
            row = buffer[:len(states[0].log_weights)]
            row[:] = states[0].log_weights
            return [row]

        with sbeam.Search(reuse, step, [root], seed=1) as search:
            for _ in range(4):
                found = search.round(1)
        self.assertEqual(found[0].results, expected[0].results)

    def test_tensors(self):
        torch = need("torch")
        root = make_tree()
        expected = sbeam.search(children, step, [root] * 3, 4, seed=1)

        def as_tensors(states):
            return [torch.tensor(state.log_weights, requires_grad=True) for state in states]

        def as_one(states):
            return torch.nn.utils.rnn.pad_sequence(as_tensors(states), batch_first=True,
                                                   padding_value=-math.inf)

        for function in (as_tensors, as_one):
            found = sbeam.search(function, step, [root] * 3, 4, seed=1)
            self.assertEqual([[r.value for r in f] for f in found],
                             [[r.value for r in f] for f in expected])


class Problems(unittest.TestCase):
    def refuse(self, error, text, children_fn=children, step_fn=step, roots=None, k=2, **keywords):
        with self.assertRaisesRegex(error, text):
            sbeam.search(children_fn, step_fn, [make_tree()] if roots is None else roots, k,
                         seed=1, **keywords)

    def test_arguments(self):
        for keywords, text in (({"k": 0}, "k is 0"), ({"k": 2.5}, "k is 2.5"),
                               ({"k": 10**8}, "k is 100000000"),
                               ({"rounds": 0}, "rounds is 0"),
                               ({"k": 10**6, "rounds": 11}, "rounds is 11.* from 1 to 10"),
                               ({"children_fn": None}, "children is of type NoneType"),
                               ({"step_fn": 3}, "step is of type int"),
                               ({"roots": 3}, "roots is an object of type int"),
                               ({"roots": [make_tree()] * 4097}, "4097 roots"),
                               ({"streams": [1, 2]}, "streams has 2 numbers for 1 input"),
                               ({"draw": -1}, "draw is -1"), ({"parallel": 0}, "parallel is")):
            self.refuse(sbeam.ArgumentError, text, **keywords)
        [found] = sbeam.search(children, step, [make_tree()], 2, seed=1)
        for rounds in (0, 2):
            with self.assertRaisesRegex(sbeam.ArgumentError, "rounds is %d" % rounds):
                found.after(rounds)

    def test_answers_of_the_wrong_shape(self):
        roots = [make_tree(), make_tree()]
        for answer, text in (([], "children returned 0 items for 2 states"),
                             (None, "children returned an object of type NoneType"),
                             ({}, "children returned an object of type dict"),
                             (np.zeros((3, 2)), "children returned 3 items"),
                             ([np.zeros((2, 2))] * 2, "root 0, after .*shape is \\(2, 2\\)"),
                             ([0.5, 0.5], "shape is \\(\\)"),
                             ([["x"], [0.5]], "of type <U1")):
            self.refuse(sbeam.ArgumentError, text, lambda states: answer, roots=roots)
        for answer, text in (([], "step returned 0 items for 2 states"),
                             (None, "step returned an object of type NoneType"),
                             ([1, 2, 3], "step returned 3 items")):
            self.refuse(sbeam.ArgumentError, text, step_fn=lambda states, choices: answer,
                        roots=roots)

    def test_rows_that_are_not_distributions(self):
        for row, text in (([0.5, math.nan], "child 1 is nan"), ([math.inf, 0], "child 0 is inf"),
                          ([-math.inf] * 2, "every child has probability zero"),
                          ([], "the array is empty")):
            root = Branch([1], Branch([1], "x"))
            root.children[0].log_weights = np.array(row)
            self.refuse(sbeam.ModelError, "root 1, after the choices \\(0,\\): .*" + text,
                        roots=[make_tree(), root])

    def test_probabilities_that_are_too_low(self):
        root = Branch([1, 1], "likely", "unlikely")
        root.log_weights = np.array([0, -2e9])
        [found] = sbeam.search(children, step, [root], 1, seed=1)
        self.assertEqual(found[0].value, "likely")
        self.refuse(sbeam.LimitError, "-1e9", roots=[root])
        with sbeam.Search(children, step, [root], seed=1) as search:
            search.round(1)
            with self.assertRaisesRegex(sbeam.LimitError, "-1e9"):
                search.round(1)

    def test_functions_that_raise(self):
        class Odd(Exception):
            pass

        def late(function, after):
            n = 0

            def raising(*arguments):
                nonlocal n
                n += 1
                if n > after:
                    raise Odd("here")
                return function(*arguments)

            return raising

        for after in (0, 1, 3):
            self.refuse(Odd, "here", late(children, after), k=8)
            self.refuse(Odd, "here", step_fn=late(step, after), k=8)
            search = sbeam.Search(children, late(step, after), [make_tree()], seed=1)
            with self.assertRaises(Odd):
                search.round(8)
            with self.assertRaisesRegex(sbeam.StateError, "ended with an exception"):
                search.round(1)
            search.close()

    def test_generators_that_raise(self):
        def failing(*_):
            yield from ()
            raise TypeError("of the host")

        for arguments in ({"children_fn": failing}, {"step_fn": failing}, {"roots": failing()}):
            self.refuse(TypeError, "of the host", **arguments)

    def test_depth_costs_linear_time(self):
        # The choices of a state are read only for a leaf and for an error: reading them at each of
        # 20000 states takes more than a minute.
        depth = 20000
        begin = time.monotonic()
        [found] = sbeam.search(lambda states: [[0.0]] * len(states),
                               lambda states, _: [sbeam.Leaf(s) if s == depth - 1 else s + 1
                                                  for s in states], [0], 1, seed=1)
        self.assertEqual(len(found[0].choices), depth)
        self.assertLess(time.monotonic() - begin, 20)

    def test_calls_out_of_order(self):
        searches = []

        def reenter(states):
            return searches[0].round(1)

        def close(states):
            return searches[0].close()

        for function in (reenter, close):
            searches[:] = [sbeam.Search(function, step, [make_tree()])]
            with self.assertRaisesRegex(sbeam.StateError, "the search is running"):
                searches[0].round(1)
        search = sbeam.Search(children, step, [make_tree()], seed=2)
        self.assertEqual(search.seed, 2)
        for make in (copy.copy, pickle.dumps):
            with self.assertRaises(TypeError):
                make(search)
        found = search.round(2)
        search.close()
        search.close()
        self.assertEqual(len(found[0]), 2)
        with self.assertRaisesRegex(sbeam.StateError, "is closed"):
            search.round(1)

    def test_interrupt(self):
        """Ctrl-C ends a search whose tree has no leaf."""
        main = threading.get_ident()

        def press():
            time.sleep(0.2)
            signal.pthread_kill(main, signal.SIGINT)

        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            thread = threading.Thread(target=press)
            thread.start()
            with self.assertRaises(KeyboardInterrupt):
                sbeam.search(lambda states: [[0.0, 0.0]] * len(states),
                             lambda states, choices: states, [0], 2)
            thread.join()
        finally:
            signal.signal(signal.SIGINT, before)

    def test_no_state_is_leaked(self):
        class State:
            pass

        alive = weakref.WeakSet()

        def make(depth):
            state = State()
            state.depth = depth
            alive.add(state)
            return state

        most = 0

        def rows(states):
            nonlocal most
            most = max(most, len(alive))
            if fails and states[0].depth == 5:
                raise ValueError
            return [np.zeros(40)] * len(states)

        def next_states(states, choices):
            return [sbeam.Leaf(i) if state.depth == 12 else make(state.depth + 1)
                    for i, state in enumerate(states)]

        fails = False
        [found] = sbeam.search(rows, next_states, [make(0)], 20, seed=1)
        self.assertEqual(len(found), 20)
        self.assertEqual(len(alive), 0)
        self.assertGreater(found.evaluated, 150)
        self.assertLessEqual(most, 24)  # states of the frontier only, not of all that were found
        search = sbeam.Search(rows, next_states, [make(0), make(0)], seed=1)
        self.assertEqual(search.round(20)[0].results, found.results)
        self.assertGreater(len(alive), 150)
        search.close()
        self.assertEqual(len(alive), 0)
        fails = True
        search = sbeam.Search(rows, next_states, [make(0)], seed=1)
        with self.assertRaises(ValueError):
            search.round(20)
        self.assertEqual(len(alive), 0)
        with self.assertRaises(ValueError):
            sbeam.search(rows, next_states, [make(0)], 20, seed=1)
        gc.collect()
        self.assertEqual(len(alive), 0)

    def test_no_memory_is_leaked(self):
        roots = [make_random_tree(1, 3, 40)]
        for n in range(30):
            if n == 10:
                before = resident_memory()
            with sbeam.Search(children, step, roots, seed=n) as search:
                search.round(1000)
                search.round(1000)
        self.assertLess(resident_memory() - before, 4e6)


if __name__ == "__main__":
    unittest.main()
