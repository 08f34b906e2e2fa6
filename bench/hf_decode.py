#!/usr/bin/env python3
"""Measures sbeam.hf against beam search of Transformers: hf_decode.py [--model NAME] [-k 16] [--steps 40] [--repeats 3]

Both decode one prompt with the same model of random weights, the same number of sequences and of steps; no sequence ends
before. The runs take turns. Prints one JSON line per model: the tokens per second of the fastest run of each, their ratio,
and the time of a step of sbeam.hf: of the model (with the reordering of its cache) and of the search (the decoder and the
loop around it). Needs torch, transformers and numpy.
"""
import argparse
import json
import os
import sys
import time

import torch
import transformers

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
import sbeam.hf  # noqa: E402
from sbeam.hf import _stepping  # noqa: E402

PROMPT = 24  # tokens


def llama():
    """50 million parameters."""
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=32000, hidden_size=512, intermediate_size=1408, num_hidden_layers=6, num_attention_heads=8,
        num_key_value_heads=8, max_position_embeddings=1024, eos_token_id=2, bos_token_id=1, pad_token_id=0))


def marian():
    """The shape of OPUS-MT's models."""
    return transformers.MarianMTModel(transformers.MarianConfig(
        vocab_size=58101, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, max_position_embeddings=512,
        pad_token_id=58100, eos_token_id=0, decoder_start_token_id=58100, forced_eos_token_id=None))


MODELS = {'llama': llama, 'marian': marian}


class Stopwatch:
    """Adds up the time of a method of a class."""

    def __init__(self, kind, name):
        self.kind, self.name, self.method, self.seconds, self.calls = kind, name, getattr(kind, name), 0.0, 0

    def __enter__(self):
        def timed(*arguments):
            begin = time.perf_counter()
            try:
                return self.method(*arguments)
            finally:
                self.seconds += time.perf_counter() - begin
                self.calls += 1
        setattr(self.kind, self.name, timed)
        return self

    def __exit__(self, *_):
        setattr(self.kind, self.name, self.method)


def run_sbeam(model, ids, k, steps):
    """Returns the seconds of a draw, and of its model's steps, and the number of these."""
    with Stopwatch(_stepping.Stepper, 'step') as stepping, Stopwatch(_stepping.Stepper, 'prefill') as prefill:
        begin = time.perf_counter()
        [draw] = sbeam.hf.generate(model, ids, k=k, seed=1, max_new_tokens=steps, min_new_tokens=steps)
        total = time.perf_counter() - begin
    assert all(len(s.tokens) == steps for s in draw) and len(draw) == k
    return total, total - prefill.seconds, stepping.seconds, stepping.calls


def run_beam(model, ids, k, steps):
    """Returns the seconds of beam search."""
    begin = time.perf_counter()
    found = model.generate(ids, num_beams=k, num_return_sequences=k, do_sample=False, length_penalty=0.0,
                           early_stopping='never', max_new_tokens=steps, min_new_tokens=steps)
    total = time.perf_counter() - begin
    assert len(found) == k
    return total


def measure(name, k, steps, repeats):
    torch.manual_seed(1)
    model = MODELS[name]().eval()
    ids = torch.randint(3, 30000, (1, PROMPT))
    run_sbeam(model, ids, k, 4)
    run_beam(model, ids, k, 4)
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(run_sbeam(model, ids, k, steps))
        theirs.append(run_beam(model, ids, k, steps))
    total, decoding, stepping, calls = min(ours)
    tokens = k * steps
    return {'model': name, 'parameters': sum(p.numel() for p in model.parameters()), 'k': k, 'steps': steps,
            'threads': torch.get_num_threads(), 'sbeam_tokens_per_second': round(tokens / total, 1),
            'beam_tokens_per_second': round(tokens / min(theirs), 1), 'ratio': round(min(theirs) / total, 3),
            'step_ms': round(1000 * decoding / calls, 3), 'model_ms': round(1000 * stepping / calls, 3),
            'search_share': round(1 - stepping / decoding, 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--model', choices=MODELS, action='append')
    parser.add_argument('-k', type=int, default=16)
    parser.add_argument('--steps', type=int, default=40)
    parser.add_argument('--repeats', type=int, default=3)
    parser.add_argument('--threads', type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    transformers.logging.set_verbosity_error()
    for name in options.model or MODELS:
        print(json.dumps(measure(name, options.k, options.steps, options.repeats)), flush=True)


if __name__ == '__main__':
    main()
