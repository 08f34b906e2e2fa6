#!/usr/bin/env python3
"""Train the English-French model on the CPU, with checkpoints from which it continues.

    spm_train --input=DATA/train.en,DATA/train.fr --model_prefix=enfr --vocab_size=4800 \\
              --character_coverage=1.0 --split_digits=true --pad_id=0 --bos_id=1 --eos_id=2 --unk_id=3
    train.py --data DATA --pieces enfr.model --out run --epochs 40

After an interruption run the same command again: it continues from run/checkpoint.pt. A later run starts
from the weights of an earlier one with --init. The learning rate rises over --warmup steps, then falls
with the root of the step (--decay root) or as a half cosine to 0 over all epochs (--decay cosine).
A running average of the weights is kept; it is what the development set judges and what is exported.
run/curve.csv is the learning curve.
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
from transformer import Transformer

NETWORKS = {'fconv': FConv, 'transformer': Transformer}


def loss(model, pairs, batch, smoothing, bfloat16=False):
    """Summed cross entropy in nats, number of target tokens."""
    source, previous, target = corpus.tensors(pairs, batch)
    with torch.autocast('cpu', torch.bfloat16, enabled=bfloat16 and model.training):
        logits = model.decode(previous, model.encode(source))
    total = F.cross_entropy(logits.flatten(0, 1).float(), target.flatten(), ignore_index=PAD,
                            label_smoothing=smoothing, reduction='sum')
    return total, int((target != PAD).sum())


@torch.no_grad()
def evaluate(model, pairs):
    """Nats per target token, without smoothing."""
    model.eval()
    sums = [loss(model, pairs, batch, 0.0) for batch in corpus.batches(pairs, 6000, random.Random(0))]
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


def learning_rate(args, step, n_steps):
    rise = min(1, step / args.warmup)
    if args.decay == 'root':
        return args.rate * min(rise, (args.warmup / step) ** 0.5)
    return args.rate * rise * 0.5 * (1 + math.cos(math.pi * step / n_steps))


def train(args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    os.makedirs(args.out, exist_ok=True)
    checkpoint_path = os.path.join(args.out, 'checkpoint.pt')
    pieces = sentencepiece.SentencePieceProcessor()
    pieces.Load(args.pieces)
    lines = [pair for prefix in args.train for pair in corpus.read(os.path.join(args.data, prefix))]
    dev = corpus.encode(pieces, corpus.read(args.data + '/dev'))

    sizes = {name: int(value) for name, _, value in (size.partition('=') for size in args.size)}
    model, average = (NETWORKS[args.network](pieces.GetPieceSize(), dropout=args.dropout, **sizes)
                      for _ in range(2))
    average.load_state_dict(model.state_dict())
    optimizer = torch.optim.Adam(model.parameters(), lr=args.rate, betas=(0.9, 0.98))
    step, epoch, place, seconds = 0, 0, 0, 0.0
    if os.path.exists(checkpoint_path):
        state = torch.load(checkpoint_path)
        model.load_state_dict(state['model'])
        average.load_state_dict(state['average'])
        optimizer.load_state_dict(state['optimizer'])
        step, epoch, place, seconds = (state[name] for name in ('step', 'epoch', 'place', 'seconds'))
        print(f'continuing from step {step}', flush=True)
    elif args.init:
        model.load_state_dict(torch.load(args.init)['average'])
        average.load_state_dict(model.state_dict())
    curve = Curve(os.path.join(args.out, 'curve.csv'))
    start, recent, recent_tokens = time.time() - seconds, 0.0, 0

    def add(**row):
        curve.add(step=step, epoch=round(epoch + place / len(queue), 3),
                  minutes=round((time.time() - start) / 60, 2), **row)

    for epoch in range(epoch, args.epochs):
        # An epoch's batches depend on its number and the seed only, so that a restart finds its place.
        random.seed(args.seed * 1000 + epoch)
        sentencepiece.set_random_generator_seed(args.seed * 1000 + epoch)
        pairs = corpus.encode(pieces, lines, args.sampling)
        queue = corpus.batches(pairs, args.batch, random)
        n_steps = args.epochs * len(queue)
        while place < len(queue):
            model.train()
            total, n = loss(model, pairs, queue[place], args.smoothing, args.bfloat16)
            step, place = step + 1, place + 1
            for group in optimizer.param_groups:
                group['lr'] = learning_rate(args, step, n_steps)
            optimizer.zero_grad()
            (total / n).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            with torch.no_grad():
                keep = min(args.average, step / (step + 10))
                for mean, value in zip(average.parameters(), model.parameters()):
                    mean.lerp_(value, 1 - keep)
            recent, recent_tokens = recent + total.item(), recent_tokens + n
            is_last = epoch + 1 == args.epochs and place == len(queue)
            if step % 100 == 0 or is_last:
                add(train_loss=round(recent / recent_tokens, 4))
                recent, recent_tokens = 0.0, 0
            if step % args.save_every == 0 or is_last:
                nll = evaluate(average, dev)
                add(dev_nll=round(nll, 4), dev_perplexity=round(math.exp(nll), 3))
                save(checkpoint_path, model=model.state_dict(), average=average.state_dict(),
                     optimizer=optimizer.state_dict(), network=args.network, sizes=model.sizes,
                     step=step, epoch=epoch, place=place, seconds=time.time() - start)
        place = 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--data', required=True, help='folder of {train,dev}.{en,fr}')
    parser.add_argument('--pieces', required=True, help='SentencePiece model')
    parser.add_argument('--train', nargs='+', default=['train'], metavar='PREFIX',
                        help='files of DATA to train on, without .en and .fr (default train)')
    parser.add_argument('--network', choices=sorted(NETWORKS), default='fconv')
    parser.add_argument('--size', nargs='*', default=[], metavar='NAME=N',
                        help='sizes of the network that differ from its defaults, as encoder_layers=6')
    parser.add_argument('--out', required=True, help='folder of the checkpoint and the curve')
    parser.add_argument('--init', help='checkpoint to take the first weights from')
    parser.add_argument('--epochs', type=int, default=40, help='default %(default)s')
    parser.add_argument('--rate', type=float, default=1e-3, help='highest learning rate (default %(default)s)')
    parser.add_argument('--warmup', type=int, default=400, help='steps (default %(default)s)')
    parser.add_argument('--decay', choices=('cosine', 'root'), default='cosine')
    parser.add_argument('--average', type=float, default=0.999, help='share of the old average kept at each step')
    parser.add_argument('--dropout', type=float, default=0.2)
    parser.add_argument('--smoothing', type=float, default=0.1)
    parser.add_argument('--sampling', type=float, default=0.0,
                        help='how even the random splits of sources are (0: none, 0.2 is a good value)')
    parser.add_argument('--bfloat16', action='store_true', help='multiply in 16 bits: faster if the CPU can')
    parser.add_argument('--batch', type=int, default=2500, help='tokens, padding included (default %(default)s)')
    parser.add_argument('--save-every', type=int, default=500, help='steps (default %(default)s)')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--seed', type=int, default=1)
    train(parser.parse_args())


if __name__ == '__main__':
    main()
