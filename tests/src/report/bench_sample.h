// Results of bench with numbers that are easy to compute with.
#pragma once

#include <string>
#include <vector>

#include "bench/results.h"

namespace fmha_bwd {

/// One round whose time is `ms`; a single pass takes twice as long, nothing is replayed.
inline Round sample_round(double ms) {
  Round round;
  round.single_ms = {2.0 * ms};
  round.batch_ms = {ms, ms, 10.0 * ms};
  round.batch_passes = 4;
  round.stopped = "steady";
  round.telemetry.clock_mhz = 1500.0;
  return round;
}

/// 4 x 4 tokens; rounds of 1, 2 and 4 ms. Half of the 16 GFLOP are visible, 8 GB move, the peak is 16 TFLOPS.
inline BenchCase sample_case(const std::string& name) {
  BenchCase item;
  item.name = name;
  item.command = "fmha_bwd bench --mask top_left";
  item.operation = "backward";
  item.mask = "top_left";
  item.dtype = "fp16";
  item.layout = "bshd";
  item.batch = 2;
  item.nhead_q = 8;
  item.nhead_k = 2;
  item.seqlen_q = item.seqlen_k = 4;
  item.hdim_q = item.hdim_v = 64;
  item.kernel = "simt";
  item.verification = "full";
  item.all_pairs = 16;
  item.visible_pairs = 10;
  item.flops = 8e9;
  item.flops_dense = 16e9;
  item.bytes = 8e9;
  item.peak_flops = 16e12;
  item.rounds = {sample_round(4.0), sample_round(1.0), sample_round(2.0)};
  return item;
}

/// On a device of 8 TB a second.
inline BenchResults sample_results(std::vector<BenchCase> cases) {
  BenchResults results;
  results.context.version = "0.1.0";
  results.context.revision = "abc1234";
  results.context.command = "fmha_bwd bench";
  results.context.platform = "nvidia";
  results.context.device = "Card";
  results.context.memory_gbytes_per_s = 8000.0;
  results.context.rounds = 3;
  results.cases = std::move(cases);
  return results;
}

}  // namespace fmha_bwd
