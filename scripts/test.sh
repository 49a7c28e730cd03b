#!/usr/bin/env bash
# test.sh [--preset release|debug|asan|tsan]: installs what is missing, builds the tests and runs them. The presets but
# release build for the emulator alone.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

preset=release
if [[ $# == 2 && $1 == --preset && $2 =~ ^(release|debug|asan|tsan)$ ]]; then
  preset=$2
elif (($# != 0)); then
  sed -n '2,/^set/ s/^# \?//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi

scripts/setup.sh test
cmake --preset "$preset" --log-level=WARNING -DFMHA_BWD_TESTS=ON
cmake --build --preset "$preset" --parallel "$(nproc)"
ctest --preset "$preset" --parallel "$(nproc)" --no-tests=error
