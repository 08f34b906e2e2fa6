#!/usr/bin/env python3
"""Train the English-French model on the CPU, with checkpoints from which it goes on.

    spm_train --input=DATA/train.en,DATA/train.fr --model_prefix=enfr --vocab_size=6000 \\
              --character_coverage=0.9999 --pad_id=0 --bos_id=1 --eos_id=2 --unk_id=3
    train.py --data DATA --pieces enfr.model --out run --epochs 6

Run it again after an interruption: it goes on from run/checkpoint.pt. A later run starts from the weights
of an earlier one with --init. The learning rate rises over --warmup steps and follows a half cosine to 0
over all epochs. run/curve.csv is the learning curve. With two threads use the OpenMP build of OpenBLAS
(libopenblas0-openmp): the other one fights torch's threads.
"""
import argparse
import csv
import math
import os
import random
import time

import sentencepiece
import torch
from torch import nn
from torch.nn import functional as F

import corpus
from fconv import PAD, FConv


def loss(model, pairs, batch, smoothing):
    """Summed cross entropy in nats, number of target tokens."""
    source, previous, target = corpus.tensors(pairs, batch)
    logits = model.decode(previous, model.encode(source))
    total = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD,
                            label_smoothing=smoothing, reduction='sum')
    return total, int((target != PAD).sum())


@torch.no_grad()
def evaluate(model, pairs):
    """Nats per target token, without smoothing."""
    model.eval()
    sums = [loss(model, pairs, batch, 0.0) for batch in corpus.batches(pairs, 6000, random.Random(0))]
    model.train()
    return sum(total.item() for total, _ in sums) / sum(n for _, n in sums)


def save(path, **state):
    """Whole or not at all."""
    torch.save(state, path + '.new')
    os.replace(path + '.new', path)


class Curve:
    """Appends rows to a CSV file, which a plot reads."""
    COLUMNS = 'step', 'epoch', 'minutes', 'train_loss', 'dev_nll', 'dev_perplexity'

    def __init__(self, path):
        is_new = not os.path.exists(path)
        self.file = open(path, 'a', newline='', encoding='ascii')
        self.writer = csv.DictWriter(self.file, self.COLUMNS, lineterminator='\n')
        if is_new:
            self.writer.writeheader()

    def add(self, **row):
        self.writer.writerow(row)
        self.file.flush()
        print('  '.join(f'{name} {value}' for name, value in row.items()), flush=True)


def train(args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    os.makedirs(args.out, exist_ok=True)
    checkpoint_path = os.path.join(args.out, 'checkpoint.pt')
    pieces = sentencepiece.SentencePieceProcessor()
    pieces.Load(args.pieces)
    pairs, dev = corpus.load(pieces, args.data + '/train'), corpus.load(pieces, args.data + '/dev')

    model = FConv(pieces.GetPieceSize(), dropout=args.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.rate, betas=(0.9, 0.98))
    step, seconds = 0, 0.0
    if os.path.exists(checkpoint_path):
        state = torch.load(checkpoint_path)
        model.load_state_dict(state['model'])
        optimizer.load_state_dict(state['optimizer'])
        step, seconds = state['step'], state['seconds']
        print(f'going on from step {step}', flush=True)
    elif args.init:
        model.load_state_dict(torch.load(args.init)['model'])
    curve = Curve(os.path.join(args.out, 'curve.csv'))

    # An epoch's batches are a function of its number alone, so that a restart finds its place.
    def epoch_batches(number):
        return corpus.batches(pairs, args.batch, random.Random(args.seed * 1000 + number))
    per_epoch = len(epoch_batches(0))
    n_steps = args.epochs * per_epoch
    epoch, queue = -1, []
    start, recent, recent_tokens = time.time() - seconds, 0.0, 0
    model.train()
    while step < n_steps:
        if step // per_epoch != epoch:
            epoch = step // per_epoch
            queue = (epoch_batches(epoch) * 2)[:per_epoch]  # epochs differ by a few batches
        batch = queue[step % per_epoch]
        step += 1
        rate = args.rate * min(1, step / args.warmup) * 0.5 * (1 + math.cos(math.pi * step / n_steps))
        for group in optimizer.param_groups:
            group['lr'] = rate
        total, n = loss(model, pairs, batch, args.smoothing)
        optimizer.zero_grad()
        (total / n).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recent, recent_tokens = recent + total.item(), recent_tokens + n
        if step % 100 == 0 or step == n_steps:
            curve.add(step=step, epoch=round(step / per_epoch, 3), minutes=round((time.time() - start) / 60, 2),
                      train_loss=round(recent / recent_tokens, 4))
            recent, recent_tokens = 0.0, 0
        if step % args.save_every == 0 or step == n_steps:
            nll = evaluate(model, dev)
            curve.add(step=step, epoch=round(step / per_epoch, 3), minutes=round((time.time() - start) / 60, 2),
                      dev_nll=round(nll, 4), dev_perplexity=round(math.exp(nll), 3))
            save(checkpoint_path, model=model.state_dict(), optimizer=optimizer.state_dict(), sizes=model.sizes,
                 step=step, seconds=time.time() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--data', required=True, help='folder of {train,dev}.{en,fr}')
    parser.add_argument('--pieces', required=True, help='SentencePiece model')
    parser.add_argument('--out', required=True, help='folder of the checkpoint and the curve')
    parser.add_argument('--init', help='checkpoint to take the first weights from')
    parser.add_argument('--epochs', type=int, default=6, help='default %(default)s')
    parser.add_argument('--rate', type=float, default=1e-3, help='highest learning rate (default %(default)s)')
    parser.add_argument('--warmup', type=int, default=400, help='steps (default %(default)s)')
    parser.add_argument('--dropout', type=float, default=0.1)
    parser.add_argument('--smoothing', type=float, default=0.1)
    parser.add_argument('--batch', type=int, default=2500, help='tokens, padding included (default %(default)s)')
    parser.add_argument('--save-every', type=int, default=300, help='steps (default %(default)s)')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--seed', type=int, default=1)
    train(parser.parse_args())


if __name__ == '__main__':
    main()
