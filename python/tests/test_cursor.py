"""Cursor: its first k sequences are the draw of k, for every k, wherever it is interrupted."""
import collections
import copy
import gc
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import unittest
from unittest import mock

import numpy as np

from support import MODELS, ROOT, environment, resident_memory
from toys import write_slow_chain

import sbeam

DATA = ROOT / "tests" / "data"
MOST_K = 50
WEATHER = str(MODELS / "weather.json")
CASES = {  # a model, an input and settings
    "tree": (MODELS / "fig1.json", None, {}),
    "tree, hot": (DATA / "uneven.json", None, {"temperature": 3, "parallel": 9}),
    "tree, prefix": (DATA / "fig1.json", "0", {"parallel": 1}),
    "chain": (DATA / "chain.json", None, {"max_len": 12}),
    "chain, lists": (MODELS / "weather.json", "sun", {"ban": ["rain"], "stop": "cloud"}),
    "chain, filters": (MODELS / "weather.json", b"rain", {"top_k": 3, "min_len": 2,
                                                          "temperature": 0.3}),
    "arpa": (DATA / "small.arpa", None, {"max_len": 6}),
    "arpa, prefix": (DATA / "small.arpa", "a", {"max_len": 6, "temperature": 0.5}),
    "arpa, rhymes": (MODELS / "rhymes.arpa", "the", {"max_len": 20}),
}


def take(cursor, n):
    """Returns the next n sequences, or those that there are."""
    return [sequence for _, sequence in zip(range(n), cursor)]


def without_weights(sequences):
    """Returns the sequences in a form that can be compared: NaN differs from itself."""
    return [sequence._replace(log_weight=None) for sequence in sequences]


class AsTheDraw(unittest.TestCase):
    def compare(self, cursor, draw):
        """Compares the draw of the cursor with a draw of as many, bit for bit."""
        found = cursor.draw()
        self.assertEqual(found.sequences, draw.sequences)
        self.assertEqual((found.kappa, cursor.threshold), (draw.kappa, draw.kappa))
        for name in ("stream", "draw", "seed", "input", "temperature", "exhausted", "stopped_by",
                     "settings", "method", "model", "version", "complete"):
            self.assertEqual(getattr(found, name), getattr(draw, name), name)
        self.assertEqual(found.k, len(draw))
        np.testing.assert_allclose(found.log_p_draw, draw.log_p_draw, rtol=1e-12, atol=1e-12)

    def test_every_k(self):
        for name, (path, input, settings) in CASES.items():
            with self.subTest(name), sbeam.Model(path) as model:
                for seed in range(2):
                    given = dict(settings, seed=seed)
                    inputs = None if input is None else [input]
                    cursor = sbeam.Cursor(model, input, stream=3, **given)
                    for k in range(1, MOST_K + 1):
                        [draw] = sbeam.draw(model, inputs, k=k, streams=[3], **given)
                        sequence = next(cursor, None)
                        self.assertEqual(sequence is None, len(draw) < k)
                        if sequence is None:
                            break
                        self.assertTrue(math.isnan(sequence.log_weight))
                        self.assertEqual(without_weights([sequence]), without_weights(draw[k - 1:]))
                        self.compare(cursor, draw)
                        self.assertEqual(cursor.use.sequences, k)
                    if sequence is None:
                        self.assertTrue(cursor.draw().exhausted)

    def test_every_search(self):
        [draw] = sbeam.draw(WEATHER, k=MOST_K, seed=4, search="level")
        with sbeam.Cursor(WEATHER, seed=4) as cursor:
            self.assertEqual(without_weights(take(cursor, MOST_K)), without_weights(draw))
            self.compare_numbers(cursor.draw(), draw)

    def compare_numbers(self, found, draw):
        self.assertEqual((found.sequences, found.kappa), (draw.sequences, draw.kappa))

    def test_numbers_of_draws(self):
        draws = sbeam.draw(WEATHER, k=5, seed=4, draws=3)
        for i, draw in enumerate(draws):
            with sbeam.Cursor(WEATHER, seed=4, draw=i) as cursor:
                take(cursor, 5)
                self.compare(cursor, draw)

    def test_neural(self):
        try:
            model = sbeam.Model()
        except sbeam.FormatError as error:
            self.skipTest("this build has no neural models: %s" % error)
        text = "Where is the train station?"
        with model, sbeam.Cursor(model, text, seed=3, temperature=0.5) as cursor:
            [draw] = sbeam.draw(model, text, k=12, seed=3, temperature=0.5)
            found = take(cursor, 12)
            self.assertEqual([s.tokens for s in found], [s.tokens for s in draw])
            self.assertEqual([s.text for s in found], [s.text for s in draw])
            np.testing.assert_allclose([s.g for s in found], [s.g for s in draw], rtol=1e-5)
        with self.assertRaisesRegex(ValueError, "needs an input"):
            sbeam.Cursor(None)

    def test_exhaustion(self):
        with sbeam.Cursor(MODELS / "fig1.json", seed=1) as cursor:
            self.assertIs(iter(cursor), cursor)
            sequences = list(cursor)
            self.assertEqual(len(set(s.tokens for s in sequences)), 8)
            self.assertAlmostEqual(sum(math.exp(s.log_p) for s in sequences), 1, places=12)
            self.assertEqual([s.g for s in sequences], sorted((s.g for s in sequences),
                                                              reverse=True))
            self.assertEqual(cursor.threshold, -math.inf)
            self.assertEqual((cursor.use.sequences, cursor.use.entries), (8, 0))
            self.assertEqual(list(cursor), [])  # it stays at its end
            draw = cursor.draw()
            self.assertTrue(draw.exhausted)
            estimate = sbeam.estimate(draw, lambda s: 1)
            self.assertAlmostEqual(estimate.weight_sum, 1, places=12)

    def test_nothing_yet(self):
        with sbeam.Cursor(WEATHER, seed=1) as cursor:
            draw = cursor.draw()
            self.assertEqual((len(draw), draw.k, draw.kappa), (0, 0, cursor.threshold))
            self.assertEqual(next(cursor).g, draw.kappa)

    def test_use(self):
        with sbeam.Cursor(WEATHER, seed=1, parallel=1) as cursor:
            before = cursor.use
            take(cursor, 30)
            after = cursor.use
            self.assertEqual((before.sequences, after.sequences), (0, 30))
            self.assertEqual(after.model_rows, cursor.draw().model_rows)
            # parallel=1 evaluates the prefixes of the sequences and no others, if the next one is
            # not evaluated already.
            prefixes = {s.tokens[:n] for s in cursor.draw() for n in range(len(s.tokens) + 1)}
            self.assertLessEqual(after.model_rows, len(prefixes))
            self.assertGreater(after.bytes, before.bytes)

    def test_seed_is_random_and_told(self):
        with sbeam.Cursor(WEATHER) as cursor, sbeam.Cursor(WEATHER) as other:
            self.assertNotEqual(cursor.seed, other.seed)
            self.assertLess(cursor.seed, 2**53)
            take(cursor, 3)
            self.compare(cursor, sbeam.draw(WEATHER, k=3, seed=cursor.seed)[0])


