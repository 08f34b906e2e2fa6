"""Lists of permitted outputs: the law, all ways to give a list, and what is refused.

The law is that of models/weather.json, renormalised at each step over the tokens that continue a
line. No sequence of the chain is empty, so 5 of the 6 lines have probability. With 40,960 draws of
ordered pairs the chi-square test finds, in half of all cases, a relative error of 3.5 % in the
probability of every pair, up or down."""
import collections
import copy
import gzip
import math
import pickle
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np

from support import FALSE_ALARM, MODELS, chi_square_p, need, plackett_luce, run_command
from toys import ChainHost, TreeHost

import sbeam

WEATHER = MODELS / "weather.json"
TEXTS = ["sun", "sun rain", "sun rain rain", "cloud cloud", "rain sun cloud", ""]
K, DRAWS = 2, 40960


def renormalised(rows, start, eos, lines):
    """Returns the probability of each line: the product over its steps of the share of the token
    among the tokens that continue a line."""
    law = {}
    for line in lines:
        p, row = 1.0, start
        for i, token in enumerate(line + (eos,)):
            following = {(other + (eos,))[i] for other in lines if other[:i] == line[:i]}
            p *= row[token] / sum(row[t] for t in following)
            row = rows[token] if token != eos else None
        law[line] = p
    return law


