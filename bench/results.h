// What `fmha_bwd bench` measured: the contents of its results file. Plain data; bench/results_json.h reads
// and writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fmha_bwd {

/// Of the results file. Files of another schema are refused.
inline constexpr int kResultsSchema = 2;

/// Where and how a run was measured. Times of unlike contexts are not comparable (bench/alike.h says which
/// of these count).
struct BenchContext {
  std::string version;   // of the program
  std::string revision;  // of its sources, as git describes them; "unknown" outside a repository
  std::string command;   // the whole command line, quoted for a POSIX shell
  std::string started;   // ISO 8601, UTC
  std::string host;
  std::string cpu;  // its model
  std::int64_t cpus = 0;

  std::string platform;  // "amd", "nvidia", "emulator", or "cpu" for the reference
  std::string device;    // its name
  std::string arch;      // "gfx942", "sm_90"; the CPU's vector instructions for the reference
  std::string driver;    // its version; empty where there is none
  std::string runtime;   // "CUDA 13.0", "HIP 5.2"
  bool emulated = false;
  std::int64_t multiprocessors = 0;
  double max_clock_mhz = 0.0;             // 0: unknown, as are the next two
  double memory_gbytes_per_s = 0.0;       // 1e9 bytes a second, from the memory's clock and width
  std::int64_t cache_bytes = 0;           // of the last level
  std::optional<double> power_cap_watts;  // nothing: not readable
  std::string telemetry;                  // "nvml", "amd-smi", or why there is none
  std::string cache = "rotate";           // rotate, flush or warm: the inputs at the start of a pass
  double warmup_seconds = 0.0;            // before each round
  std::optional<std::int64_t> samples;    // a fixed count; nothing: the stopping rule
  double min_seconds = 0.0;               // of the stopping rule: device time of a case, at least
  double max_seconds = 0.0;               // and at most
  std::int64_t rounds = 0;                // asked for, of each case
  bool interleaved = false;               // rounds of different cases in random order
  std::string in_turn;  // of --ab: the same text in the two files whose rounds were taken in turn; else empty

  bool operator==(const BenchContext&) const = default;
};

/// What the device and its vendor's library said while a round was measured; nothing where they say nothing.
struct Telemetry {
  std::optional<double> clock_mhz;      // median over the batches, or single passes where there are none
  std::string clock_source;             // "counters", the device's own, or "library"; empty without a clock
  std::optional<double> power_watts;    // largest
  std::optional<double> temperature_c;  // largest
  std::vector<std::string> throttle;    // reasons seen, like "power cap"; sorted, each once

  bool operator==(const Telemetry&) const = default;
};

/// One visit to a case: the unit of comparison, since launches inside of it are correlated. Times are
/// milliseconds of one backward pass, in the order measured.
struct Round {
  std::vector<double> single_ms;  // one pass by itself, on an idle device
  std::vector<double> batch_ms;   // a batch of passes back to back, divided by their number; empty with
                                  // --cache flush
  std::vector<double> graph_ms;   // the same by replaying a graph; empty where not measured
  std::int64_t batch_passes = 0;  // in a batch
  std::string stopped;            // why no more samples: "fixed count", "steady", "settled" or "time is out"
  std::int64_t slow_clock = 0;    // samples discarded for a slow clock
  bool throttled = false;         // in doubt: more than may be discarded were slow, and none was; or heat, a
                                  // brake or a fault of the hardware held the clock down
  Telemetry telemetry;

  bool operator==(const Round&) const = default;
};

/// One problem under one mask. `name` identifies it: the same problem has the same name in every run.
struct BenchCase {
  std::string name;        // "no_mask/fp16/B2/H8/S64/D128"
  std::int64_t index = 0;  // in the whole sweep, from 0
  std::string command;     // the shortest that runs this case
  std::string operation;   // "backward", or "reference" on the CPU

  std::string mask;   // as name_of(MaskSpec) has it
  std::string dtype;  // "fp16", "bf16", "fp32"; "fp64" for the reference
  std::string layout;
  std::int64_t batch = 0;
  std::int64_t nhead_q = 0;
  std::int64_t nhead_k = 0;
  std::int64_t seqlen_q = 0;            // the longest in group mode
  std::int64_t seqlen_k = 0;            // the longest in group mode
  std::vector<std::int64_t> seqlens_q;  // of each sequence in group mode; else empty
  std::vector<std::int64_t> seqlens_k;
  std::int64_t hdim_q = 0;
  std::int64_t hdim_v = 0;
  std::string extras;  // what else differs from the defaults, "dropout:0.1/deterministic"; or empty

  std::string fill;            // "normal std=0.1 seed=42"
  std::string input_checksum;  // 16 hexadecimal digits
  std::string kernel;          // the family that computed it
  std::int64_t device_index = 0;
  std::string verification;  // "full", "sample" or "none": every timed case passed it

  std::int64_t all_pairs = 0;      // of one head, as base/work.h counts them
  std::int64_t visible_pairs = 0;  // of these
  double flops = 0.0;              // of one pass over the visible pairs
  double flops_dense = 0.0;        // over all pairs
  double bytes = 0.0;       // that a pass has to move at least: each input read, each output written once
  double peak_flops = 0.0;  // a second, of the device in this dtype; 0: unknown

  std::string error;          // why it was not measured: it failed its verification, say; or empty
  int exit_code = 0;          // that goes with the error
  std::vector<Round> rounds;  // complete ones

  bool operator==(const BenchCase&) const = default;
};

struct BenchResults {
  BenchContext context;
  std::vector<BenchCase> cases;  // by index

  bool operator==(const BenchResults&) const = default;
};

/// Milliseconds of a pass in that round: the median of its batches, or of its single passes where there are
/// none. NaN without samples.
double time_of(const Round& round);
/// The median over the rounds of time_of; NaN without rounds.
double time_of(const BenchCase& item);
/// Medians over rounds of the medians of single passes, and of graph replays; NaN where there is none.
double single_time_of(const BenchCase& item);
double graph_time_of(const BenchCase& item);

/// What a pass of `milliseconds` comes to; NaN where that is NaN.
struct Rates {
  double tflops = 0.0;             // 1e12 FLOPs a second, over the visible pairs
  double tflops_dense = 0.0;       // over all pairs
  double gbytes_per_s = 0.0;       // 1e9 bytes a second, of the least bytes
  std::optional<double> peak;      // share of the device's peak FLOPs; nothing where the peak is unknown
  std::optional<double> roofline;  // share of what the roofline allows, the longer of flops / peak and bytes
                                   // / bandwidth; nothing where either rate is unknown
};

Rates rates_of(const BenchCase& item, const BenchContext& context, double milliseconds);

}  // namespace fmha_bwd
