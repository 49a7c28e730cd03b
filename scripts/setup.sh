#!/usr/bin/env bash
# setup.sh PROFILE...: installs with apt what is missing for
#   run     building and running on the emulator
#   test    the tests
#   amd     compiling for AMD GPUs
#   nvidia  compiling for NVIDIA GPUs, beside the CUDA toolkit, which it only looks for
#   format  checking the sources' formatting
#   fuzz    the fuzzers, which clang's libraries run
#   browser the test that opens a report's page, which is skipped without; nothing where apt has no Chromium
#   tools   the tests that run other tools on our files, which are skipped without: compare.py, shellcheck, YAML
# Without root it uses sudo where that asks for no password, and says what to install where it does.
set -euo pipefail

installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }
available() { [[ $(LC_ALL=C apt-cache policy "$1" 2>/dev/null) == *"Candidate: "[^\(]* ]]; }

# The newest clang that apt has and that is known to compile for AMD; 22 knows gfx950, 19 does not.
amd_clang_packages() {
  local version=19
  if available clang-22; then version=22; fi
  echo "clang-$version lld-$version clang-tools-$version llvm-$version"
}

# The sanitizers and libFuzzer of the clang that the package clang brings.
clang_runtime_package() {
  LC_ALL=C apt-cache depends clang 2>/dev/null | sed -n 's/^ *Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p'
}

# A headless Chromium. Nothing where one is here, or where apt has none: Ubuntu's is a snap.
browser_package() {
  local name
  for name in chromium-headless-shell chromium google-chrome; do
    if command -v "$name" >/dev/null && "$name" --version >/dev/null 2>&1; then return; fi
  done
  for name in chromium-headless-shell chromium; do
    if available "$name"; then
      echo "$name"
      return
    fi
  done
  if compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null; then
    echo "apt has no Chromium here; the test of the report's page will be skipped" >&2
  else
    echo chromium-headless-shell  # apt-get update will tell
  fi
}

# The packages of a profile. Of package=command, any source of the command will do.
packages_of() {
  local build="g++=g++ cmake=cmake ninja-build=ninja libbenchmark-dev libcli11-dev libfmt-dev libhwy-dev nlohmann-json3-dev"
  case $1 in
    run) echo "$build" ;;
    test) echo "$build libgtest-dev libgmock-dev" ;;
    nvidia) echo "$build libhiprand-dev python3=python3" ;;  # python3 reads the code objects, for fmha_bwd arch
    amd)
      echo "$build python3=python3"
      if [[ -x ${ROCM_PATH:-/opt/rocm}/bin/hipcc ]]; then return; fi
      echo libamdhip64-dev rocm-device-libs libhiprand-dev librocrand-dev "$(amd_clang_packages)"
      ;;
    format) echo clang-format-14=clang-format-14 ;;
    browser) browser_package ;;
    tools) echo libbenchmark-tools python3-numpy python3-scipy python3-yaml shellcheck=shellcheck ;;
    fuzz) echo "$build libgtest-dev libgmock-dev clang $(clang_runtime_package)" ;;
  esac
}

# The packages of the profiles that are not there, on one line.
missing_packages() {
  local profile entry
  for profile in "$@"; do
    for entry in $(packages_of "$profile"); do
      if [[ $entry == *=* ]]; then
        command -v "${entry#*=}" >/dev/null || echo "${entry%=*}"
      else
        installed "$entry" || echo "$entry"
      fi
    done
  done | sort -u | paste -sd ' '
}

# Runs a command; shows what it said only if it fails.
quietly() {
  local output
  if ! output=$("$@" 2>&1); then
    echo "$output" >&2
    return 1
  fi
}

fail() {
  echo "$@" >&2
  exit 1
}

for profile in "${@:---help}"; do
  if [[ ! $profile =~ ^(run|test|amd|nvidia|format|fuzz|browser|tools)$ ]]; then
    sed -n '2,/^set/ s/^# \?//p' "${BASH_SOURCE[0]}" >&2
    exit 2
  fi
  if [[ $profile == nvidia ]] && ! command -v nvcc >/dev/null && [[ ! -x ${CUDA_HOME:-/usr/local/cuda}/bin/nvcc ]]; then
    fail "No nvcc: install the CUDA toolkit, 12.1 or later, from developer.nvidia.com/cuda-downloads"
  fi
done

missing=$(missing_packages "$@")
if [[ -z $missing ]]; then exit 0; fi
if ! command -v apt-get >/dev/null; then
  echo "Neither Debian nor Ubuntu, so nothing is installed. Needed is what these packages bring: $missing" >&2
  exit 0
fi

as_root=(env DEBIAN_FRONTEND=noninteractive)
if ((EUID != 0)); then
  if ! sudo -n true 2>/dev/null; then
    fail "Packages are missing that only root can install:
  sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing"
  fi
  as_root=(sudo -n "${as_root[@]}")
fi
"${as_root[@]}" apt-get update >/dev/null 2>&1 || quietly "${as_root[@]}" apt-get update ||
  echo "apt-get update failed twice; the package lists that are here have to do" >&2

read -ra packages <<<"$(missing_packages "$@")"  # again: the lists may name a newer compiler now
if ((${#packages[@]} == 0)); then exit 0; fi
for package in "${packages[@]}"; do
  available "$package" || fail "Needed: ${packages[*]}; but the package lists of this system have no $package"
done
echo "Installing ${packages[*]}" >&2
quietly "${as_root[@]}" apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 "${packages[@]}"
