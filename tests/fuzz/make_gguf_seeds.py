#!/usr/bin/env python3
"""Makes the seeds of fuzz_gguf: make_gguf_seeds.py tests/fuzz/corpus/gguf

The seeds are whole models of less than 4096 bytes, the fuzzers' limit, with the smallest vocabulary that llama.cpp
accepts.
"""
import os
import sys
from argparse import Namespace

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', '..', 'bench')]
import random_gguf as gguf  # noqa: E402

TOKENS = ['<unk>', '<s>', '</s>', '<0x0A>', '\u2581', 'a', 'b', 'ab']
TYPES = [gguf.UNKNOWN, gguf.CONTROL, gguf.CONTROL, gguf.BYTE] + [gguf.NORMAL] * 4
SHAPE = Namespace(vocab=len(TOKENS), width=8, hidden=4, layers=1, heads=2, context=16, seed=1)


def words(kind):
    """Returns the entries of the vocabulary, of SentencePiece's kind (llama) or byte pairs (gpt2)."""
    entries = [
        gguf.entry('tokenizer.ggml.model', gguf.STRING, kind),
        gguf.entry('tokenizer.ggml.tokens', gguf.ARRAY, (gguf.STRING, TOKENS)),
        gguf.entry('tokenizer.ggml.token_type', gguf.ARRAY, (gguf.INT32, TYPES)),
        gguf.entry('tokenizer.ggml.bos_token_id', gguf.UINT32, gguf.BOS),
        gguf.entry('tokenizer.ggml.eos_token_id', gguf.UINT32, gguf.EOS),
    ]
    if kind == 'llama':
        return entries + [gguf.entry('tokenizer.ggml.scores', gguf.ARRAY,
                                     (gguf.FLOAT32, [-float(i) for i in range(len(TOKENS))]))]
    return entries + [gguf.entry('tokenizer.ggml.merges', gguf.ARRAY, (gguf.STRING, ['a b'])),
                      gguf.entry('tokenizer.ggml.pre', gguf.STRING, 'default')]


def main(folder):
    for kind in 'llama', 'gpt2':
        shape = [entry for entry in gguf.make_metadata(Namespace(**{**vars(SHAPE), 'vocab': 259}))
                 if b'tokenizer.ggml' not in entry]
        path = os.path.join(folder, kind)
        gguf.write(path, shape + words(kind), list(gguf.make_weights(SHAPE)))
        if os.path.getsize(path) > 4096:
            sys.exit(f'{path} has {os.path.getsize(path)} bytes, expected at most 4096')


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('usage: make_gguf_seeds.py FOLDER')
    main(sys.argv[1])
