#include "src/report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/text_width.h"
#include "tests/src/report/sample_run.h"

namespace fmha_bwd {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TableReport, ShowsTheWholeRun) {
  EXPECT_EQ(table_report(sample_run(), {}), R"(fmha_bwd 1.2.3
  problem       B=1 H=2 Hk=2 Sq=4 Sk=3 D=8 Dv=8  fp16  scale=0.5
  device        nvidia:1  A "fine" GPU, 80 GB (asked for)
  architecture  sm_90
  kernel        simt (the fastest that supports the problem)
  inputs        normal  std=0.1  seed=42  checksum 0123456789abcdef
  verification  full (estimated at 3 s, the limit is 60 s)

Gradients  Δ: the largest difference to no_mask
  mask          density  mean |dQ|  mean |dK|  mean |dV|        ΔdQ        ΔdK        ΔdV
  ───────────────────────────────────────────────────────────────────────────────────────
  no_mask       100.00%  1.000e-03  1.000e-03  1.000e-03          —          —          —
  top_left       75.00%  1.000e-03  1.000e-03  1.000e-03  6.250e-02  6.250e-02  6.250e-02
  bottom_right   50.00%  1.000e-03  1.000e-03  1.000e-03  6.250e-02  6.250e-02  6.250e-02

Verification  against the fp64 reference; the tensors not shown passed
  mask          tensor  verdict   max diff  relative L2  of budget  wrong elements
  ────────────────────────────────────────────────────────────────────────────────
  no_mask       dQ      passed   1.000e-06    5.000e-04        50%         0 of 64
  no_mask       dK      passed   2.000e-06    5.000e-04        50%         0 of 48
  no_mask       dV      passed   3.000e-05    5.000e-04        50%         0 of 48
  top_left      dQ      passed   1.000e-06    5.000e-04        50%         0 of 64
  top_left      dK      passed   2.000e-06    5.000e-04        50%         0 of 48
  top_left      dV      passed   3.000e-05    5.000e-04        50%         0 of 48
  bottom_right  dQ      passed   1.000e-06    5.000e-04        50%         0 of 64
  bottom_right  dK      passed   2.000e-06    5.000e-04        50%         0 of 48
  bottom_right  dV      passed   3.000e-05    5.000e-04        50%         0 of 48

Backward stages  ranges are [least, largest]
  stage                                 no_mask                 top_left             bottom_right
  ───────────────────────────────────────────────────────────────────────────────────────────────
  dot_do_o  D 1x2x4     [-5.000e-01, 1.250e-01]  [-5.000e-01, 1.250e-01]  [-5.000e-01, 1.250e-01]
  dq_dk_dv  dQ          [-2.500e-01, 7.500e-01]  [-2.500e-01, 7.500e-01]  [-2.500e-01, 7.500e-01]
            dK          [-2.500e-01, 7.500e-01]  [-2.500e-01, 7.500e-01]  [-2.500e-01, 7.500e-01]
            dV          [-2.500e-01, 7.500e-01]  [-2.500e-01, 7.500e-01]  [-2.500e-01, 7.500e-01]
            P < 1e-9                      25.0%                    25.0%                    25.0%
            empty rows                   0 of 4                   0 of 4                   1 of 4
            empty keys                   0 of 3                   0 of 3                   0 of 3

L2 norms
  mask              ‖dQ‖₂      ‖dK‖₂      ‖dV‖₂
  ─────────────────────────────────────────────
  no_mask       5.000e-01  5.000e-01  5.000e-01
  top_left      5.000e-01  5.000e-01  5.000e-01
  bottom_right  5.000e-01  5.000e-01  5.000e-01

Performance  milliseconds, the median of 20 passes after 3 for warm-up
  mask          zero dQ  dot_do_o  dq_dk_dv  convert_dq   total        min..max  TFLOPS  dense
  ────────────────────────────────────────────────────────────────────────────────────────────
  no_mask        0.0010    0.0020    12.500      0.0030  12.506  12.250..13.000     1.5      2
  top_left       0.0010    0.0020    12.500      0.0030  12.506  12.250..13.000     1.5      2
  bottom_right   0.0010    0.0020    12.500      0.0030  12.506  12.250..13.000     1.5      2
  TFLOPS counts the visible pairs exactly; dense is the convention that counts all pairs

Masks  a cell is a pair; █ visible, · masked
  no_mask                 top_left                bottom_right
  ───────────────────────────────────────────────────────────────
  █ █ █                   █ · ·                   · · ·
  █ █ █                   █ █ ·                   █ · ·
  █ █ █                   █ █ █                   █ █ ·
  █ █ █                   █ █ █                   █ █ █
  0 rows, 0 keys empty    0 rows, 0 keys empty    1 row, 0 keys empty

Summary
  no_mask       passed  dQ 50%, dK 50%, dV 50% of the error budget  12.506 ms, 1.5 TFLOPS
  top_left      passed  dQ 50%, dK 50%, dV 50% of the error budget  12.506 ms, 1.5 TFLOPS
  bottom_right  passed  dQ 50%, dK 50%, dV 50% of the error budget  12.506 ms, 1.5 TFLOPS
passed: 3 of 3 masks agree with the fp64 reference
)");
}

