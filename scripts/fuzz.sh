#!/usr/bin/env bash
# fuzz.sh [SECONDS]: looks for inputs that break the readers of .npy files, of case files and of the command line, each
# for SECONDS (60). It starts from tests/fuzz/corpus and keeps what it learns in build/fuzz/corpus; an input that breaks
# something is left in build/fuzz, and belongs into tests/fuzz/corpus once that is mended.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
if (($# > 1)) || [[ ! $seconds =~ ^[1-9][0-9]*$ ]]; then
  sed -n '2,/^set/ s/^# \?//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi

scripts/setup.sh fuzz
cmake --preset fuzz --log-level=WARNING
fuzzers=(npy case_file command_line)
cmake --build --preset fuzz --parallel "$(nproc)" --target "${fuzzers[@]/%/_fuzzer}"

status=0
for name in "${fuzzers[@]}"; do
  echo "== $name"
  mkdir -p "build/fuzz/corpus/$name"
  options=(-max_total_time="$seconds" -timeout=10 -print_final_stats=1 -verbosity=0)
  options+=(-artifact_prefix="build/fuzz/$name-")
  if [[ -f tests/fuzz/$name.dict ]]; then options+=(-dict="tests/fuzz/$name.dict"); fi
  "build/fuzz/${name}_fuzzer" "${options[@]}" "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" || status=1
done
exit "$status"
