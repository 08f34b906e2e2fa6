#!/bin/bash
# Computes Figure 3 of the paper: estimates of the expected sentence BLEU of three sentences.
# experiments/units.sh describes the options.
f=bleu
. "$(dirname "$0")/../estimate_draws.sh"
