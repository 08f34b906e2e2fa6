"""Draws from models of Transformers of many kinds, with random weights.

For each: the log-probability of every sequence is that of a pass without a cache, a batch of
prompts gives what the prompts give alone, and beam search is that of generate."""
import unittest

from support import need

torch = need("torch")
transformers = need("transformers")
import sbeam.hf  # noqa: E402
from hf_models import EOS, MODELS, PAD, make_model, pad, teacher_log_p  # noqa: E402

PROMPTS = [[5, 9, 33, 7, 12, 41, 8], [17], [22, 3, 50, 4]]
LENGTH = 9


class Models(unittest.TestCase):
    def check_teacher(self, model, prompt, draw, k):
        self.assertEqual(len(draw), k)
        self.assertEqual(len({(s.tokens, s.end) for s in draw}), k)
        for s in draw:
            if PAD in s.tokens and isinstance(model, transformers.M2M100ForConditionalGeneration):
                continue  # without a cache, its positions skip pad tokens that were drawn
            expected = teacher_log_p(model, prompt, s)
            self.assertLess(abs(s.log_p - expected), 1e-4 * abs(expected))
            self.assertEqual(s.log_p, s.log_p_model)

    def test_teacher(self):
        for name in MODELS:
            model = make_model(name)
            for k in 1, 5, 64:
                with self.subTest(name, k=k):
                    [draw] = sbeam.hf.generate(model, torch.tensor([PROMPTS[0]]), k=k,
                                               max_new_tokens=LENGTH, seed=k)
                    self.check_teacher(model, PROMPTS[0], draw, k)
                    if k == 64:
                        self.assertEqual({s.end for s in draw}, {"eos", "max-len"})

    def test_batch(self):
        """In float64, because in float32 the logits of a row depend on the batch."""
        for name in MODELS:
            with self.subTest(name):
                model = make_model(name, dtype=torch.float64)
                common = dict(k=5, max_new_tokens=LENGTH, seed=2)
                ids, mask = pad(PROMPTS, "right" if model.config.is_encoder_decoder else "left")
                together = sbeam.hf.generate(model, ids, mask, **common)
                for i, prompt in enumerate(PROMPTS):
                    [alone] = sbeam.hf.generate(model, torch.tensor([prompt]), streams=[i],
                                                **common)
                    self.assertEqual([s.tokens for s in together[i]], [s.tokens for s in alone])
                    for one, other in zip(together[i], alone):
                        self.assertAlmostEqual(one.g, other.g, places=8)
                    self.check_teacher(model, prompt, together[i], 5)

    def test_without_cache(self):
        for name in "Llama", "T5":
            with self.subTest(name):
                model = make_model(name, dtype=torch.float64)
                common = dict(k=4, max_new_tokens=LENGTH, seed=3)
                ids, mask = pad(PROMPTS)
                found = [[s.tokens for draw in sbeam.hf.generate(
                    model, ids, mask, use_cache=use_cache, **common) for s in draw]
                    for use_cache in (True, False)]
                self.assertEqual(*found)

    def test_beam(self):
        """Beam search is that of generate without a length penalty. In generate a hypothesis that
        reaches the maximum length competes with the finished ones, as here."""
        for name in "GPT-2", "Llama", "T5", "Marian":
            for k in 1, 5:
                with self.subTest(name, k=k):
                    model = make_model(name, dtype=torch.float64, scale=1.5)
                    for prompt in PROMPTS:
                        ids = torch.tensor([prompt])
                        theirs = model.generate(
                            ids, num_beams=k, num_return_sequences=k, early_stopping="never",
                            length_penalty=0.0, do_sample=False, max_new_tokens=LENGTH,
                            return_dict_in_generate=True, output_scores=True) if k > 1 else None
                        [ours] = sbeam.hf.generate(model, ids, k=k, method="beam",
                                                   finished="leave", max_new_tokens=LENGTH)
                        self.check_teacher(model, prompt, ours, k)
                        if theirs is None:
                            continue
                        start = 1 if model.config.is_encoder_decoder else len(prompt)
                        rows = [self.cut(row[start:].tolist()) for row in theirs.sequences]
                        self.assertEqual([list(s.tokens) + [EOS] * (s.end == "eos") for s in ours],
                                         rows)
                        for s, score in zip(ours, theirs.sequences_scores.tolist()):
                            self.assertAlmostEqual(s.log_p, score, places=4)

    @staticmethod
    def cut(tokens):
        """Returns the tokens up to the end token."""
        return tokens[:tokens.index(EOS) + 1] if EOS in tokens else tokens


class Work(unittest.TestCase):
    """How often the model is evaluated."""

    def test_rows(self):
        """The prompt is evaluated once for all k and all draws; rows that ended are not
        evaluated, and one call evaluates the rows of all inputs."""
        for name in "GPT-2", "T5":
            with self.subTest(name):
                model = make_model(name)
                calls = []
                key = "decoder_input_ids" if name == "T5" else "input_ids"
                hook = model.register_forward_pre_hook(
                    lambda _, args, kwargs: calls.append(tuple(kwargs[key].shape)),
                    with_kwargs=True)
                ids, mask = pad(PROMPTS[:2])
                draws = sbeam.hf.generate(model, ids, mask, k=16, draws=2, seed=1,
                                          max_new_tokens=LENGTH)
                hook.remove()
                self.assertEqual(calls[0], (2, 1 if name == "T5" else ids.shape[1]))
                self.assertEqual(len(calls), LENGTH)
                self.assertEqual({length for _, length in calls[1:]}, {1})
                n_rows = sum(n for n, _ in calls[1:])
                self.assertEqual(n_rows, sum(draw.model_rows - 1 for draw in draws))
                self.assertLess(calls[-1][0], 4 * 17)  # some have ended

    def test_logits_are_not_copied(self):
        """The decoder reads the memory of the model's logits."""
        model = make_model("Llama")
        given, read = [], []
        hook = model.register_forward_hook(
            lambda _, args, out: given.append(out.logits.data_ptr()))
        advance = sbeam.Decoder.advance

        def spy(decoder, logits):
            read.append(logits.data_ptr())
            advance(decoder, logits)

        sbeam.Decoder.advance = spy
        try:
            sbeam.hf.generate(model, torch.tensor([PROMPTS[0]]), k=4, max_new_tokens=4)
        finally:
            sbeam.Decoder.advance = advance
            hook.remove()
        self.assertEqual(given, read)

    def test_groups(self):
        """Draws that do not fit into one decoder give what they give alone."""
        from sbeam.hf import _search
        for name in "Mamba", "Marian":
            with self.subTest(name):
                model = make_model(name, dtype=torch.float64)
                ids, mask = pad(PROMPTS)
                common = dict(k=3, max_new_tokens=5, seed=4, draws=4)
                whole = sbeam.hf.generate(model, ids, mask, **common)
                self.assertEqual([(d.stream, d.draw) for d in whole],
                                 [(i, j) for i in range(3) for j in range(4)])
                most = _search._MOST_SLOTS
                _search._MOST_SLOTS = 5
                try:
                    parts = sbeam.hf.generate(model, ids, mask, **common)
                finally:
                    _search._MOST_SLOTS = most
                self.assertEqual([[s.tokens for s in d] for d in whole],
                                 [[s.tokens for s in d] for d in parts])


if __name__ == "__main__":
    unittest.main()
