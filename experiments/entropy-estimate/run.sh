#!/bin/bash
# Computes Figure 4 of the paper: estimates of the entropy of the translations of three sentences.
# experiments/units.sh describes the options.
f=entropy
. "$(dirname "$0")/../estimate_draws.sh"