class Refusals(unittest.TestCase):
    def test_settings(self):
        for keywords, kind, text in (
                ({"k": 3}, TypeError, "'k': a cursor has no k"),
                ({"kappa": True}, TypeError, "'kappa': a cursor always has its threshold"),
                ({"until_mass": 0.5}, TypeError, "'until_mass': end the loop"),
                ({"until_texts": 5}, TypeError, "'until_texts': end the loop"),
                ({"draws": 2}, TypeError, "'draws': a cursor is one draw"),
                ({"threads": 2}, TypeError, "'threads': a cursor is one draw"),
                ({"batch": 2}, TypeError, "'batch': a cursor is one draw"),
                ({"cache": 2}, TypeError, "'cache': a cursor is one draw"),
                ({"streams": [2]}, TypeError, "'streams': .* the keyword stream"),
                ({"inputs": ["sun"]}, TypeError, "'inputs': .* the keyword input"),
                ({"no_such": 2}, TypeError, "'no_such'"),
                ({"method": "beam"}, ValueError, "method is beam; a cursor needs method sbs"),
                ({"search": "level"}, ValueError, "search is level; a cursor needs best-first"),
                ({"groups": 2}, ValueError, "method sbs has no option groups"),
                ({"early_stop": True}, ValueError, "method sbs refuses early-stop"),
                ({"parallel": 0}, ValueError, "parallel is '0'"),
                ({"temperature": [1, 2]}, ValueError, "temperature"),
                ({"temperature": 0}, ValueError, "temperature is '0.0'"),
                ({"stream": -1}, ValueError, "stream"), ({"draw": 2**64}, ValueError, "draw"),
                ({"seed": 1.5}, ValueError, "seed"), ({"max_len": 0}, ValueError, "max-len"),
                ({"ban": "snow"}, ValueError, "no token 'snow'"),
                ({"stop": ""}, ValueError, "stop"),
                ({"input": "snow"}, sbeam.InputError, "snow"),
                ({"input": 3}, ValueError, "input is of type int"),
                ({"input": ["sun"]}, ValueError, "input is of type list"),
                ({"bpe_marker": ""}, ValueError, "bpe_marker")):
            with self.subTest(**keywords), self.assertRaisesRegex(kind, text):
                sbeam.Cursor(WEATHER, **keywords)
        self.assertEqual(len(take(sbeam.Cursor(WEATHER, parallel=None), 3)), 3)
        with self.assertRaisesRegex(ValueError, "model is of type int"):
            sbeam.Cursor(3)
        with self.assertRaises(OSError):
            sbeam.Cursor("/no/such/file")

    def test_closed(self):
        with sbeam.Cursor(WEATHER, seed=1) as cursor:
            sequence, draw = next(cursor), cursor.draw()
        cursor.close()
        for call in (lambda: next(cursor), cursor.draw, lambda: cursor.threshold,
                     lambda: cursor.use):
            with self.assertRaisesRegex(sbeam.StateError, "the cursor is closed"):
                call()
        self.assertEqual(without_weights([sequence]), without_weights(draw))
        broken = sbeam.Cursor.__new__(sbeam.Cursor)  # as if __init__ had failed early
        del broken

    def test_model_is_closed(self):
        """The cursor goes on; the memory of the model is freed with the cursor."""
        [expected] = sbeam.draw(WEATHER, k=9, seed=1)
        model = sbeam.Model(WEATHER)
        cursor = sbeam.Cursor(model, seed=1)
        model.close()
        with self.assertRaisesRegex(sbeam.StateError, "the model is closed"):
            sbeam.Cursor(model)
        take(cursor, 9)
        self.assertEqual(cursor.draw().sequences, expected.sequences)
        self.assertIsNotNone(model._handle)
        cursor.close()
        self.assertIsNone(model._handle)
        for action in (lambda: sbeam.Cursor(opened, k=3), lambda: sbeam.Cursor(opened, "snow"),
                       lambda: sbeam.Cursor(opened, method="beam"), lambda: sbeam.Cursor(opened)):
            with sbeam.Model(WEATHER) as opened:
                with self.subTest(), self.assertRaises((TypeError, ValueError)):
                    action()
                    raise ValueError  # the last one opens, and is freed without close
            gc.collect()
            self.assertIsNone(opened._handle)

    def test_models_that_fail(self):
        """The same error again and again, and the sequences before it."""
        text = {"format": "sbeam-chain", "vocab": ["a", "b", "</s>"], "eos": "</s>",
                "start": [0.5, 0, 0.5], "next": {"a": [0, 1, 0], "b": [0, 1, 0]}}
        n_found = 0
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "chain.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(text, file)
            for seed in range(20):
                with sbeam.Cursor(path, ban="b", seed=seed) as cursor:
                    messages = []
                    while len(messages) < 2:
                        try:
                            next(cursor)
                            n_found += 1
                        except sbeam.ModelError as error:
                            messages.append(str(error))
                    self.assertIn("exclude every token", messages[0])
                    self.assertEqual(messages[0], messages[1])
                    with self.assertRaisesRegex(sbeam.ModelError, "exclude every token"):
                        cursor.draw()
        self.assertTrue(3 < n_found < 17)

    def test_neither_copied_nor_pickled(self):
        with sbeam.Cursor(WEATHER) as cursor:
            for action in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaises(TypeError):
                    action(cursor)


