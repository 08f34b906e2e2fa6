#!/bin/bash
# Runs run.py, which says what it computes; ../lib/options.py describes the options.
exec python3 "${0%.sh}.py" "$@"