class Law(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = ChainHost()
        cls.model = sbeam.Model(WEATHER)
        cls.lines = [cls.model.encode(text) for text in TEXTS]
        cls.law = renormalised(np.exp(cls.host.next), np.exp(cls.host.start), cls.host.eos,
                               cls.lines)

    @classmethod
    def tearDownClass(cls):
        cls.model.close()

    def p_value(self, draws):
        counts = collections.Counter(tuple(s.tokens for s in draw) for draw in draws)
        return chi_square_p(counts, plackett_luce(self.law, K))

    def test_exact(self):
        self.assertAlmostEqual(sum(self.law.values()), 1, places=12)
        for search in ("level", "best-first"):
            draws = sbeam.draw(self.model, k=K, draws=DRAWS, seed=3, allow=TEXTS, search=search)
            self.assertGreater(self.p_value(draws), FALSE_ALARM)
            for s in draws[0]:
                self.assertAlmostEqual(s.log_p, math.log(self.law[s.tokens]), places=12)
            sums = np.array([sum(math.exp(s.log_weight) for s in draw) for draw in draws])
            error = sums.std(ddof=1) / math.sqrt(len(sums))
            self.assertLess(abs(sums.mean() - 1), 5 * error)

    def test_rejecting_other_outputs_is_caught(self):
        """Rejection gives p(line | list), which is another law."""
        wanted, pairs = set(self.lines), []
        draws = sbeam.draw(self.model, k=200, method="sample", draws=2000, seed=4, max_len=4)
        for draw in draws:
            kept = list(dict.fromkeys(s.tokens for s in draw
                                      if s.tokens in wanted and s.end == "eos"))
            if len(kept) >= K:
                pairs.append(tuple(kept[:K]))
        self.assertGreater(len(pairs), 1000)
        self.assertLess(chi_square_p(collections.Counter(pairs), plackett_luce(self.law, K)),
                        FALSE_ALARM)

    def test_ways_to_give_a_list(self):
        expected = sbeam.draw(self.model, k=4, seed=5, allow=TEXTS)[0]
        flat = np.array([t for line in self.lines for t in line])
        ends = np.cumsum([len(line) for line in self.lines])
        with tempfile.TemporaryDirectory() as folder:
            plain, packed = Path(folder) / "a.txt", Path(folder) / "a.gz"
            plain.write_text("\n".join(TEXTS) + "\n")
            packed.write_bytes(gzip.compress(plain.read_bytes()))
            tries = [sbeam.Trie.read(plain, self.model), sbeam.Trie.read(packed, self.model)]
            [record] = run_command("draw", "-m", WEATHER, "-k", 4, "--seed", 5, "--allow", packed,
                                   "-f", "jsonl")
        self.assertEqual(record, expected.to_dict())
        tries += [sbeam.Trie(TEXTS, self.model), sbeam.Trie(reversed(self.lines + self.lines)),
                  sbeam.Trie([np.array(line, dtype=np.int16) for line in self.lines]),
                  sbeam.Trie.from_flat(flat, ends)]
        for trie in tries:
            self.assertEqual((trie.id, len(trie), trie.longest), (tries[0].id, len(TEXTS), 3))
            self.assertEqual(sbeam.draw(self.model, k=4, seed=5, allow=trie)[0], expected)
        self.assertEqual(expected.settings, {"allow": tries[0].id})
        self.assertEqual(tries[0].n_prefixes, 9)
        self.assertIn("6 lines", repr(tries[0]))
        with sbeam.Cursor(self.model, seed=5, allow=tries[0]) as cursor:
            found = list(cursor)
        self.assertEqual({s.tokens for s in found}, {x for x, p in self.law.items() if p > 0})
        self.assertEqual([s.tokens for s in found[:4]], [s.tokens for s in expected])

    def test_hosts(self):
        """A Decoder draws what the library draws from the same model."""
        expected = sbeam.draw(self.model, k=4, seed=6, allow=TEXTS)[0]
        for keeps in (False, True):
            decoder = sbeam.Decoder(self.host.vocab_size, 4, eos=self.host.eos, seed=6,
                                    allow=self.lines, keeps_states=keeps)
            while not decoder.done:
                parent, token, _ = decoder.rows()
                if keeps:
                    decoder.states()
                decoder.advance(self.host.step(parent, token, None))
            draw = decoder.result()
            self.assertEqual([(s.tokens, s.g, s.log_p) for s in draw],
                             [(s.tokens, s.g, s.log_p) for s in expected])
            self.assertEqual(draw.settings["allow"], expected.settings["allow"])
        rows = np.exp(self.host.next)
        draw = sbeam.sample_without_replacement(
            lambda states, tokens: (np.log(rows[tokens]), states), None, k=9, eos=self.host.eos,
            start_token=0, seed=1, allow=self.lines)
        self.assertEqual({s.tokens for s in draw}, set(self.lines))

    def test_threads_share_a_list(self):
        trie = sbeam.Trie(self.lines)
        expected = sbeam.draw(self.model, k=3, draws=50, seed=8, allow=trie)
        found = [None] * 4

        def work(i):
            found[i] = sbeam.draw(self.model, k=3, draws=50, seed=8, allow=trie, threads=2)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(all(draws == expected for draws in found))

    def test_wide_matrix(self):
        """More lines than tokens: every output is a line, and none comes twice."""
        rng = np.random.default_rng(1)
        items = rng.integers(0, 500, (2000, 3))
        logits = rng.normal(size=(4, 500)).astype(np.float32)
        decoder = sbeam.Decoder(500, 100, seed=2, allow=items)
        while not decoder.done:
            parent, _, _ = decoder.rows()
            decoder.advance(logits[np.arange(len(parent)) % 4])
        found = [s.tokens for s in decoder.result()]
        self.assertEqual(len(set(found)), 100)
        self.assertLessEqual(set(found), set(map(tuple, items.tolist())))


class Leaves(unittest.TestCase):
    def test_ends_of_lines_are_leaves(self):
        """A tree has no end token: a sequence ends where its line does, and lines may be shorter
        than the sequences of the tree."""
        host = TreeHost()
        root = host.root
        names = list(root)
        inner = [name for name in names if root[name][1] is not None]
        lines = [[host.names.index(name)] for name in names]
        decoder = sbeam.Decoder(host.vocab_size, 9, seed=1, allow=lines, is_leaf=host.is_leaf)
        while not decoder.done:
            decoder.advance(host.step(*decoder.rows()))
        draw = decoder.result()
        self.assertTrue(inner)
        self.assertEqual({s.end for s in draw}, {"leaf"})
        for s in draw:
            self.assertAlmostEqual(math.exp(s.log_p), root[host.names[s.tokens[0]]][0])


class Refused(unittest.TestCase):
    def test_lists(self):
        with sbeam.Model(WEATHER) as model:
            eos = model.info.eos
            for allow, kind, message in (
                    ([], sbeam.InputError, "no lines"), (5, sbeam.ArgumentError, "allow is 5"),
                    ([1, 2], sbeam.ArgumentError, "line 1 is 1; expected a list of token ids"),
                    ([[1], "sun"], sbeam.ArgumentError, "line 2 is 'sun'; expected only texts"),
                    (["sun", [1]], sbeam.ArgumentError, r"line 2 is \[1\]; expected only texts"),
                    ([[0], [1.5]], sbeam.ArgumentError, r"line 2 is \[1.5\]"),
                    ([[0], [[1]]], sbeam.ArgumentError, "line 2"),
                    ([[0], [[1], 2]], sbeam.ArgumentError, "line 2"),
                    ([[True]], sbeam.ArgumentError, "line 1"), ([["a"]], ValueError, "line 1"),
                    ([[0], [1, True]], sbeam.ArgumentError, "line 2"),
                    ([[0, np.True_]], sbeam.ArgumentError, "line 1"),
                    ([[0], {2, 1}], sbeam.ArgumentError, r"line 2 is \{1, 2\}"),
                    ([{0: 1}], sbeam.ArgumentError, "line 1"),
                    ([[np.uint64(1), -1]], sbeam.ArgumentError, "token id is -1"),
                    ([[None]], ValueError, "line 1"), ([[2**70]], ValueError, "line 1"),
                    ([[-1]], sbeam.ArgumentError, "token id is -1"),
                    ([[2**40]], sbeam.ArgumentError, "token id is 1099511627776"),
                    ([[0], [9]], sbeam.InputError, "line 2 has the token id 9; expected 0 to 3"),
                    ([[0, eos]], sbeam.InputError, "holds the end token"),
                    ([[0] * 201], sbeam.InputError, "line 1 has 201 tokens; .* max-len"),
                    ("snow", sbeam.InputError, "line 1: the model has no token 'snow'"),
                    (["sun", "sun snow"], sbeam.InputError, "line 2: .*'snow'"),
                    (["\ud800"], sbeam.ArgumentError, "line 1 cannot be written")):
                with self.subTest(allow=allow), self.assertRaisesRegex(kind, message):
                    sbeam.draw(model, allow=allow)
            with self.assertRaisesRegex(sbeam.ArgumentError, "allow and stop are both set"):
                sbeam.draw(model, allow="sun", stop="rain")
            with self.assertRaisesRegex(sbeam.ModelError, "allow, ban and min-len"):
                sbeam.draw(model, allow="sun", ban="sun")
            with self.assertRaises(sbeam.IOFailure):
                sbeam.Trie.read("/nowhere/list.txt", model)
        with self.assertRaisesRegex(sbeam.ArgumentError, "model is of type NoneType"):
            sbeam.Trie.read("/nowhere/list.txt", None)

    def test_ids_of_different_types(self):
        lines = [[3, 1], [2, 2]]
        mixed = [[np.uint64(3), np.int64(1)], [np.uint64(2), 2]]
        self.assertEqual(sbeam.Trie(mixed).id, sbeam.Trie(lines).id)

    def test_hosts(self):
        for keywords, kind, message in (
                ({"allow": ["a"]}, sbeam.ArgumentError, "the lines are texts, which need a Model"),
                ({"allow": [[0], [0, 1]]}, sbeam.InputError, "line 1 is the beginning of line 2"),
                ({"allow": [[]]}, sbeam.InputError, "the only line is empty"),
                ({"allow": [[0]], "is_stop": bool}, sbeam.ArgumentError, "allow and stop")):
            with self.assertRaisesRegex(kind, message):
                sbeam.Decoder(3, 2, **keywords)

    def test_flat(self):
        for tokens, ends, message in (([1, 2], [1], "the last of ends is 1"),
                                      ([1, 2], [3, 2], "not in ascending order"),
                                      ([1, 2], [-1, 2], "below 0"), ([1.5], [1], "integers"),
                                      ([[1]], [1], "integers"), ([1], ["a"], "integers")):
            with self.assertRaisesRegex(sbeam.ArgumentError, message):
                sbeam.Trie.from_flat(tokens, ends)

    def test_copies(self):
        trie = sbeam.Trie([[1]])
        for function in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "make it from its lines again"):
                function(trie)


class Tensors(unittest.TestCase):
    def test_tensors(self):
        torch = need("torch")
        lines = [[3, 1], [2, 2]]
        ids = {sbeam.Trie(value).id for value in (lines, torch.tensor(lines),
                                                  [torch.tensor(line) for line in lines])}
        self.assertEqual(len(ids), 1)


if __name__ == "__main__":
    unittest.main()
