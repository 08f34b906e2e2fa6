"""What sbeam.hf refuses, and what happens if the model fails."""
import gc
import math
import os
import signal
import threading
import unittest

from support import need

torch = need("torch")
transformers = need("transformers")
import sbeam  # noqa: E402
import sbeam.hf  # noqa: E402
from hf_models import (EOS, IDS, PAD, PROMPT, VOCAB, Case, make_model, make_tokenizer, pad,  # noqa: E402
                       teacher_rows, tokens_of)

lp = transformers.generation.logits_process


class Refusals(Case):
    def refused(self, words, call=None, error=sbeam.ArgumentError, **settings):
        with self.subTest(words, **{k: str(v)[:30] for k, v in settings.items()}):
            with self.assertRaisesRegex(error, words):
                (call or self.generate)(**settings)

    def test_settings(self):
        for call in self.generate, self.custom:
            self.refused("num_beams is 3.*expected 1", call, num_beams=3)
            self.refused("num_return_sequences is 2", call, num_return_sequences=2, do_sample=True)
            self.refused("refuses length-penalty", call, length_penalty=2.0)
            self.refused("early_stopping is True", call, early_stopping=True)
            self.refused("output_scores is True", call, output_scores=True,
                         return_dict_in_generate=True)
            self.refused("max_time", call, max_time=3.0)
            self.refused("guidance_scale", call, guidance_scale=2.0)
            self.refused("cache_implementation is 'static'", call, cache_implementation="static")
            self.refused("cache_implementation is 'offloaded'", call,
                         cache_implementation="offloaded")
            self.refused("'reject'; expected one of sbs, beam", call, method="reject")
            self.refused("has no option groups", call, groups=2)
            self.refused("best-first", call, search="best-first")
            self.refused("temperature", call, temperature=0.0)
            self.refused("k is 0", call, k=0)
            self.refused("draws is 0", call, draws=0)
            self.refused("streams has 2 numbers for 1 input", call, streams=[1, 2])
            self.refused("temperature has 2 numbers", call, temperature=[1, 2])
            self.refused("model_kwargs", call, ValueError, foo=3)
            self.refused("needs a tokenizer", call, stop=["x"])
            self.refused("expected texts", call, stop=[""])
        for name in "streamer", "assistant_model":
            self.refused(name, **{name: self.model})

    def test_config_of_translators(self):
        """Their generation config asks for beam search. generate has keywords instead; sbs says
        what to pass."""
        model = make_model("Marian")
        model.generation_config.update(num_beams=4, length_penalty=2.0, early_stopping=True)
        self.generate(model=model)
        self.refused("pass num_beams=1", self.custom, model=model)
        self.custom(model=model, num_beams=1)

    def test_processors(self):
        self.refused("EncoderRepetition.*one row for each input", encoder_repetition_penalty=2.0)
        self.refused("EncoderNoRepeat", encoder_no_repeat_ngram_size=2)
        self.refused("TypicalLogitsWarper", do_sample=True, typical_p=0.5)
        self.refused("EtaLogitsWarper", do_sample=True, eta_cutoff=0.1)
        mixed = [lp.TopKLogitsWarper(5), lp.RepetitionPenaltyLogitsProcessor(2.0)]
        self.refused("after a TopK", logits_processor=transformers.LogitsProcessorList(mixed))
        twice = [lp.TopKLogitsWarper(5), lp.TopKLogitsWarper(6)]
        self.refused("two of TopK", logits_processor=transformers.LogitsProcessorList(twice))

        class Counting(transformers.LogitsProcessor):
            n = 0

            def __call__(self, input_ids, scores):
                self.n += 1
                scores[:, self.n % VOCAB] += 1
                return scores

        class LooksAtOthers(transformers.LogitsProcessor):
            def __call__(self, input_ids, scores):
                return scores + (input_ids[0, -1] == 3) + torch.arange(len(scores))[:, None] * (
                    torch.arange(scores.shape[1]) == 3)

        for processor in Counting(), LooksAtOthers():
            self.refused("function of each row",
                         logits_processor=transformers.LogitsProcessorList([processor]))

    def test_criteria(self):
        class Never(transformers.StoppingCriteria):
            def __call__(self, input_ids, scores, **_):
                return torch.zeros(len(input_ids), dtype=torch.bool)
        self.refused("Never, which may end a draw",
                     stopping_criteria=transformers.StoppingCriteriaList([Never()]))

    def test_caches(self):
        static = transformers.StaticCache(config=self.model.config, max_cache_len=20)
        self.refused("static cache", past_key_values=static)

        class Quantized(transformers.DynamicCache):
            """Stands for a QuantizedCache, whose packages are not installed."""

        from transformers import cache_utils

        class Layer(cache_utils.QuantizedLayer):
            def _quantize(self, tensor, axis):
                return tensor

            def _dequantize(self, tensor):
                return tensor

        cache = Quantized(config=self.model.config)
        cache.layers = [Layer(residual_length=128) for _ in cache.layers]
        self.refused("quantised cache", past_key_values=cache)
        own = transformers.DynamicCache(config=self.model.config)
        self.assertEqual(tokens_of(self.generate(past_key_values=own)[0]),
                         tokens_of(self.generate()[0]))

        class NoCache(type(self.model)):
            def forward(self, *args, **kwargs):
                out = super().forward(*args, **kwargs)
                out.past_key_values = None
                return out

        odd = NoCache(self.model.config).eval()
        self.refused("no cache; expected a Cache", model=odd, past_key_values=None)

    def test_models(self):
        model = make_model("GPT-2")
        model.train()
        self.refused("training mode", model=model)
        model.eval()
        model.transformer.rope_deltas = None  # as models with mRoPE have
        self.generate(model=model)
        self.refused("rope_deltas", model=model, ids=torch.cat([IDS, IDS]))

    def test_inputs(self):
        for ids in (PROMPT, torch.tensor(PROMPT), torch.ones(2, 3, 4, dtype=torch.long),
                    torch.ones(1, 3), torch.ones(0, 3, dtype=torch.long), None):
            self.refused("input_ids is", ids=ids)
        self.refused("input_ids has no tokens", ids=torch.ones(1, 0, dtype=torch.long))
        self.refused("attention_mask is", attention_mask=torch.ones(1, 2, dtype=torch.long))
        ids, mask = pad([[5, 9, 33], [4]], side="right")
        self.refused("input 1 is padded at its end", ids=ids, attention_mask=mask)
        self.refused("is padded at its end.* pass attention_mask", ids=torch.tensor([[5, PAD]]))
        own = torch.tensor([[5, PAD]])
        self.assertEqual(len(self.generate(own, torch.ones_like(own))[0]), 4)
        self.refused("input 1 is padded at its end", self.custom, ids=ids, attention_mask=mask)
        self.refused("eos_token_id is 99", eos_token_id=99)
        self.refused("max_length", max_new_tokens=None, max_length=3, error=ValueError)

    def test_tokenizer_of_another_model(self):
        for size in VOCAB + 1, VOCAB // 2:
            self.refused("expected the tokenizer of this model", tokenizer=make_tokenizer(size))
        self.generate(tokenizer=make_tokenizer(VOCAB - 1))  # a padded matrix

    def test_sbs_is_not_called_alone(self):
        with self.assertRaisesRegex(sbeam.ArgumentError, "sbeam.hf.generate"):
            sbeam.hf.sbs(self.model, IDS)


