"""Lists, estimates and metrics: the numbers of the command."""
import json
import math
import subprocess
import tempfile
import unittest

import numpy as np

from support import COMMAND, MODELS, need, run_command

import sbeam


class TopK(unittest.TestCase):
    def test_as_shuf(self):
        weights = [0.3, 2.5, 0, 1e-9, 4, 1, 1]
        lines = "".join("%r\n" % w for w in weights)
        for k in (1, 3, 7):
            expected = run_command("shuf", "-n", k, "-w1", "--seed=9", "-f", "jsonl",
                                   stdin=lines.encode())
            found = sbeam.gumbel_topk([math.log(w) if w else -math.inf for w in weights], k, seed=9)
            self.assertEqual([r["line"] - 1 for r in expected], found.indices.tolist())
            for name in ("g", "log_p", "log_weight"):
                self.assertEqual([r[name] for r in expected], getattr(found, name).tolist())
            kappa = expected[0]["kappa"]
            self.assertEqual(found.kappa, -math.inf if kappa is None else kappa)

    def test_forms(self):
        expected = sbeam.gumbel_topk([0.0, -1.0, -2.0], 2, seed=1)
        for form in (np.array([0, -1, -2]), np.array([0, -1, -2], dtype=np.float32),
                     np.array([0, 9, -1, 9, -2, 9.0])[::2], (0, -1, -2)):
            found = sbeam.gumbel_topk(form, 2, seed=1)
            self.assertEqual(found.indices.tolist(), expected.indices.tolist())
            self.assertEqual(found.g.tolist(), expected.g.tolist())
        self.assertEqual(len(sbeam.gumbel_topk([], 2).indices), 0)
        self.assertLess(sbeam.gumbel_topk([0.0], 1).seed, 2**53)

    def test_torch(self):
        torch = need("torch")
        found = sbeam.gumbel_topk(torch.tensor([0.0, -1.0, -2.0], dtype=torch.bfloat16), 2, seed=1)
        self.assertEqual(found.g.tolist(), sbeam.gumbel_topk([0, -1, -2], 2, seed=1).g.tolist())


class Estimates(unittest.TestCase):
    def test_as_the_command(self):
        for method in ("sbs", "sample", "beam"):
            draws = sbeam.draw(MODELS / "weather.json", k=7, seed=3, draws=3, method=method)
            records = "".join(json.dumps(d.to_dict()) + "\n" for d in draws)
            done = subprocess.run([str(COMMAND), "estimate", "--f", "length", "-f", "jsonl"],
                                  input=records, text=True, check=True, stdout=subprocess.PIPE)
            n = 0
            for line in map(json.loads, done.stdout.splitlines()):
                if "draw" not in line:
                    continue  # a summary
                draw = draws[line["draw"]]
                for values in (lambda s: len(s.tokens), [len(s.tokens) for s in draw]):
                    found = sbeam.estimate(draw, values, line["estimator"])
                    for name in ("se", "ess", "mc_equivalent", "weight_sum"):
                        x = getattr(found, name)
                        self.assertEqual(None if math.isnan(x) else x, line[name])
                    self.assertEqual(found.value, line["estimate"])
                n += 1
            self.assertGreaterEqual(n, 3)
            self.assertIn(sbeam.estimate(draws[0], lambda s: 1.0).estimator,
                          ("sbs-normalised", "mc", "beam-normalised"))

    def test_arrays(self):
        [draw] = sbeam.draw(MODELS / "weather.json", k=7, seed=3)
        arrays = draw.arrays()
        values = np.array([len(s.tokens) for s in draw])
        expected = sbeam.estimate(draw, values)
        self.assertEqual(sbeam.estimate(arrays, values, kappa=draw.kappa), expected)
        self.assertEqual(sbeam.estimate({"log_p": arrays["log_p"], "kappa": draw.kappa}, values),
                         expected)

    def test_tensors(self):
        """Tensors are numbers here. One with a graph is refused with advice, as its gradient would
        be lost."""
        torch = need("torch")
        [draw] = sbeam.draw(MODELS / "weather.json", k=3, seed=3)
        expected = sbeam.estimate(draw, [1, 2, 3])
        for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.int64):
            values = torch.tensor([1, 2, 3], dtype=dtype)
            self.assertEqual(sbeam.estimate(draw, values), expected)
            self.assertEqual(sbeam.estimate(draw, list(values)), expected)
            self.assertEqual(sbeam.estimate(draw, lambda s: values[draw.sequences.index(s)]),
                             expected)
        scale = torch.tensor(2.0, requires_grad=True)
        arrays = {"log_p": torch.tensor(draw.arrays()["log_p"], requires_grad=True),
                  "kappa": draw.kappa}
        for name, arguments in (("f", (draw, scale * torch.ones(3))),
                                (r"f\[0\]", (draw, lambda s: scale * len(s.tokens))),
                                (r"f\[1\]", (draw, [1.0, scale, 2.0])),
                                ("log_p", (arrays, [1, 2, 3]))):
            with self.assertRaisesRegex(sbeam.ArgumentError, "^%s is a tensor that requires grad; "
                                        ".*detach.*log_p again .*temperature and bans" % name):
                sbeam.estimate(*arguments)
        self.assertEqual(sbeam.estimate(draw, lambda s: (scale * len(s.tokens)).detach()).value,
                         sbeam.estimate(draw, lambda s: 2 * len(s.tokens)).value)

    def test_graphs_without_torch(self):
        """The refusal asks for requires_grad and does not import PyTorch."""
        class Value(float):
            requires_grad = True

        [draw] = sbeam.draw(MODELS / "weather.json", k=3, seed=3)
        with self.assertRaisesRegex(ValueError, "requires grad"):
            sbeam.estimate(draw, lambda s: Value(1))

    def test_probabilities(self):
        """The estimate of a True or False is a probability."""
        [draw] = sbeam.draw(MODELS / "weather.json", k=20, seed=3)
        expected = sbeam.estimate(draw, lambda s: 1.0 if "rain" in s.text else 0.0)
        self.assertTrue(0 < expected.value < 1)
        self.assertEqual(sbeam.estimate(draw, lambda s: "rain" in s.text), expected)
        flags = np.array(["rain" in s.text for s in draw])
        self.assertEqual(sbeam.estimate(draw, flags), expected)


