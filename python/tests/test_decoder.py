"""Decoder: the draws of the library itself, from every kind of array, and calls out of order."""
import copy
import os
import pickle
import signal
import sys
import threading
import unittest
import warnings

import numpy as np

from support import MODELS, need
from toys import ChainHost, TreeHost, run, run_with_states

import sbeam
from sbeam._arrays import to_rows


def by_level(method):
    """Returns the settings with which `draw` counts the same rows as a decoder without states."""
    return {"search": "level"} if method == "sbs" else {}


class AsTheLibrary(unittest.TestCase):
    def assert_same(self, draws, expected):
        """Compares bit for bit, except text, input and model, which a decoder does not know, and
        the setting search, which does not change the draw."""
        self.assertEqual(len(draws), len(expected))
        for a, b in zip(draws, expected):
            a, b = a.to_dict(), b.to_dict()
            for record in (a, b):
                record["input"] = None
                record.pop("model", None)
                record.pop("search", None)
                for sequence in record["sequences"]:
                    sequence["text"] = None
            self.assertEqual(a, b)

    def test_tree(self):
        host = TreeHost()
        for method in ("sbs", "beam", "sample", "reject", "explicit", "resample"):
            for k in (1, 3, 50):
                keywords = dict(method=method, seed=5)
                if method == "reject":
                    keywords["max_samples"] = 500
                decoder = sbeam.Decoder(host.vocab_size, k, is_leaf=host.is_leaf, **keywords)
                expected = sbeam.draw(MODELS / "fig1.json", k=k, **by_level(method), **keywords)
                self.assert_same(run(decoder, host.step), expected)

    def test_chain_in_a_batch(self):
        host = ChainHost()
        keywords = dict(k=6, seed=8, max_len=7, top_k=3)
        for method in ("sbs", "reject", "diverse"):
            decoder = sbeam.Decoder(host.vocab_size, eos=host.eos, inputs=5, method=method,
                                    streams=[0, 1, 2, 3, 9], **keywords)
            expected = sbeam.draw(MODELS / "weather.json", [""] * 5, streams=[0, 1, 2, 3, 9],
                                  method=method, **by_level(method), **keywords)
            self.assert_same(run(decoder, host.step), expected)
        decoder = sbeam.Decoder(host.vocab_size, eos=host.eos, inputs=4, streams=[0] * 4,
                                draws=[0, 1, 2, 3], **keywords)
        self.assert_same(run(decoder, host.step),
                         sbeam.draw(MODELS / "weather.json", draws=4, search="level", **keywords))
        decoder = sbeam.Decoder(host.vocab_size, eos=host.eos, inputs=2, streams=[0] * 2, k=3,
                                temperature=[0.5, 2], seed=1)
        self.assert_same(run(decoder, host.step),
                         sbeam.draw(MODELS / "weather.json", k=3, temperature=[0.5, 2], seed=1,
                                    search="level"))

    def test_ban_and_stop(self):
        host = ChainHost()
        with sbeam.Model(MODELS / "weather.json") as model:
            rain, cloud = model.find_token("rain"), model.find_token("cloud")
            expected = sbeam.draw(model, seed=3, ban=["rain"], stop="cloud", k=4)
            decoder = sbeam.Decoder(host.vocab_size, 4, eos=host.eos, seed=3, ban=[rain],
                                    is_stop=lambda tokens: tokens[-1] == cloud,
                                    decode=model.decode)
            [draw] = run(decoder, host.step)
        self.assertEqual([(s.tokens, s.g, s.end) for s in draw],
                         [(s.tokens, s.g, s.end) for s in expected[0]])
        self.assertEqual(draw.settings, {"ban": [rain]})
        self.assertTrue(all(isinstance(s.text, str) for s in draw))
        record = draw.to_dict()
        self.assertEqual((record["input"], record["ban"]), (None, [rain]))
        self.assertEqual([(s["text"], tuple(s["tokens"])) for s in record["sequences"]],
                         [(s.text, s.tokens) for s in draw])


