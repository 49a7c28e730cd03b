#!/usr/bin/env bash
# quickstart.sh [FMHA_BWD OPTIONS]: installs what is missing, builds the program, and runs it. Its exit code is the
# program's, and stdout has the program's report alone.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
program=$root/build/release/fmha_bwd

(
  cd -- "$root"
  profiles=(run)
  if command -v nvcc >/dev/null || [[ -x ${CUDA_HOME:-/usr/local/cuda}/bin/nvcc ]]; then profiles+=(nvidia); fi
  echo "[1/4] Packages"
  scripts/setup.sh "${profiles[@]}"

  echo "[2/4] Configuration"
  tests=()
  if [[ ! -f build/release/CMakeCache.txt ]]; then tests=(-DFMHA_BWD_TESTS=OFF); fi
  cmake --preset release "${tests[@]}" | sed -n 's/^-- Platform/      Platform/p'

  echo "[3/4] Build"
  cmake --build --preset release --target fmha_bwd --parallel "$(nproc)"

  echo "[4/4] $program $*"
) >&2
exec "$program" "$@"