class Threads(unittest.TestCase):
    def test_shared(self):
        """Threads that share a cursor get every sequence once."""
        [draw] = sbeam.draw(WEATHER, k=400, seed=1)
        found = collections.deque()
        with sbeam.Cursor(WEATHER, seed=1) as cursor:
            def work():
                for sequence in take(cursor, 100):
                    found.append(sequence)
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(cursor.draw().sequences, draw.sequences)
        self.assertEqual(sorted(s.tokens for s in found), sorted(s.tokens for s in draw))

    def test_ends_for_all(self):
        with sbeam.Cursor(MODELS / "fig1.json", seed=1) as cursor:
            found = collections.deque()
            threads = [threading.Thread(target=lambda: found.extend(cursor)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len({s.tokens for s in found}), 8)
        self.assertEqual(len(found), 8)


class Interrupts(unittest.TestCase):
    def test_anywhere(self):
        """A signal handler raises an exception at random times. Nothing is lost and nothing comes
        twice. (If the exception comes outside the search, the caller of next() may not get what
        next() returns; draw() still has it.)"""
        class Mine(KeyboardInterrupt):
            pass

        def handle(_number, _frame):
            raise Mine

        def attempt(seconds):
            """Interrupts one call of next() after this time, unless it is done by then. Returns
            whether the exception came inside the search, or None if there was none."""
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, seconds)
                    found.append(next(cursor))
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Mine as problem:
                frames = traceback.extract_tb(problem.__traceback__)
                return any(frame.name == "run_interruptibly" for frame in frames)
            return None

        generator = np.random.default_rng(2)
        found, outcomes = [], []
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "slow.json")
            write_slow_chain(path)
            settings = dict(seed=1, max_len=2000)
            [draw] = sbeam.draw(path, k=MOST_K, **settings)
            [longer] = sbeam.draw(path, k=MOST_K + 1, **settings)
            cursor = sbeam.Cursor(path, **settings)
            before = signal.signal(signal.SIGALRM, handle)
            try:
                while cursor.use.sequences < MOST_K:
                    outcomes.append(attempt(generator.uniform(1e-4, 1e-2)))
            finally:
                signal.signal(signal.SIGALRM, before)
            self.assertEqual(cursor.draw().sequences, draw.sequences)
            self.assertEqual(cursor.draw().kappa, draw.kappa)
            found.append(next(cursor))  # the last one, or the one after it
            cursor.close()
        places = [[s.tokens for s in longer].index(s.tokens) for s in found]
        self.assertEqual(places, sorted(set(places)))
        self.assertLessEqual(len(set(range(MOST_K)) - set(places)), outcomes.count(False))
        self.assertGreaterEqual(outcomes.count(True), 5)  # how many depends on the load of the machine

    def test_just_found(self):
        """An interrupt that comes when a sequence has just been found does not lose it."""
        def finish_and_raise(work, _interrupt):
            work()
            raise KeyboardInterrupt

        [draw] = sbeam.draw(WEATHER, k=3, seed=1)
        with sbeam.Cursor(WEATHER, seed=1) as cursor:
            found = [next(cursor)]
            with mock.patch("sbeam.cursor.run_interruptibly", finish_and_raise):
                with self.assertRaises(KeyboardInterrupt):
                    next(cursor)
            self.assertEqual((cursor.use.sequences, len(cursor.draw())), (2, 2))
            self.assertEqual(cursor.threshold, draw[2].g)
            found += [next(cursor), next(cursor)]
            self.assertEqual(without_weights(found), without_weights(draw))