TEST(TableReport, OfAFailureShowsWhatIsWrongAndHowToReproduceIt) {
  const std::string report = table_report(failed_run(), {});
  EXPECT_THAT(report, HasSubstr(R"(
  top_left      dK      FAILED         nan          nan        nan         2 of 48
)"));
  EXPECT_THAT(report, HasSubstr(R"(Performance  milliseconds, the median of 20 passes after 3 for warm-up
  mask          zero dQ  dot_do_o  dq_dk_dv  convert_dq   total        min..max  TFLOPS  dense
  ────────────────────────────────────────────────────────────────────────────────────────────
  no_mask        0.0010    0.0020    12.500      0.0030  12.506  12.250..13.000     1.5      2
  top_left            —         —         —           —       —               —       —      —
  bottom_right   0.0010    0.0020    12.500      0.0030  12.506  12.250..13.000     1.5      2
  top_left was not timed: it failed verification
  TFLOPS counts the visible pairs exactly; dense is the convention that counts all pairs

)"));
  EXPECT_THAT(report, HasSubstr(R"(Failures
  top_left dK: 2 of 48 elements are wrong; largest difference nan, allowed 1.000e-05
    (b, h, row, column)  device   reference  difference
  ─────────────────────────────────────────────────────
    (0, 1, 2, 7)            nan   1.000e-03         nan
    (0, 0, 1, 0)           -inf  -2.000e-03         inf
  reproduce: fmha_bwd --mask top_left --batch 1 --nhead 2

Summary
  no_mask       passed  dQ 50%, dK 50%, dV 50% of the error budget  12.506 ms, 1.5 TFLOPS
  top_left      FAILED  dK 2 wrong
  bottom_right  passed  dQ 50%, dK 50%, dV 50% of the error budget  12.506 ms, 1.5 TFLOPS
FAILED: 1 of 3 masks with wrong numbers
)"));
}

TEST(TableReport, QuietIsOneLineAMaskAndTheConclusion) {
  EXPECT_EQ(table_report(failed_run(), {.quiet = true}),
            R"(  no_mask       passed  dQ 50%, dK 50%, dV 50% of the error budget  12.506 ms, 1.5 TFLOPS
  top_left      FAILED  dK 2 wrong
  bottom_right  passed  dQ 50%, dK 50%, dV 50% of the error budget  12.506 ms, 1.5 TFLOPS
FAILED: 1 of 3 masks with wrong numbers
)");
}

TEST(TableReport, OfUnverifiedNumbersSaysSo) {
  const std::string report = table_report(unverified_run(), {});
  EXPECT_THAT(report, HasSubstr("Verification  none (--verify none): these numbers are unchecked\n"));
  EXPECT_THAT(report, HasSubstr("P < 1e-9                          —"));
  EXPECT_THAT(report, HasSubstr("  top_left      not verified"));
  EXPECT_THAT(report, HasSubstr("not verified: 3 masks ran unchecked\n"));
  EXPECT_THAT(report, Not(HasSubstr("passed")));
}

TEST(TableReport, OfASampleSaysWhichRowsWereVerifiedAndWhatThatIsWorth) {
  RunResult run = sampled_run();
  std::string report = table_report(run, {});
  EXPECT_THAT(report,
              HasSubstr("\n  verification  sample (full is estimated at 480 s, the limit is 60 s)\n"));
  EXPECT_THAT(report, HasSubstr(R"(
Verification  against the fp64 reference, on a sample of rows; the tensors not shown passed
  mask          tensor  verdict   max diff  relative L2  of budget  wrong elements
  ────────────────────────────────────────────────────────────────────────────────
  top_left      dQ      passed   1.000e-06    5.000e-04        50%         0 of 32
  top_left      dK      passed   2.000e-06    5.000e-04        50%         0 of 24
  top_left      dV      passed   3.000e-05    5.000e-04        50%         0 of 24
  bottom_right  dQ      passed   1.000e-06    5.000e-04        50%         0 of 32
  bottom_right  dK      passed   2.000e-06    5.000e-04        50%         0 of 24
  bottom_right  dV      passed   3.000e-05    5.000e-04        50%         0 of 24

  mask          rows of          sampled        edge      boundary           inner
  ────────────────────────────────────────────────────────────────────────────────
  top_left      queries  16384 of 262144  260 of 260  7936 of 7936  8188 of 253948
  top_left      keys         240 of 9264   33 of 264   200 of 8000       7 of 1000
  bottom_right  queries  16384 of 262144  260 of 260  7936 of 7936  8188 of 253948
  bottom_right  keys         240 of 9264   33 of 264   200 of 8000       7 of 1000
  queries  a fault in one tile-boundary row is seen for certain
           a fault in 0.1% of the rows is missed with chance at most 1.3e-03
  keys     a fault in one tile-boundary row is missed with chance at most 9.8e-01
           a fault in 0.1% of the rows is missed with chance at most 1.2e-01

Backward stages  ranges are [least, largest]; P < 1e-9 is of the sampled rows
)"));
  EXPECT_THAT(report,
              HasSubstr("\npassed: 2 of 2 masks agree with the fp64 reference on a sample of rows\n"));
  run.masks.front().sampled->bias = SampledSide{{{"edge", 5, 5}, {"boundary", 0, 0}, {"inner", 0, 0}}, 0, 0};
  report = table_report(run, {});
  EXPECT_THAT(report, HasSubstr("top_left      bias              5 of 5"));
  EXPECT_THAT(report, HasSubstr("  bias     a fault in one tile-boundary row is seen for certain\n"
                                "           a fault in 0.1% of the rows is seen for certain\n"));
}

TEST(TableReport, RoundsChancesUp) {
  const auto shown = [](double chance) {
    RunResult run = sampled_run();
    for (MaskResult& mask : run.masks) mask.sampled->queries.share_missed = chance;
    const std::string report = table_report(run, {});
    const std::string before = "0.1% of the rows is missed with chance at most ";
    return report.substr(report.find(before) + before.size(), 7);
  };
  EXPECT_EQ(shown(0.0012), "1.2e-03");
  EXPECT_EQ(shown(0.00120001), "1.3e-03");
  EXPECT_EQ(shown(0.00129), "1.3e-03");
  EXPECT_EQ(shown(0.00991), "1.0e-02");
  EXPECT_EQ(shown(0.99), "9.9e-01");
  EXPECT_EQ(shown(1.0), "1.0e+00");
  EXPECT_EQ(shown(3.01e-300).substr(0, 6), "3.1e-3");
}

TEST(TableReport, ShowsTheDevicesReferenceAfterTheExactOne) {
  const std::string report = table_report(third_opinion_run(), {});
  EXPECT_THAT(report, HasSubstr(R"(
  bottom_right  dV      passed   3.000e-05    5.000e-04        50%         0 of 48

  against the device's fp32 reference (kernel plain); the tensors not shown passed
  mask          tensor  verdict   max diff  relative L2  of budget  wrong elements
  ────────────────────────────────────────────────────────────────────────────────
  top_left      dQ      passed   1.000e-06    5.000e-04        50%         0 of 64
  top_left      dK      passed   2.000e-06    5.000e-04        50%         0 of 48
  top_left      dV      FAILED   5.000e-01    5.000e-04    >10000%         1 of 48
  bottom_right  dQ      passed   1.000e-06    5.000e-04        50%         0 of 64
)"));
  EXPECT_THAT(report, HasSubstr("  top_left was not timed: it failed verification\n"));
  EXPECT_THAT(report, HasSubstr(R"(
Failures
  top_left dV against the device's reference: 1 of 48 elements are wrong; largest difference 5.000e-01)"));
  EXPECT_THAT(report, HasSubstr("    (0, 1, 2, 7)        "));
  EXPECT_THAT(report, HasSubstr("  top_left      FAILED  dV 1 wrong against the device's reference\n"));
  EXPECT_THAT(report, HasSubstr("\nFAILED: 1 of 2 masks with wrong numbers\n"));
  EXPECT_THAT(table_report(sample_run(), {}), Not(HasSubstr("device's")));
}

TEST(TableReport, MentionsOtherTensorsOnlyWhenTheyFailOrWhenVerbose) {
  RunResult run = sample_run();
  EXPECT_THAT(table_report(run, {}), Not(HasSubstr("LSE")));
  EXPECT_THAT(table_report(run, {.verbose = true}), HasSubstr("no_mask       LSE     passed"));
  run.masks[0].verdicts[1].passed = false;
  run.masks[0].verdicts[1].wrong = 1;
  EXPECT_THAT(table_report(run, {}), HasSubstr("no_mask       LSE     FAILED"));
}

TEST(TableReport, VerboseShowsEveryDigitAndTheBudgets) {
  RunResult run = sample_run();
  run.masks[1].gradients[2].mean_abs = 1.0 / 3.0;
  const std::string report = table_report(run, {.verbose = true});
  EXPECT_THAT(report, HasSubstr("0.3333333333333333"));
  EXPECT_THAT(report, HasSubstr("max diff budget"));
  EXPECT_THAT(report, HasSubstr("intact"));
}

TEST(TableReport, OfTheEmulatorSaysThatItsTimesAreNoGpus) {
  RunResult run = sample_run();
  run.emulated = true;
  const std::string report = table_report(run, {});
  EXPECT_THAT(report,
              HasSubstr("times of the emulator on this CPU; they say nothing about the speed of a GPU"));
  EXPECT_THAT(report, HasSubstr("12.506 ms emulated\n"));
}

TEST(TableReport, ShowsALayoutThatIsNotTheDefault) {
  RunResult run = sample_run();
  run.problem.layout = Layout::bshd;
  EXPECT_THAT(table_report(run, {}), HasSubstr("D=8 Dv=8  fp16 bshd  scale=0.5\n"));
}

TEST(TableReport, OfAPlainProblemHasNoLinesForWhatItHasNot) {
  const std::string report = table_report(sample_run(), {});
  for (const char* absent :
       {"scores", "sequences", "--deterministic", "dBias", "dSink", "Determinism", "loaded"}) {
    EXPECT_THAT(report, Not(HasSubstr(absent)));
  }
}

TEST(TableReport, ShowsWhatHappensToScoresAndItsGradients) {
  const std::string report = table_report(full_run(), {});
  EXPECT_THAT(
      report,
      HasSubstr("\n  scores        softcap=30  bias=head  ALiBi  sink  dropout=0.25 seed=7 offset=5\n"));
  EXPECT_THAT(report, HasSubstr("mean |dV|  mean |dBias|  mean |dSink|"));
  EXPECT_THAT(report, HasSubstr("‖dBias‖₂   ‖dSink‖₂"));
  EXPECT_THAT(report, HasSubstr("top_left  dSink   passed"));
  EXPECT_THAT(report, HasSubstr("            dBias       [-2.500e-01, 7.500e-01]"));
  EXPECT_THAT(report, HasSubstr("dV 50%, dBias 50%, dSink 50% of the error budget"));
}

TEST(TableReport, ShowsTheLengthsOfSequences) {
  RunResult run = sample_run();
  make_grouped(run.problem, {0, 4, 2}, {5, 3, 1});
  run.problem.padded_q = {1, 8, 3};
  for (MaskResult& mask : run.masks) mask = sample_mask(mask.mask, run.problem);
  std::string report = table_report(run, {});
  EXPECT_THAT(report, HasSubstr("  sequences     3 of their own length  q 0,4,2 in 12 rows  k 5,3,1\n"));
  EXPECT_THAT(report, HasSubstr("D 1x2x6 "));
  EXPECT_THAT(report, HasSubstr("Masks  sequence 2 of 3, 4 x 3; a cell is a pair"));
  make_grouped(run.problem, std::vector<std::int64_t>(100, 7), std::vector<std::int64_t>(100, 3));
  run.problem.padded_q.clear();
  EXPECT_THAT(table_report(run, {}), HasSubstr("q 7,7,7,7,7,7,… (700 rows)  k 3,3,3,3,3,3,… (300 rows)\n"));
}

TEST(TableReport, ShowsPaddingFillAndWhatWasLoaded) {
  RunResult run = sample_run();
  run.problem.padded_k = {16};
  run.problem.deterministic = true;
  run.fill.kind = FillKind::integers;
  run.fill.d_o_is_one = true;
  run.loaded = {TensorId::q, TensorId::slopes};
  const std::string report = table_report(run, {});
  EXPECT_THAT(report, HasSubstr("  sequences     q 4  k 3 in 16 rows\n"));
  EXPECT_THAT(report, HasSubstr("  bits          the same in every run (--deterministic)\n"));
  EXPECT_THAT(report, HasSubstr("  inputs        integers  dO=1  seed=42  checksum 0123456789abcdef\n"
                                "                loaded from files: Q, slopes\n"));
}

TEST(TableReport, NamesEachKernelWithItsMasksWhereTheyDiffer) {
  RunResult run = sample_run();
  run.masks[1].kernel = "hopper";
  EXPECT_THAT(
      table_report(run, {}),
      HasSubstr("  kernel        simt for no_mask, bottom_right (the fastest that supports the problem)\n"
                "                hopper for top_left (the fastest that supports the problem)\n"));
}

TEST(TableReport, ShowsWhereRunsDiffer) {
  const std::string report = table_report(differing_run(true), {});
  EXPECT_THAT(report, HasSubstr(R"(
Determinism  the gradients' bits in 3 passes on the same inputs
  mask          runs       tensor  run  elements  first at (b, h, row, column)      run 1   that run
  ──────────────────────────────────────────────────────────────────────────────────────────────────
  no_mask       DIFFER     dK        3        12                  (0, 1, 2, 7)  5.000e-01  2.500e-01
  top_left      same bits
  bottom_right  same bits
)"));
  EXPECT_THAT(report, HasSubstr("  no_mask: dK differs between runs 1 and 3, in 12 elements\n  reproduce: "));
  EXPECT_THAT(report, HasSubstr("no_mask       FAILED  dK differs between runs 1 and 3, in 12 elements\n"));
  const std::string allowed = table_report(differing_run(false), {});
  EXPECT_THAT(allowed, HasSubstr("  no_mask       differ     dK "));
  EXPECT_THAT(allowed, HasSubstr("did not ask for the same bits (--deterministic), so that is allowed\n"));
  EXPECT_THAT(allowed, Not(HasSubstr("Failures")));
}

TEST(TableReport, ShowsWhereSharedMemoryIsAccessedAndWhatThatCosts) {
  EXPECT_THAT(table_report(counted_run(), {}), HasSubstr(R"(
Shared memory  accesses of the emulated waves, and conflicts of banks
  top_left
  kernel and line      function  kind    bytes  accesses  cycles  conflicts  per access
  ─────────────────────────────────────────────────────────────────────────────────────
  k<Half, 128>                   total               120     820        670       5.583
    kernels/k.hip:7    load<64>  write      16       100     800         50         0.5
    kernels/tile.h:12  add       atomic      4        20      20        620          31
  l                              total                 3       6          0           0
    kernels/tile.h:9   f<&x, 4>  read        8         3       6          0           0

  bottom_right
  no access
  cycles are those of accesses without conflicts; each conflict is one cycle more
)"));
  EXPECT_THAT(table_report(sample_run(), {}), Not(HasSubstr("Shared memory")));
}

TEST(TableReport, PutsPicturesBesideOneAnotherWhereTheyFit) {
  RunResult run = sample_run();
  run.problem.seqlen_q = 128;
  run.problem.seqlen_k = 192;
  const std::string report = table_report(run, {});
  EXPECT_THAT(report,
              HasSubstr("Masks  a cell is 8 queries x 8 keys; █ all visible, ▒ some, · none\n  no_mask "));
  EXPECT_THAT(report, HasSubstr("\n\n  bottom_right\n"));
  EXPECT_THAT(table_report(run, {.width = 200}), Not(HasSubstr("\n\n  bottom_right\n")));
}

TEST(TableReport, ShortensLongNamesOfMasks) {
  RunResult run = sample_run();
  run.problem.seqlen_q = run.problem.seqlen_k = 64;
  run.masks = {sample_mask(masks_from("document:1,2,3,4,5,6,7,8,9,10").front(), run.problem)};
  const std::string report = table_report(run, {});
  EXPECT_THAT(report, HasSubstr("document:1,2,3,4,5,6,7,8,9,10 "));
  run.masks = {sample_mask(masks_from("document:1,2,3,4,5,6,7,8,9,10,2,3").front(), run.problem)};
  EXPECT_THAT(table_report(run, {}), HasSubstr("document:1,2,3,4,5,6,7,8,9,10…  "));
}

TEST(TableReport, PutsALongReasonOnALineOfItsOwn) {
  RunResult run = sample_run();
  run.device_reason = std::string(90, 'r');
  EXPECT_THAT(table_report(run, {}), HasSubstr("GPU, 80 GB\n                " + run.device_reason + "\n"));
}

/// The longest of the report's lines is no longer than a hundred columns.
void expect_to_fit(const RunResult& run) {
  const std::string report = table_report(run, {});
  std::size_t begin = 0;
  for (std::size_t end = report.find('\n'); end != std::string::npos; end = report.find('\n', begin)) {
    const std::string line = report.substr(begin, end - begin);
    EXPECT_LE(display_width(line), 100U) << line;
    begin = end + 1;
  }
}

TEST(TableReport, FitsIntoAHundredColumns) {
  expect_to_fit(sampled_run());
  RunResult run = failed_run();
  run.problem.seqlen_q = run.problem.seqlen_k = 16384;
  for (MaskResult& mask : run.masks) {
    for (TensorVerdict& verdict : mask.verdicts) verdict.compared = 1'073'741'824;
    if (mask.timing) mask.timing->tflops = mask.timing->tflops_dense = 123.456;
  }
  expect_to_fit(run);
}

TEST(TableReport, ColoursVerdicts) {
  const std::string report = table_report(failed_run(), {.colour = true});
  EXPECT_THAT(report, HasSubstr("\033[1;31mFAILED\033[0m"));
  EXPECT_THAT(report, HasSubstr("\033[32mpassed\033[0m"));
  EXPECT_THAT(table_report(failed_run(), {}), Not(HasSubstr("\033")));
}

}  // namespace
}  // namespace fmha_bwd