class KeptStates(unittest.TestCase):
    """A host that keeps its states draws the same, with both searches."""

    def compare(self, draws, expected, tolerance=1e-12):
        self.assertEqual(len(draws), len(expected))
        for a, b in zip(draws, expected):
            self.assertEqual([s._replace(text=None) for s in a], [s._replace(text=None) for s in b])
            self.assertEqual((a.kappa, a.exhausted, a.stopped_by, a.k),
                             (b.kappa, b.exhausted, b.stopped_by, b.k))
            np.testing.assert_allclose(a.log_p_draw, b.log_p_draw, rtol=tolerance, atol=tolerance)

    def test_tree(self):
        host = TreeHost()
        for k in (1, 3, 50):
            for seed in range(5):
                # A decoder expects floats before it gets the first rows, and evaluates 4 together.
                expected = sbeam.draw(MODELS / "fig1.json", k=k, seed=seed, parallel=4)
                rows = {}
                for search in ("auto", "level", "best-first"):
                    decoder = sbeam.Decoder(host.vocab_size, k, is_leaf=host.is_leaf, seed=seed,
                                            keeps_states=True, search=search)
                    draws, rows[search], _ = run_with_states(decoder, host.continue_states)
                    self.compare(draws, expected)
                    self.assertEqual(draws[0].model_rows, rows[search])
                self.assertEqual(rows["auto"], rows["best-first"])
                self.assertEqual(expected[0].model_rows, rows["auto"])

    def test_chain(self):
        host = ChainHost()
        fewer = 0
        for keywords in ({}, {"temperature": 0.3}, {"parallel": 1}, {"parallel": 9, "k": 20},
                         {"max_len": 4, "k": 60}, {"ban": [1], "min_len": 2}):
            keywords = dict({"k": 6, "seed": 8, "max_len": 30}, **keywords)
            given = dict(keywords, eos=host.eos, inputs=5, keeps_states=True)
            expected = sbeam.draw(MODELS / "weather.json", [""] * 5, **keywords)
            draws, n_best, kept = run_with_states(
                sbeam.Decoder(host.vocab_size, **given), host.continue_states)
            self.compare(draws, expected)
            self.assertEqual(sum(d.model_rows for d in draws), n_best)
            self.assertLess(len(kept), n_best)  # states were released
            given.pop("parallel", None)
            draws, n_level, _ = run_with_states(
                sbeam.Decoder(host.vocab_size, search="level", **given), host.continue_states)
            self.compare(draws, expected)
            fewer += n_best < n_level
        self.assertGreaterEqual(fewer, 5)

    def test_wrong_states_are_noticed(self):
        """The comparison can fail: a host that mixes up two states draws something else."""
        host = ChainHost()
        decoder = sbeam.Decoder(host.vocab_size, 6, eos=host.eos, seed=8, keeps_states=True)

        def mixed(states, token):
            rows, states = host.continue_states(states, token)
            return rows[::-1].copy(), states
        draws, _, _ = run_with_states(decoder, mixed)
        with self.assertRaises(AssertionError):
            self.compare(draws, sbeam.draw(MODELS / "weather.json", k=6, seed=8))

    def test_rules(self):
        host = ChainHost()
        with sbeam.Model(MODELS / "weather.json") as model:
            for rule, reason in (({"until_mass": 0.3}, "mass"), ({"until_texts": 4}, "texts"),
                                 ({"until_mass": 0.9999}, "k")):
                keywords = dict(rule, k=30, seed=3)
                decoder = sbeam.Decoder(host.vocab_size, eos=host.eos, keeps_states=True,
                                        decode=model.decode, inputs=2, **keywords)
                draws, _, _ = run_with_states(decoder, host.continue_states)
                expected = sbeam.draw(model, ["", ""], **keywords)
                for a, b in zip(draws, expected):
                    self.assertEqual((a.stopped_by, a.exhausted), (b.stopped_by, b.exhausted))
                    self.assertEqual([s[:5] for s in a], [s[:5] for s in b])
                    self.assertTrue(np.isnan(a.kappa) and np.isnan(a[0].log_weight))
                self.assertEqual(draws[0].stopped_by, reason)
        # Texts that are equal count once.
        decoder = sbeam.Decoder(host.vocab_size, 30, eos=host.eos, keeps_states=True, seed=1,
                                decode=lambda tokens: "of length %d" % len(tokens), until_texts=4)
        [draw], _, _ = run_with_states(decoder, host.continue_states)
        lengths = [len(s.tokens) for s in draw]
        self.assertGreater(len(lengths), 4)
        self.assertEqual((len(set(lengths)), len(set(lengths[:-1]))), (4, 3))

    def test_texts_that_raise(self):
        class Mine(Exception):
            pass

        def fail(_):
            raise Mine("of the host")
        decoder = sbeam.Decoder(3, 2, max_len=2, until_texts=1, decode=fail, keeps_states=True)
        with self.assertRaisesRegex(Mine, "of the host"):
            run_with_states(decoder, lambda states, token: (np.zeros((len(token), 3)), states))

    def test_refusals(self):
        for keywords, text in (
                ({"search": "best-first"}, "search is best-first, but the host keeps no states: "
                                           "keeps_states is false"),
                ({"parallel": 2}, "parallel needs best-first search, but the host keeps no states"),
                ({"until_mass": 0.5}, "until-mass needs best-first search"),
                ({"until_texts": 2}, "until_texts is 2, but decode is None"),
                ({"until_texts": 2, "decode": str}, "until-texts needs best-first search"),
                ({"search": "deepest", "keeps_states": True}, "search is 'deepest'"),
                ({"parallel": 0, "keeps_states": True}, "parallel is '0'"),
                ({"keeps_states": np.zeros(2)}, "keeps_states is array")):
            with self.subTest(text=text), self.assertRaisesRegex(sbeam.ArgumentError, text):
                sbeam.Decoder(3, 2, **keywords)
        decoder = sbeam.Decoder(3, 2, max_len=2, seed=1)
        with self.assertRaisesRegex(sbeam.StateError, "keeps_states"):
            decoder.states()
        decoder.advance(np.zeros((1, 3)))  # nothing has changed
        decoder = sbeam.Decoder(3, 2, max_len=2, seed=1, keeps_states=True)
        with self.assertRaisesRegex(sbeam.StateError, "call states"):
            decoder.advance(np.zeros((1, 3)))
        first, again = decoder.states(), decoder.states()
        self.assertEqual([a.tolist() for a in first], [a.tolist() for a in again])
        self.assertEqual([a.tolist() for a in first], [[-1], [0], []])
        decoder.advance(np.zeros((1, 3)))
        decoder.close()
        with self.assertRaisesRegex(sbeam.StateError, "closed"):
            decoder.states()


