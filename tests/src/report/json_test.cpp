#include "src/report/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/src/report/sample_run.h"

namespace fmha_bwd {
namespace {

using Json = nlohmann::json;

TEST(JsonReport, ParsesBackToTheNumbersOfTheRun) {
  const RunResult run = sample_run();
  const Json report = Json::parse(json_report(run));
  EXPECT_EQ(report["schema_version"], 2);
  EXPECT_EQ(report["program"], "fmha_bwd");
  EXPECT_EQ(report["version"], "1.2.3");
  EXPECT_EQ(report["verdict"], "passed");
  EXPECT_EQ(report["problem"], Json::parse(R"({"mode": "batch", "batch": 1, "nhead_q": 2, "nhead_k": 2,
      "seqlen_q": 4, "seqlen_k": 3, "seqlens_q": null, "seqlens_k": null, "padded_q": null, "padded_k": null,
      "hdim_q": 8, "hdim_v": 8, "dtype": "fp16", "layout": "bhsd", "scale": 0.5, "softcap": 0.0,
      "bias": "none", "alibi": false, "sink": false, "dropout": null, "deterministic": false})"));
  EXPECT_EQ(report["inputs"], Json::parse(R"({"fill": "normal", "fill_do": "fill", "seed": 42,
      "standard_deviation": 0.1, "loaded": [], "checksum": "0123456789abcdef"})"));
  EXPECT_EQ(report["device"]["name"], "A \"fine\" GPU, 80 GB");
  EXPECT_EQ(report["device"]["emulated"], false);
  ASSERT_EQ(report["masks"].size(), 3U);

  const Json& mask = report["masks"][2];
  EXPECT_EQ(mask["mask"], "bottom_right");
  EXPECT_EQ(mask["kernel"],
            Json::parse(R"({"name": "simt", "reason": "the fastest that supports the problem"})"));
  EXPECT_TRUE(mask["determinism"].is_null());
  EXPECT_EQ(mask["verdict"], "passed");
  EXPECT_EQ(mask["density"], 0.5);
  EXPECT_EQ(mask["all_pairs"], 12);
  EXPECT_EQ(mask["visible_pairs"], 6);
  EXPECT_EQ(mask["empty_rows"], 1);
  EXPECT_EQ(mask["empty_keys"], 0);
  EXPECT_EQ(mask["flops"], 2 * 6 * (3 * 2 * 8 + 2 * 2 * 8));
  EXPECT_EQ(mask["gradients"]["dK"], Json::parse(R"({"mean_abs": 0.001, "l2_norm": 0.5,
      "range": {"min": -0.25, "max": 0.75}, "max_diff_to_no_mask": 0.0625})"));
  EXPECT_EQ(mask["d_range"]["max"], 0.125);
  EXPECT_EQ(mask["p_sparsity"], 0.25);
  EXPECT_EQ(mask["verification"].size(), 6U);
  EXPECT_EQ(mask["verification"]["dV"]["max_diff"], 3e-5);
  EXPECT_EQ(mask["verification"]["dV"]["relative_l2"], 0.0005);
  EXPECT_EQ(mask["verification"]["dV"]["budget_share"], 0.5);
  EXPECT_EQ(mask["timing"]["samples"], 20);
  EXPECT_EQ(mask["timing"]["total_ms"], 12.506);
  EXPECT_EQ(mask["timing"]["tflops_dense"], 2.0);
  EXPECT_EQ(mask["command"], "fmha_bwd --mask bottom_right --batch 1 --nhead 2");
}

TEST(JsonReport, HoldsWhatTheEmulatorCounted) {
  const Json masks = Json::parse(json_report(counted_run()))["masks"];
  ASSERT_EQ(masks[0]["emulator_stats"].size(), 3U);
  EXPECT_EQ(masks[0]["emulator_stats"][1], Json::parse(R"({"kernel": "fmha_bwd::k<fmha_bwd::Half, 128>",
      "function": "fmha_bwd::add", "line": "kernels/tile.h:12", "kind": "atomic", "bytes": 4,
      "accesses": 20, "phases": 20, "conflicts": 620})"));
  EXPECT_EQ(masks[1]["emulator_stats"], Json::array());
  EXPECT_TRUE(Json::parse(json_report(sample_run()))["masks"][0]["emulator_stats"].is_null());
}

TEST(JsonReport, HoldsTheWholeProblem) {
  RunResult run = full_run();
  make_grouped(run.problem, {4, 0}, {3, 2});
  run.problem.padded_q = {5, 1};
  run.problem.deterministic = true;
  run.fill.kind = FillKind::uniform;
  run.fill.d_o_is_one = true;
  run.loaded = {TensorId::q, TensorId::bias};
  const Json report = Json::parse(json_report(run));
  const Json& problem = report["problem"];
  EXPECT_EQ(problem["mode"], "group");
  EXPECT_EQ(problem["seqlens_q"], Json::parse("[4, 0]"));
  EXPECT_EQ(problem["padded_q"], Json::parse("[5, 1]"));
  EXPECT_TRUE(problem["padded_k"].is_null());
  EXPECT_EQ(problem["softcap"], 30.0);
  EXPECT_EQ(problem["bias"], "head");
  EXPECT_EQ(problem["dropout"], Json::parse(R"({"probability": 0.25, "seed": 7, "offset": 5})"));
  EXPECT_EQ(problem["deterministic"], true);
  EXPECT_EQ(report["inputs"]["fill"], "uniform");
  EXPECT_EQ(report["inputs"]["fill_do"], "ones");
  EXPECT_TRUE(report["inputs"]["standard_deviation"].is_null());
  EXPECT_EQ(report["inputs"]["loaded"], Json::parse(R"(["Q", "bias"])"));
  EXPECT_EQ(report["masks"][0]["gradients"]["dSink"]["l2_norm"], 0.5);
  EXPECT_EQ(report["masks"][0]["verification"]["dBias"]["passed"], true);
}

TEST(JsonReport, SaysHowItWasVerifiedAndWhatASampleIsWorth) {
  const Json full = Json::parse(json_report(sample_run()));
  EXPECT_EQ(full["verification"],
            Json::parse(R"({"how": "full", "reason": "estimated at 3 s, the limit is 60 s"})"));
  EXPECT_TRUE(full["masks"][0]["sampled"].is_null());
  EXPECT_EQ(full["masks"][0]["verification"]["dV"]["compared"], 48);
  RunResult run = sampled_run();
  Json report = Json::parse(json_report(run));
  EXPECT_EQ(report["schema_version"], 2);
  EXPECT_EQ(report["verification"]["how"], "sample");
  EXPECT_EQ(report["masks"][1]["verification"]["dV"]["elements"], 48);
  EXPECT_EQ(report["masks"][1]["verification"]["dV"]["compared"], 24);
  EXPECT_EQ(report["masks"][1]["sampled"], Json::parse(R"({"fault_share": 0.001,
      "queries": {"classes": {"edge": {"rows": 260, "sampled": 260}, "boundary": {"rows": 7936,
        "sampled": 7936}, "inner": {"rows": 253948, "sampled": 8188}},
        "boundary_missed": 0.0, "share_missed": 0.00121},
      "keys": {"classes": {"edge": {"rows": 264, "sampled": 33}, "boundary": {"rows": 8000, "sampled": 200},
        "inner": {"rows": 1000, "sampled": 7}}, "boundary_missed": 0.975, "share_missed": 0.12},
      "bias": null})"));
  run.masks.front().verdicts.front().unwritten = 3;
  run.masks.front().sampled->bias = SampledSide{{{"edge", 5, 4}}, 0.2, 0.25};
  report = Json::parse(json_report(run));
  EXPECT_EQ(report["masks"][0]["verification"][name_of(run.masks.front().verdicts.front().id)]["unwritten"],
            3);
  EXPECT_EQ(report["masks"][0]["sampled"]["bias"],
            Json::parse(R"({"classes": {"edge": {"rows": 5, "sampled": 4}}, "boundary_missed": 0.2,
              "share_missed": 0.25})"));
}

TEST(JsonReport, HoldsTheOpinionOfTheDevicesReference) {
  const Json report = Json::parse(json_report(third_opinion_run()));
  EXPECT_EQ(report["verdict"], "failed");
  EXPECT_EQ(report["masks"][0]["verification"]["dV"]["passed"], true);
  EXPECT_EQ(report["masks"][0]["third_opinion"]["dV"]["passed"], false);
  EXPECT_EQ(report["masks"][0]["third_opinion"]["dV"]["wrong"], 1);
  EXPECT_EQ(report["masks"][1]["third_opinion"], report["masks"][1]["verification"]);
  EXPECT_TRUE(Json::parse(json_report(sample_run()))["masks"][0]["third_opinion"].empty());
}

TEST(JsonReport, SaysWhereRunsDiffer) {
  const Json report = Json::parse(json_report(differing_run(true)));
  EXPECT_EQ(report["verdict"], "failed");
  EXPECT_EQ(report["masks"][0]["determinism"], Json::parse(R"({"runs": 3, "required": true, "difference":
      {"tensor": "dK", "run": 2, "index": [0, 1, 2, 7], "first": 0.5, "other": 0.25, "elements": 12}})"));
  EXPECT_TRUE(report["masks"][1]["determinism"]["difference"].is_null());
  EXPECT_EQ(Json::parse(json_report(differing_run(false)))["verdict"], "passed");
}

TEST(JsonReport, IsNullWhereNothingWasComputed) {
  const Json report = Json::parse(json_report(unverified_run()));
  EXPECT_EQ(report["verdict"], "not_verified");
  EXPECT_TRUE(report["masks"][0]["gradients"]["dQ"]["max_diff_to_no_mask"].is_null());
  EXPECT_TRUE(report["masks"][0]["p_sparsity"].is_null());
  EXPECT_TRUE(report["masks"][0]["verification"].empty());
  EXPECT_TRUE(Json::parse(json_report(failed_run()))["masks"][1]["timing"].is_null());
}

TEST(JsonReport, WritesNumbersThatJsonHasNoWordForAsStrings) {
  const Json report = Json::parse(json_report(failed_run()));
  EXPECT_EQ(report["verdict"], "failed");
  const Json& mask = report["masks"][1];
  EXPECT_EQ(mask["verdict"], "failed");
  EXPECT_EQ(mask["gradients"]["dK"]["mean_abs"], "nan");
  const Json& dk = mask["verification"]["dK"];
  EXPECT_EQ(dk["passed"], false);
  EXPECT_EQ(dk["max_diff"], "nan");
  EXPECT_EQ(dk["wrong"], 2);
  EXPECT_EQ(dk["worst"], Json::parse(R"([{"index": [0, 1, 2, 7], "actual": "nan", "expected": 0.001},
      {"index": [0, 0, 1, 0], "actual": "-inf", "expected": -0.002}])"));
}

TEST(JsonReport, StaysValidWithAnyDeviceNameAndSeed) {
  RunResult run = sample_run();
  run.device_name = "broken \xff utf-8\n";
  run.fill.seed = 18446744073709551615U;
  const Json report = Json::parse(json_report(run));
  EXPECT_EQ(report["inputs"]["seed"].get<std::uint64_t>(), 18446744073709551615U);
}

}  // namespace
}  // namespace fmha_bwd
