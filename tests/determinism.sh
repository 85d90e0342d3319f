#!/usr/bin/env bash
# The same scenario and seed, from two builds of different optimisation, twice each: byte-identical
# results, and a replay that gives the same commands. Usage: determinism.sh RELEASE DEBUG
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for scenario in scenarios/quickstart.yaml scenarios/paper/ds660b.yaml scenarios/paper/qwen32b.yaml; do
    i=0
    for binary in "$1" "$1" "$2"; do
        i=$((i + 1))
        "$binary" run "$scenario" --set workload.agents=24 --set workload.max_len=32K --quiet --out "$work/$i"
        for file in summary.json requests.csv resources.csv events.log; do
            cmp "$work/1/$file" "$work/$i/$file"
        done
    done
    "$1" replay "$work/3" --quiet
    "$2" replay "$work/1" --quiet
    echo "determinism: $scenario: identical, events_hash $(grep -o '"events_hash": "[0-9a-f]*"' "$work/1/summary.json")"
done