class Arrays(unittest.TestCase):
    """The same numbers make the same draw, in every type and layout."""

    def setUp(self):
        generator = np.random.default_rng(3)
        # bfloat16 holds these numbers exactly, too.
        self.table = generator.integers(-16, 16, size=(4, 3, 7)) / 8.0

    def draw(self, convert, steps=3):
        decoder = sbeam.Decoder(7, 2, seed=1, max_len=steps)
        for step in range(steps):
            n = len(decoder.rows().parent)
            decoder.advance(convert(self.table[step][:n].copy()))
        return [(s.tokens, s.g, s.log_p) for s in decoder.result()]

    def test_numpy(self):
        single = self.draw(lambda a: a.astype(np.float32))
        double = self.draw(lambda a: a)
        self.assertEqual([s[0] for s in single], [s[0] for s in double])
        np.testing.assert_allclose([s[1] for s in single], [s[1] for s in double], rtol=1e-5)
        self.assertEqual(self.draw(lambda a: a.astype(np.float16)), single)
        self.assertEqual(self.draw(lambda a: a.astype(">f4")), single)
        self.assertEqual(self.draw(lambda a: a.astype(">f8")), double)
        self.assertEqual(self.draw(lambda a: a.tolist()), double)
        self.assertEqual(self.draw(np.asfortranarray), double)
        self.assertEqual(self.draw(lambda a: np.repeat(a, 2, axis=1)[:, ::2]), double)
        self.assertEqual(self.draw(lambda a: a[:, ::-1].copy()[:, ::-1]), double)
        self.assertEqual(self.draw(lambda a: a[::-1].copy()[::-1]), double)
        self.assertEqual(self.draw(lambda a: np.pad(a, ((0, 1), (0, 5)))[:len(a), :7]), double)

    def test_types_may_change(self):
        types = iter((np.float32, np.float64, np.float16))
        mixed = self.draw(lambda a: a.astype(next(types)))
        self.assertEqual([s[0] for s in mixed], [s[0] for s in self.draw(lambda a: a)])

    def test_unaligned(self):
        def shift(a):
            memory = np.zeros(a.nbytes + 1, dtype=np.uint8)
            shifted = memory[1:].view(a.dtype).reshape(a.shape)
            shifted[:] = a
            return shifted
        self.assertEqual(self.draw(shift), self.draw(lambda a: a))

    def test_no_copies(self):
        for dtype in (np.float32, np.float64):
            wide = np.zeros((4, 12), dtype=dtype)
            for rows in (wide, wide[:, :7], wide[::2, 2:9]):
                taken = to_rows(rows, *rows.shape)
                self.assertTrue(np.shares_memory(taken, rows))
        self.assertFalse(np.shares_memory(to_rows(wide[:, ::2], 4, 6), wide))

    def test_torch(self):
        torch = need("torch")
        double = self.draw(lambda a: a)
        single = self.draw(lambda a: a.astype(np.float32))
        for dtype, expected in ((torch.float64, double), (torch.float32, single),
                                (torch.float16, single), (torch.bfloat16, single)):
            self.assertEqual(self.draw(lambda a: torch.tensor(a, dtype=dtype)), expected)
        self.assertEqual(self.draw(lambda a: torch.tensor(a).requires_grad_()), double)
        self.assertEqual(self.draw(lambda a: torch.tensor(a.T.copy()).T), double)
        self.assertEqual(self.draw(lambda a: torch.tensor(np.repeat(a, 2, axis=1))[:, ::2]), double)
        wide = torch.zeros((4, 12))
        self.assertTrue(np.shares_memory(to_rows(wide[:, :7], 4, 7), wide.numpy()))
        with self.assertRaisesRegex(ValueError, "int64"):
            self.draw(lambda a: torch.tensor(a).long())


