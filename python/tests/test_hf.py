"""sbeam.hf and generate of Transformers: settings and results."""
import functools
import inspect
import math
import subprocess
import sys
import unittest
from pathlib import Path

from support import HERE, environment, need

torch = need("torch")
transformers = need("transformers")
import sbeam  # noqa: E402
import sbeam.hf  # noqa: E402
from hf_models import (EOS, IDS, PAD, PROMPT, VOCAB, Case, make_model, make_tokenizer,  # noqa: E402
                       pad, teacher_rows, tokens_of)

lp = transformers.generation.logits_process


class Results(Case):
    def test_package_is_light(self):
        """import sbeam imports neither of them."""
        code = "import sys, sbeam; assert not {'torch', 'transformers'} & set(sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True, env=environment())

    def test_signature(self):
        for function in sbeam.hf.sbs, sbeam.hf.generate:
            parameters = inspect.signature(function).parameters
            names = ("temperature", "top_k", "top_p", "min_p")
            self.assertEqual([parameters[name].default for name in names], [1, 0, 1, 0])

    def test_custom_generate(self):
        """The tensors are those of the draws, for a batch and for both kinds of models."""
        ids, mask = pad([[5, 9, 33], [4]])
        for model in self.model, self.translator:
            common = dict(seed=3, k=3, draws=2, max_new_tokens=9, attention_mask=mask)
            draws = sbeam.hf.generate(model, ids, **common)
            out = self.custom(ids, model, **common)
            self.assertEqual(list(map(tokens_of, draws)), list(map(tokens_of, out.draws)))
            start = ids if model is self.model else torch.full((2, 1), PAD)
            self.assertEqual(len(out.sequences), 2 * 2 * 3)
            sequences = [s for draw in draws for s in draw]
            for i, s in enumerate(sequences):
                row = start[i // 6].tolist() + list(s.tokens) + [EOS] * (s.end == "eos")
                row += [PAD] * (out.sequences.shape[1] - len(row))
                self.assertEqual(out.sequences[i].tolist(), row)
            for name in "log_p", "log_p_model", "log_weight", "g":
                self.assertEqual(getattr(out, name).tolist(), [getattr(s, name) for s in sequences])
            self.assertEqual(out.kappa.tolist(), [draw.kappa for draw in draws])
            plain = self.custom(ids, model, return_dict_in_generate=False, **common)
            self.assertTrue(torch.equal(plain, out.sequences))

    def test_fewer_than_k(self):
        """All that there are: the other rows have the weight zero."""
        out = self.custom(k=6, top_k=2, max_new_tokens=2)
        found = out.draws[0]
        self.assertTrue(found.exhausted and len(found) < 6)
        self.assertEqual(len(out.sequences), 6)
        self.assertAlmostEqual(out.log_weight.exp().sum().item(), 1)
        self.assertEqual(out.log_p[len(found):].tolist(), [-math.inf] * (6 - len(found)))

    def test_recipe(self):
        """The folder in the layout of the hub."""
        folder = str(HERE.parent / "hub_recipe")
        tokenizer = make_tokenizer()
        out = self.custom(custom_generate=folder, trust_remote_code=True, tokenizer=tokenizer,
                          stop=["t3"], top_k=9)
        [draw] = self.generate(tokenizer=tokenizer, stop=["t3"], top_k=9)
        self.assertEqual(list(out.draws[0]), list(draw))
        self.assertIn("custom_generate", (Path(folder) / "README.md").read_text(encoding="utf-8"))

    def test_prefix(self):
        """The draw of size k begins every larger one, and streams key the noise."""
        [small], [large] = self.generate(k=3), self.generate(k=9)
        self.assertEqual(tokens_of(small), tokens_of(large)[:3])
        self.assertAlmostEqual(small.kappa, large[3].g, places=9)
        both = self.generate(torch.cat([IDS, IDS]), streams=[7, 0])
        self.assertEqual(tokens_of(both[1]), tokens_of(self.generate()[0]))
        self.assertNotEqual(tokens_of(both[0]), tokens_of(both[1]))

    def test_methods(self):
        for method in "sbs", "beam", "sample", "diverse":
            [draw] = self.generate(method=method, max_new_tokens=4)
            self.assertEqual((draw.method, len(draw)), (method, 4))
            for s in draw:
                rows = teacher_rows(self.model, PROMPT, s.tokens)
                log_p = sum(rows[i, t].item() for i, t in enumerate(s.tokens))
                log_p += rows[-1, EOS].item() if s.end == "eos" else 0
                self.assertAlmostEqual(s.log_p_model, log_p, places=6)

    def test_length(self):
        """None: that of the generation config, else 200, or what the model has room for."""
        model = make_model("Llama")
        self.assertEqual(self.generate(model=model, max_new_tokens=None, k=1,
                                       suppress_tokens=[EOS])[0].settings["max_len"], 125)
        model.generation_config.max_new_tokens = 3
        [draw] = self.generate(model=model, max_new_tokens=None)
        self.assertEqual(max(map(len, tokens_of(draw))), 3)
        t5 = make_model("T5")
        self.assertEqual(self.generate(model=t5, max_new_tokens=None, k=1, max_length=None)[0]
                         .settings.get("max_len", 200), 200)

    def test_text_and_stop(self):
        tokenizer = make_tokenizer()
        [draw] = self.generate(tokenizer=tokenizer, k=40, stop=[". t", "t5"])
        self.assertIn("stop", {s.end for s in draw})
        for s in draw:
            text = tokenizer.decode(list(s.tokens), skip_special_tokens=True)
            at = min((text.find(stop) for stop in (". t", "t5") if stop in text), default=len(text))
            self.assertEqual(s.text, text[:at])
            self.assertEqual(s.end == "stop", at < len(text))
        bound = functools.partial(sbeam.hf.sbs, tokenizer=tokenizer, stop=[". t", "t5"])
        self.assertEqual(list(self.custom(custom_generate=bound, k=40).draws[0]), list(draw))


class Settings(Case):
    """What changes the model, and how it is reported."""

    def law_of(self, change, k=400):
        """Compares a draw of one token with a changed row. `change` takes logits and returns
        them."""
        def check(**settings):
            [draw] = self.generate(k=k, max_new_tokens=1, **settings)
            row = teacher_rows(self.model, PROMPT, [])[-1].clone()
            row = torch.log_softmax(change(row), 0)
            found = {s.tokens[0] if s.tokens else EOS: s.log_p for s in draw}
            self.assertEqual(set(found), set((row > -math.inf).nonzero().flatten().tolist()))
            for token, log_p in found.items():
                self.assertAlmostEqual(log_p, row[token].item(), places=6)
            return draw
        return check

    def test_nothing_is_masked(self):
        """Pad and start tokens stay in the support."""
        self.assertEqual(len(self.law_of(lambda row: row)()), VOCAB)

    def test_generation_config_is_not_read(self):
        model = make_model("Llama", dtype=torch.float64)
        model.generation_config.update(do_sample=True, temperature=0.5, top_k=3, num_beams=4)
        [draw] = self.generate(model=model)
        self.assertEqual(list(draw), list(self.generate()[0]))
        self.assertEqual((draw.temperature, draw.settings), (1, {"max_len": 6}))

    def test_warpers(self):
        """With do_sample they become settings of the core, and the call has the last word."""
        sampled = dict(do_sample=True, num_beams=1)
        config = transformers.GenerationConfig(temperature=0.7, top_k=9, top_p=0.95, min_p=0.01,
                                               do_sample=True, eos_token_id=EOS, pad_token_id=PAD)
        [draw] = self.custom(generation_config=config).draws
        self.assertEqual(draw.temperature, 0.7)
        for name, value in dict(top_k=9, top_p=0.95, min_p=0.01).items():
            self.assertAlmostEqual(draw.settings[name], value)
        [same] = self.generate(temperature=0.7, top_k=9, top_p=0.95, min_p=0.01)
        self.assertEqual(list(draw), list(same))
        [draw] = self.custom(generation_config=config, temperature=0.4).draws
        self.assertEqual((draw.temperature, draw.settings["top_k"]), (0.4, 9))
        [draw] = self.custom(**sampled).draws  # the default of generate
        self.assertEqual(draw.settings["top_k"], 50)
        [draw] = self.custom().draws
        self.assertNotIn("top_k", draw.settings)
        given = [lp.TopKLogitsWarper(5), lp.TemperatureLogitsWarper(0.3)]
        [draw] = self.generate(logits_processor=transformers.LogitsProcessorList(given))
        self.assertEqual((draw.temperature, draw.settings["top_k"]), (0.3, 5))
        self.assertEqual(list(draw), list(self.generate(temperature=0.3, top_k=5)[0]))

    def test_temperatures(self):
        both = self.generate(torch.cat([IDS, IDS]), temperature=[0.5, 2], streams=[0, 0])
        for draw, temperature in zip(both, (0.5, 2)):
            self.assertEqual(tokens_of(draw), tokens_of(self.generate(temperature=temperature)[0]))

    def test_masks(self):
        def without(*tokens):
            def change(row):
                row[list(tokens)] = -math.inf
                return row
            return change
        draw = self.law_of(without(4, 5, EOS))(suppress_tokens=[4, 5], min_new_tokens=1)
        self.assertEqual(draw.settings, {"max_len": 1, "min_len": 1, "ban": [4, 5]})
        for s in draw:  # the model itself has no bans
            self.assertLess(s.log_p_model, s.log_p)
        draw = self.law_of(without(8, 9))(bad_words_ids=[[8], [9]])
        self.assertEqual(draw.settings["processors"], ["NoBadWordsLogitsProcessor"])
        self.law_of(without(*(set(range(VOCAB)) - {2, 6})))(
            prefix_allowed_tokens_fn=lambda input, tokens: [2, 6])
        [draw] = self.generate(bad_words_ids=[[8], [9, 10]], k=50)
        pairs = [pair for t in tokens_of(draw) for pair in zip((PROMPT + list(t))[2:], t)]
        self.assertFalse(any(b == 8 or (a, b) == (9, 10) for a, b in pairs))

    def test_ends(self):
        """One of two end tokens is suppressed: the other one still ends sequences."""
        def change(row):
            row[10] = -math.inf
            return row
        self.law_of(change)(suppress_tokens=[10], eos_token_id=[EOS, 10])
        self.law_of(change)(eos_token_id=[EOS, 10], suppress_tokens=[10], temperature=1.0)

    def test_forced_first_token(self):
        draws = self.generate(model=self.translator, forced_bos_token_id=17)
        self.assertEqual({t[0] for t in tokens_of(draws[0])}, {17})

    def test_prefix_function_gets_the_input(self):
        ids, mask = pad([[5, 9, 33], [4]])
        draws = self.generate(ids, mask, k=12, max_new_tokens=3, prefix_allowed_tokens_fn=lambda
                              input, tokens: [10, 11, 12] if input == 0 else [20, 21])
        for draw, allowed in zip(draws, ({10, 11, 12}, {20, 21})):
            self.assertEqual({t for tokens in tokens_of(draw) for t in tokens}, allowed)

    def test_repetition_penalty(self):
        """A function of the row: applied to logits, as generate does when it samples."""
        def change(row):
            logits = self.model(IDS).logits[0, -1].detach().clone()
            for token in PROMPT:
                logits[token] *= 2.5 if logits[token] < 0 else 1 / 2.5
            return logits
        self.law_of(change)(repetition_penalty=2.5)

    def test_own_processor(self):
        class Shift(transformers.LogitsProcessor):
            def __call__(self, input_ids, scores):
                scores[:, 3] += input_ids[:, -1] % 2  # in place: the model's logits stay
                return scores

        def change(row):
            row[3] += PROMPT[-1] % 2
            return row
        self.law_of(change)(logits_processor=transformers.LogitsProcessorList([Shift()]))

    def test_allow_is_passed_on(self):
        tokenizer = make_tokenizer()
        texts = ["t4 t5", "t4", "t9 t9 t8"]
        [draw] = self.generate(allow=texts, tokenizer=tokenizer, k=5)
        self.assertEqual({s.text for s in draw}, set(texts))
        [ids] = self.generate(allow=[[4, 5], [4], [9, 9, 8]], k=5)
        self.assertEqual(tokens_of(ids), tokens_of(draw))
        with self.assertRaisesRegex(sbeam.ArgumentError, "need a tokenizer"):
            self.generate(allow=texts)
        [one] = self.generate(allow="t4 t5", tokenizer=tokenizer)
        self.assertEqual(tokens_of(one), [(4, 5)])
        with self.assertRaisesRegex(sbeam.ArgumentError, "need a tokenizer"):
            self.generate(allow="t4 t5")
        tokenizer.unk_token = "t3"
        with self.assertRaisesRegex(sbeam.ArgumentError, "'t4 horse', which .* cannot spell"):
            self.generate(allow=["t4", "t4 horse"], tokenizer=tokenizer)

    def test_no_line_holds_an_end_token(self):
        for allow in ([[4, 5], [9]], [[4, EOS], [9]], sbeam.Trie([[4, 5]])):
            with self.assertRaisesRegex(sbeam.InputError, "a line holds the end token, [15];"):
                self.generate(allow=allow, eos_token_id=[EOS, 5])


if __name__ == "__main__":
    unittest.main()