class Failures(Case):
    """Nothing stays allocated after an error."""

    def open_decoders(self):
        gc.collect()
        return sum(type(x) is sbeam.Decoder and x._handle is not None for x in gc.get_objects())

    def setUp(self):
        self.assertEqual(self.open_decoders(), 0)

    def tearDown(self):
        self.assertEqual(self.open_decoders(), 0)
        self.assertEqual(len(self.generate()[0]), 4)  # the model still works

    def fail_at(self, call, problem):
        """Returns a hook that changes the logits, or raises, in the given call of the model."""
        calls = [0]

        def hook(_, args, out):
            calls[0] += 1
            if calls[0] == call:
                return problem(out)
        handle = self.model.register_forward_hook(hook)
        self.addCleanup(handle.remove)
        return handle

    def test_model_raises(self):
        def problem(_):
            raise RuntimeError("the model is tired")
        for call in 1, 3:
            handle = self.fail_at(call, problem)
            with self.assertRaisesRegex(RuntimeError, "tired"):
                self.generate()
            handle.remove()

    def test_wrong_logits(self):
        def nan(out):
            out.logits[0, -1, 5] = math.nan

        def narrow(out):
            out.logits = out.logits[..., :-1]

        def flat(out):
            out.logits = out.logits[:, -1]
        for problem, error, words in ((nan, sbeam.ModelError, "step 3"),
                                      (narrow, sbeam.ArgumentError, "shape is .*60.*expected"),
                                      (flat, sbeam.ArgumentError, "vocab_size")):
            handle = self.fail_at(3, problem)
            with self.assertRaisesRegex(error, words):
                self.generate()
            handle.remove()

    def test_interrupt(self):
        """Ctrl-C in a long generation."""
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            self.generate(max_new_tokens=10000, min_new_tokens=10000, k=64)
        timer.join()

    def test_modes(self):
        [expected] = self.generate()
        for mode in torch.inference_mode, torch.no_grad, torch.enable_grad:
            with mode():
                self.assertEqual(list(self.generate()[0]), list(expected))
                self.assertEqual(list(self.generate(eos_token_id=[EOS, 9])[0]),
                                 list(self.generate(eos_token_id=[EOS, 9])[0]))

    def test_half_precision(self):
        for dtype in torch.bfloat16, torch.float16:
            model = make_model("Llama", dtype=dtype)
            for settings in {}, {"eos_token_id": [EOS, 9]}, {"bad_words_ids": [[8]]}:
                [draw] = self.generate(model=model, k=6, **settings)
                self.assertEqual(len(draw), 6)
                for s in draw:
                    rows = teacher_rows(model, PROMPT, s.tokens)
                    log_p = sum(rows[i, t].item() for i, t in enumerate(s.tokens))
                    if s.end == "max-len" and not settings:  # 8 bits of each logit
                        self.assertLess(abs(s.log_p - log_p), 0.02 * abs(log_p))


if __name__ == "__main__":
    unittest.main()