class OutOfOrder(unittest.TestCase):
    def test_rows_change_nothing(self):
        decoder = sbeam.Decoder(4, 2, max_len=2, seed=1)
        rows = decoder.rows()
        self.assertEqual([a.tolist() for a in rows], [[-1], [-1], [0]])
        self.assertEqual({a.dtype for a in rows}, {np.dtype(np.int32)})
        rows.parent[:] = 77  # copies
        self.assertEqual(decoder.rows().parent.tolist(), [-1])

    def test_shapes_and_types(self):
        decoder = sbeam.Decoder(4, 2, max_len=2, seed=1)
        for bad in (np.zeros(4), np.zeros((2, 4)), np.zeros((1, 5)), np.zeros((1, 3)),
                    np.zeros((1, 4, 1)), np.zeros((0, 4)), np.zeros((1, 4), dtype=int),
                    np.zeros((1, 4), dtype=complex), np.zeros((1, 4), dtype=bool),
                    np.zeros((1, 4), dtype=np.longdouble), np.zeros((1, 4), dtype=object),
                    "four", None, [[1, 2], [3]], 3.5, {}):
            with self.subTest(bad=bad), self.assertRaises(sbeam.ArgumentError):
                decoder.advance(bad)
        decoder.advance(np.zeros((1, 4)))  # nothing has changed
        with self.assertRaisesRegex(ValueError, r"expected \(3, 4\)"):
            decoder.advance(np.zeros((3, 5)))  # the vocabulary has changed
        decoder.advance(np.zeros((3, 4)))
        self.assertEqual(len(decoder.result()), 2)

    def test_several_inputs_for_one(self):
        decoder = sbeam.Decoder(4, 2, max_len=2, seed=1)
        with self.assertRaisesRegex(ValueError, r"the shape is \(3, 4\); expected \(1, 4\): 1 row "
                                    r"of vocab_size logits; for a batch of 3 inputs use inputs=3$"):
            decoder.advance(np.zeros((3, 4)))
        with self.assertRaisesRegex(ValueError, r"expected \(1, 4\): 1 row of vocab_size logits$"):
            decoder.advance(np.zeros((1, 5)))
        decoder.advance(np.zeros((1, 4)))
        with self.assertRaisesRegex(ValueError, r"expected \(3, 4\): 3 rows of vocab_size logits$"):
            decoder.advance(np.zeros((4, 4)))  # not the first rows: another mistake
        decoder = sbeam.Decoder(4, 2, max_len=2, seed=1, inputs=2)
        with self.assertRaisesRegex(ValueError, r"2 rows of vocab_size logits$"):
            decoder.advance(np.zeros((3, 4)))

    def test_one_input_fails_alone(self):
        for value in (np.nan, np.inf, None):
            decoder = sbeam.Decoder(3, 2, max_len=2, seed=1, inputs=3)
            decoder.advance(np.zeros((3, 3)))
            logits = np.zeros((9, 3))
            row = decoder.rows().input.tolist().index(1)
            logits[row] = -np.inf if value is None else [0, value, 0]
            with self.assertRaisesRegex(sbeam.ModelError, "step 2, row %d" % row):
                decoder.advance(logits)
            self.assertTrue(decoder.done)
            self.assertEqual([e is None for e in decoder.errors], [True, False, True])
            with self.assertRaisesRegex(sbeam.ModelError, "step 2"):
                decoder.result(1)
            with self.assertRaises(sbeam.ModelError):
                decoder.results()
            whole = sbeam.Decoder(3, 2, max_len=2, seed=1, inputs=3)
            whole.advance(np.zeros((3, 3)))
            whole.advance(np.zeros((9, 3)))
            self.assertEqual([decoder.result(i) for i in (0, 2)], [whole.result(i) for i in (0, 2)])

    def test_after_the_end(self):
        decoder = sbeam.Decoder(3, 1, max_len=1, seed=1)
        with self.assertRaisesRegex(sbeam.StateError, "not finished"):
            decoder.result()
        decoder.advance(np.zeros((1, 3)))
        self.assertTrue(decoder.done)
        self.assertEqual(len(decoder.rows().parent), 0)
        with self.assertRaisesRegex(sbeam.StateError, "done"):
            decoder.advance(np.zeros((1, 3)))
        draw = decoder.result()
        decoder.close()
        decoder.close()
        self.assertEqual(decoder.result(), draw)  # results stay
        for call in (lambda: decoder.done, decoder.rows, lambda: decoder.advance(np.zeros((1, 3)))):
            with self.assertRaisesRegex(sbeam.StateError, "closed"):
                call()
        with self.assertRaises(ValueError):
            decoder.result(1)

    def test_functions_that_raise(self):
        class Mine(Exception):
            pass

        def fail(*_):
            raise Mine("of the host")

        for keywords in ({"is_leaf": fail}, {"is_stop": fail}):
            decoder = sbeam.Decoder(3, 2, max_len=4, seed=1, **keywords)
            with self.assertRaisesRegex(Mine, "of the host"):
                decoder.advance(np.zeros((1, 3)))
            with self.assertRaisesRegex(sbeam.StateError, "failed before"):
                decoder.advance(np.zeros((1, 3)))
            decoder.close()
        decoder = sbeam.Decoder(3, 2, max_len=1, seed=1, decode=fail)
        decoder.advance(np.zeros((1, 3)))
        with self.assertRaises(Mine):
            decoder.result()

    def test_used_from_within(self):
        def close(*_):
            decoder.close()
        decoder = sbeam.Decoder(3, 2, max_len=4, seed=1, is_leaf=close)
        with self.assertRaisesRegex(sbeam.StateError, "in use"):
            decoder.advance(np.zeros((1, 3)))
        decoder.close()

    def test_two_threads(self):
        began, go_on = threading.Event(), threading.Event()

        def wait(*_):
            began.set()
            go_on.wait(10)
            return True
        decoder = sbeam.Decoder(3, 2, max_len=4, seed=1, is_leaf=wait)
        thread = threading.Thread(target=decoder.advance, args=(np.zeros((1, 3)),))
        thread.start()
        began.wait(10)
        for call in (decoder.rows, decoder.close, lambda: decoder.advance(np.zeros((1, 3)))):
            with self.assertRaisesRegex(sbeam.StateError, "in use"):
                call()
        go_on.set()
        thread.join()
        self.assertTrue(decoder.done)

    def test_neither_copied_nor_pickled(self):
        decoder = sbeam.Decoder(3, 2)
        for action in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaises(TypeError):
                action(decoder)

    def test_fork(self):
        decoder = sbeam.Decoder(3, 2, max_len=2, seed=1)
        decoder.advance(np.zeros((1, 3)))
        with warnings.catch_warnings():  # Python 3.12 warns if there are other threads
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:  # has its own copy and does not affect the parent
            decoder.advance(np.zeros((3, 3)))
            ok = len(decoder.result()) == 2
            decoder.close()
            os._exit(0 if ok else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        decoder.advance(np.zeros((3, 3)))
        self.assertEqual(len(decoder.result()), 2)

    def test_settings(self):
        for keywords, kind, text in (
                ({"k": 0}, ValueError, "k is '0'"), ({"k": True}, ValueError, "k is 'True'"),
                ({"k": 2.5}, ValueError, "k is '2.5'"), ({"k": 10**30}, ValueError, "k is"),
                ({"vocab_size": 0}, ValueError, "vocab_size"), ({"eos": 3}, ValueError, "eos"),
                ({"eos": -1}, ValueError, "eos"), ({"inputs": 0}, ValueError, "inputs"),
                ({"inputs": 4097}, ValueError, "inputs"), ({"seed": -1}, ValueError, "seed"),
                ({"seed": 2**64}, ValueError, "seed"), ({"seed": "1"}, ValueError, "seed"),
                ({"method": "best"}, ValueError, "method is 'best'; expected sbs|"),
                ({"temperature": 0}, ValueError, "temperature is '0.0'"),
                ({"temperature": [1, 0], "inputs": 2}, ValueError, "temperature is '0.0'"),
                ({"temperature": np.nan}, ValueError, "temperature is 'nan'"),
                ({"temperature": [1, 2]}, ValueError, "2 numbers for 1 input; .* inputs=2"),
                ({"streams": [1, 2]}, ValueError, "2 numbers for 1 input; .* inputs=2"),
                ({"ban": [3]}, ValueError, "ban"), ({"max_len": 0}, ValueError, "max-len"),
                ({"early_stop": True}, ValueError, "method sbs refuses early-stop"),
                ({"kappa": "yes"}, ValueError, "kappa is 'yes'; expected true or false"),
                ({"top_p": "0\0"}, ValueError, "zero byte"),
                ({"no_such": 1}, TypeError, "no_such"), ({"stop": "x"}, TypeError, "is_stop")):
            with self.subTest(**keywords), self.assertRaisesRegex(kind, text.replace("|", r"\|")):
                sbeam.Decoder(**{"vocab_size": 3, "k": 2, **keywords})


class Signals(unittest.TestCase):
    def test_exceptions_of_handlers_are_not_lost(self):
        """Python runs the handler when C calls a function of the host, often before its try."""
        class Mine(Exception):
            pass

        handled = []

        def handle(_number, _frame):
            handled.append(1)
            raise Mine

        logits = np.random.default_rng(1).standard_normal((9, 50000))
        raised = 0
        report, sys.unraisablehook = sys.unraisablehook, lambda args: None
        before = signal.signal(signal.SIGALRM, handle)
        try:
            for i in range(60):
                try:
                    decoder = sbeam.Decoder(50000, 8, max_len=4, seed=i, is_leaf=lambda *_: False)
                    decoder.advance(logits[:1])
                    signal.setitimer(signal.ITIMER_REAL, 1e-5 * (i + 1))
                    while not handled or len(handled) == raised:
                        decoder.advance(logits)
                except sbeam.StateError:  # done before the signal came
                    pass
                except Mine:
                    raised += 1
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                self.assertEqual(len(handled), raised)
        finally:
            signal.signal(signal.SIGALRM, before)
            sys.unraisablehook = report
        self.assertGreater(raised, 10)


if __name__ == "__main__":
    unittest.main()