class Metrics(unittest.TestCase):
    HYPOTHESES = ["The cat sat on the mat.", "It is raining again, isn't it?", "Oui !"]
    REFERENCES = ["The cat sat on a mat.", "It's raining again, is it not?", "Oui !"]

    def test_as_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            names = []
            for name, lines in (("hypotheses", self.HYPOTHESES), ("references", self.REFERENCES)):
                names.append(folder + "/" + name)
                with open(names[-1], "w", encoding="utf-8") as file:
                    file.write("\n".join(lines) + "\n")
            for tokenizer in ("13a", "char", "none"):
                [record] = run_command("eval", "--hyp", names[0], "--ref", names[1], "-f", "jsonl",
                                       "--tokenize", tokenizer)
                bleu = sbeam.corpus_bleu(self.HYPOTHESES, self.REFERENCES, tokenizer=tokenizer)
                self.assertEqual((bleu.score, bleu.brevity_penalty, bleu.signature),
                                 (record["bleu"], record["bp"], record["signature"]))
                for hypothesis, reference in zip(self.HYPOTHESES, self.REFERENCES):
                    sentence = sbeam.sentence_bleu(hypothesis, reference, tokenizer=tokenizer)
                    self.assertEqual(sentence, sbeam.corpus_bleu(
                        [hypothesis], [reference], tokenizer=tokenizer, effective_order=True))

    def test_forms(self):
        same = sbeam.sentence_bleu("a b c d e", ["x", "a b c d e"])
        self.assertAlmostEqual(same.score, 100)
        self.assertIn("nrefs:2", same.signature)
        self.assertEqual(len(same.precisions), 4)
        self.assertIn("nrefs:var", sbeam.corpus_bleu(["a", "b"], ["a", ["b", "c"]]).signature)
        self.assertEqual(sbeam.sentence_bleu(b"a b", "a b"), sbeam.sentence_bleu("a b", b"a b"))
        diversity = sbeam.ngram_diversity(["a b c", "a b d"])
        self.assertAlmostEqual(diversity.d[0], 4 / 6)
        self.assertTrue(math.isnan(diversity.d[3]))


if __name__ == "__main__":
    unittest.main()
