#!/usr/bin/env python3
"""Write a GGUF language model with random weights, to measure decoding with.

    random_gguf.py OUT.gguf

The architecture is that of LLaMA; 58 million parameters in half precision unless told otherwise. Speed does not
depend on what a model has learned, but search does depend a little on how peaked its rows are: the output layer is
scaled so that logits have a standard deviation of about 3, as in `sbeam bench search`. The vocabulary is <unk>, <s>,
</s>, the 256 bytes, and words w259, w260, ... Needs numpy.
"""
import argparse
import math
import os
import struct

import numpy as np

ALIGNMENT = 32
VERSION = 3
# Types of metadata and of tensors, as the format numbers them.
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9
TENSOR_F32, TENSOR_F16 = 0, 1
MOSTLY_F16 = 1
UNKNOWN, CONTROL, NORMAL, BYTE = 2, 3, 1, 6
UNK, BOS, EOS = 0, 1, 2


def text(value):
    data = value.encode('utf-8')
    return struct.pack('<Q', len(data)) + data


def entry(key, kind, value):
    """One entry of the metadata; an array is a pair of its elements' type and a list."""
    pack = {UINT32: lambda v: struct.pack('<I', v), INT32: lambda v: struct.pack('<i', v),
            FLOAT32: lambda v: struct.pack('<f', v), STRING: text}
    if kind != ARRAY:
        return text(key) + struct.pack('<I', kind) + pack[kind](value)
    element, values = value
    return (text(key) + struct.pack('<IIQ', ARRAY, element, len(values)) +
            b''.join(pack[element](v) for v in values))


def make_metadata(options):
    tokens = ['<unk>', '<s>', '</s>'] + [f'<0x{i:02X}>' for i in range(256)]
    types = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256
    tokens += [f'\u2581w{i}' for i in range(len(tokens), options.vocab)]
    types += [NORMAL] * (options.vocab - len(types))
    return [
        entry('general.architecture', STRING, 'llama'),
        entry('general.name', STRING, 'random weights'),
        entry('general.file_type', UINT32, MOSTLY_F16),
        entry('llama.context_length', UINT32, options.context),
        entry('llama.embedding_length', UINT32, options.width),
        entry('llama.block_count', UINT32, options.layers),
        entry('llama.feed_forward_length', UINT32, options.hidden),
        entry('llama.rope.dimension_count', UINT32, options.width // options.heads),
        entry('llama.attention.head_count', UINT32, options.heads),
        entry('llama.attention.head_count_kv', UINT32, options.heads),
        entry('llama.attention.layer_norm_rms_epsilon', FLOAT32, 1e-5),
        entry('tokenizer.ggml.model', STRING, 'llama'),
        entry('tokenizer.ggml.tokens', ARRAY, (STRING, tokens)),
        entry('tokenizer.ggml.scores', ARRAY, (FLOAT32, [-float(i) for i in range(options.vocab)])),
        entry('tokenizer.ggml.token_type', ARRAY, (INT32, types)),
        entry('tokenizer.ggml.bos_token_id', UINT32, BOS),
        entry('tokenizer.ggml.eos_token_id', UINT32, EOS),
        entry('tokenizer.ggml.unknown_token_id', UINT32, UNK),
    ]


def make_weights(options):
    """(name, array) with rows of outputs, so that the innermost axis is the inputs', as GGUF wants it."""
    noise = np.random.default_rng(options.seed)
    width, hidden = options.width, options.hidden

    def matrix(n_out, n_in, std):
        return (std * noise.standard_normal((n_out, n_in), np.float32)).astype(np.float16)

    def norm():
        return np.ones(width, np.float32)

    yield 'token_embd.weight', matrix(options.vocab, width, 1.0)
    for i in range(options.layers):
        yield f'blk.{i}.attn_norm.weight', norm()
        for name in 'attn_q', 'attn_k', 'attn_v', 'attn_output':
            yield f'blk.{i}.{name}.weight', matrix(width, width, 1 / math.sqrt(width))
        yield f'blk.{i}.ffn_norm.weight', norm()
        for name in 'ffn_gate', 'ffn_up':
            yield f'blk.{i}.{name}.weight', matrix(hidden, width, 1 / math.sqrt(width))
        yield f'blk.{i}.ffn_down.weight', matrix(width, hidden, 1 / math.sqrt(hidden))
    yield 'output_norm.weight', norm()
    yield 'output.weight', matrix(options.vocab, width, 3 / math.sqrt(width))


def write(path, metadata, weights):
    """Whole or not at all."""
    infos, offset = b'', 0
    for name, array in weights:
        kind = TENSOR_F16 if array.dtype == np.float16 else TENSOR_F32
        infos += text(name) + struct.pack('<I', array.ndim)
        infos += struct.pack(f'<{array.ndim}Q', *reversed(array.shape)) + struct.pack('<IQ', kind, offset)
        offset += array.nbytes + -array.nbytes % ALIGNMENT
    head = b'GGUF' + struct.pack('<IQQ', VERSION, len(weights), len(metadata)) + b''.join(metadata) + infos
    part = path + '.new'
    with open(part, 'wb') as file:
        file.write(head + bytes(-len(head) % ALIGNMENT))
        for _, array in weights:
            file.write(array.tobytes() + bytes(-array.nbytes % ALIGNMENT))
    os.replace(part, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('out')
    parser.add_argument('--vocab', type=int, default=32000)
    parser.add_argument('--width', type=int, default=512)
    parser.add_argument('--hidden', type=int, default=1376)
    parser.add_argument('--layers', type=int, default=8)
    parser.add_argument('--heads', type=int, default=8)
    parser.add_argument('--context', type=int, default=2048)
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    if options.vocab < 259:
        parser.error('--vocab: 259 tokens are not words, so expected at least so many')
    if options.width % options.heads != 0:
        parser.error('--width must be a multiple of --heads')
    weights = list(make_weights(options))
    write(options.out, make_metadata(options), weights)
    print(f'{options.out}: {sum(array.size for _, array in weights):,} parameters')


if __name__ == '__main__':
    main()
