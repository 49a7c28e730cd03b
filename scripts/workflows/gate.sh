#!/usr/bin/env bash
# gate.sh BENCH OPTIONS...: one step of a CI job that fails where something got slower. Runs `fmha_bwd bench` with the
# options, of which --baseline FILE or --ab OTHER_BINARY is one, and keeps its files in $GATE_RESULTS (gate): results,
# JUnit XML, and a Markdown summary, which also goes to the page of a GitHub job.
#
# Exit codes: bench's, but 0 for an unclear measurement (5), of which it warns: noise is no reason to stop a merge, and
# a job that fails of it is soon ignored. A case that the baseline has and this run lacks still fails. FMHA_BWD names the program, build/release/fmha_bwd unless set.
set -euo pipefail

program=${FMHA_BWD:-build/release/fmha_bwd}
results=${GATE_RESULTS:-gate}
mkdir -p -- "$results"
rm -f -- "$results"/{results.json,junit.xml,summary.md}

code=0
"$program" bench "$@" --output "$results/results.json" --junit "$results/junit.xml" \
  --markdown "$results/summary.md" || code=$?
if [[ -n ${GITHUB_STEP_SUMMARY:-} && -f $results/summary.md ]]; then
  cat -- "$results/summary.md" >>"$GITHUB_STEP_SUMMARY"
fi

case $code in
  0) ;;
  4) echo "::error title=fmha_bwd::Slower: see the summary" ;;
  5)
    if grep -q 'type="missing"' -- "$results/junit.xml"; then
      echo "::error title=fmha_bwd::A case of the baseline was not measured: see the summary"
      exit 5
    fi
    echo "::warning title=fmha_bwd::Unclear: the machine is too noisy to tell"
    code=0
    ;;
  *) echo "::error title=fmha_bwd::bench ended with exit code $code" ;;
esac
exit "$code"