class Memory(unittest.TestCase):
    def test_many_cursors(self):
        """Memory does not grow with the number of cursors, closed or forgotten."""
        def work(n):
            for i in range(n):
                cursor = sbeam.Cursor(model, seed=i)
                take(cursor, 20)
                cursor.draw()
                if i % 2:
                    cursor.close()

        with sbeam.Model(WEATHER) as model:
            def run(n):  # not in the main thread, where each search starts a thread
                thread = threading.Thread(target=work, args=(n,))
                thread.start()
                thread.join()
                gc.collect()
            run(300)
            before = resident_memory()
            run(1500)
            # A cursor of 20 sequences has about 20 KB: 1500 of them would add 30 MB.
            self.assertLess(resident_memory() - before, 4 << 20)
            self.assertEqual(model._n_uses, 0)

    def test_no_memory(self):
        """The cursor fails, and the library goes on working."""
        program = """
import resource, sys, threading
import sbeam
path, weather = sys.argv[1:]
cursor = sbeam.Cursor(path, seed=1, max_len=3000)

def work():
    try:
        for sequence in cursor:
            pass
    except MemoryError as error:
        print(type(error).__name__, error)
    try:
        next(cursor)
    except MemoryError as error:
        print(type(error).__name__, error)
    cursor.close()
    print(len(sbeam.draw(weather, k=7)[0]))

next(cursor)
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
thread = threading.Thread(target=work)
thread.start()
resource.setrlimit(resource.RLIMIT_AS, (size + (300 << 20),) * 2)
thread.join()
"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "slow.json")
            write_slow_chain(path, 100)
            done = subprocess.run([sys.executable, "-c", program, path, WEATHER], text=True,
                                  env=environment(), capture_output=True, timeout=300)
        self.assertEqual((done.stdout, done.stderr),
                         ("OutOfMemoryError not enough memory\n" * 2 + "7\n", ""))


if __name__ == "__main__":
    unittest.main()
