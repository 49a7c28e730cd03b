// Every option with its help.
#include "src/options.h"
#include "src/options/arguments.h"
#include "src/options/cli.h"
#include "src/options/values.h"
#include "src/verification_plan.h"

namespace fmha_bwd {
namespace {

constexpr std::string_view kDescription =
    "Runs the attention backward pass (dQ, dK, dV) on a device for each mask, compares it with an fp64\n"
    "reference and reports density, errors, norms and TFLOPS.\n";

constexpr std::string_view kFooter =
    R"(Masks, which query i sees which key j; a comma-separated list takes any of them:
  no_mask                 every key
  top_left                j <= i
  bottom_right            j <= i + (seqlen_k - seqlen_q)
  top_left:L,R            i - L <= j <= i + R; -1 is no limit
  bottom_right:L,R        the same around i + (seqlen_k - seqlen_q)
  prefix:N                j <= i or j < N
  document:N,N,...        those of i's document of N tokens; what is left is one more document
  document_causal:N,...   those, where j <= i
  generic:Y,X             i - Y < j < i + X
  short forms             0 n  1 t  2 b  t:L,R  b:L,R  g:Y,X  xt:W xb:W (a window of W keys)

Examples:
  fmha_bwd
      the default problem with three masks
  fmha_bwd --mask bottom_right --seqlen-q 128 --seqlen-k 192
      more keys than queries
  fmha_bwd --batch 4 --nhead 32 --nhead-k 8 --seqlen-q 4096 --seqlen-k 4096 --dtype bf16
      grouped-query attention
  fmha_bwd --seqlen-q 100,37,0 --seqlen-k 100,64,5 --mask document_causal:20,30
      sequences of different lengths
  fmha_bwd --mask top_left:128,0 --dropout 0.1 --bias head --softcap 30 --check-determinism 5
      a sliding window, and everything that happens to scores
  fmha_bwd --random 100 --seed 7
      a hundred problems of all kinds
  fmha_bwd --device emulator --arch gfx942 --kernel list
      the kernels of an architecture, and why some are refused
  fmha_bwd --format json --output result.json
      for programs

Exit codes:
  0  passed                     4  performance regression
  1  wrong numbers              5  measurement unclear
  2  bad usage or input         6  device or runtime error
  3  unsupported, or nothing ran)";

/// Declares options under one heading after the other.
class Declaration {
 public:
  explicit Declaration(CLI::App& app) : app_(app) {}

  void heading(const char* text) { heading_ = text; }
  void option(const char* name, const char* type, Arguments::Value& value, const std::string& description) {
    app_.add_option(name, value, description)->type_name(type)->group(heading_);
  }
  void list(const char* name, std::vector<std::string>& values, const char* description) {
    CLI::Option* option = app_.add_option(name, values, description);
    option->type_name("LIST")->expected(1)->take_all()->allow_extra_args(false)->group(heading_);
  }
  void flag(const char* name, bool& value, const char* description) {
    app_.add_flag(name, value, description)->group(heading_)->disable_flag_override();
  }
  /// "--NAME,!--no-NAME"; the last one counts.
  void toggle(const char* names, std::optional<bool>& value, const char* description) {
    const auto ignore = [](std::int64_t) {};  // the sum of all of them
    const auto set = [&value](const std::string& text) { value = text == "true"; };
    app_.add_flag_function(names, ignore, description)->each(set)->group(heading_)->disable_flag_override();
  }

 private:
  CLI::App& app_;
  const char* heading_ = "";
};

void declare_problem(Declaration& add, Arguments& a) {
  add.heading("Problem");
  add.list("--mask", a.masks, "see Masks below; may be given several times\n[no_mask,top_left,bottom_right]");
  add.option("--mode", "NAME", a.mode,
             "batch: sequences of one length; group: each of its own, as lists of\nlengths mean [batch]");
  add.option("--batch", "N", a.batch, "sequences [2, or as many as the lists have]");
  add.option("--nhead", "N", a.nhead, "heads of Q [8]");
  add.option("--nhead-k", "N", a.nhead_k, "heads of K and V, a divisor of --nhead [--nhead]");
  add.option("--seqlen-q", "N[,N...]", a.seqlen_q,
             "queries of a sequence, or of each; a length may be 0 [64]");
  add.option("--seqlen-k", "N[,N...]", a.seqlen_k, "keys of a sequence, or of each [64]");
  add.option("--seqlen-q-pad", "N[,N...]", a.seqlen_q_pad,
             "rows that a sequence's queries have in device memory [--seqlen-q]");
  add.option("--seqlen-k-pad", "N[,N...]", a.seqlen_k_pad, "the same of its keys [--seqlen-k]");
  add.option("--hdim", "N", a.hdim, "head dimension of Q and K, 1..512 [128]");
  add.option("--hdim-v", "N", a.hdim_v, "head dimension of V and O, 1..512 [--hdim]");
  add.option("--dtype", "TYPE", a.dtype, "fp16, bf16 or fp32 [fp16]");
  add.option("--layout", "NAME", a.layout,
             "bhsd, bshd, or qkv (bshd with Q, K and V in one tensor): the order in\n"
             "device memory of batch, head, row (s) and column (d) [bhsd]");
  add.toggle("--deterministic,!--no-deterministic", a.deterministic,
             "only kernels that give the same bits in every run");

  add.heading("Scores");
  add.option("--scale", "X", a.scale, "of the scores Q K^T [1/sqrt(hdim)]");
  add.option("--softcap", "X", a.softcap, "scores become X tanh(score / X); 0 is none [0]");
  add.option("--bias", "SHAPE", a.bias,
             "added to the scores, dBias is computed too: none, shared by all, head,\n"
             "batch or full (one for each); or n, e, e:1 (head), e:2 (full) [none]");
  add.toggle("--alibi,!--no-alibi", a.alibi, "scores fall off linearly with the distance from the diagonal");
  add.toggle("--sink,!--no-sink", a.sink,
             "a score of each head in every softmax's sum; dSink is computed too");
  add.option("--dropout", "P", a.dropout,
             "P is dropped with this probability, in [0, 1), rounded to 2^-16 [0]");
  add.option("--dropout-seed", "N", a.dropout_seed, "of dropout's random numbers [1]");
  add.option("--dropout-offset", "N", a.dropout_offset,
             "how many calls of Philox, eight elements each, are skipped [0]");
}

void declare_inputs(Declaration& add, Arguments& a) {
  add.heading("Inputs");
  add.option("--fill", "KIND", a.fill,
             "normal, uniform (0 to 1), integers (-2..2), zeros, or extreme (scores\nof +-120) [normal]");
  add.option("--fill-do", "KIND", a.fill_do, "fill (as the others) or ones: what dO holds [fill]");
  add.option("--seed", "N", a.seed, "the same seed gives the same bits on every device [42]");
  add.option("--std", "X", a.std, "standard deviation of a normal fill [0.1]");
  add.option("--load", "DIR", a.load,
             "tensors to use instead: q.npy k.npy v.npy do.npy bias.npy slopes.npy\n"
             "sink.npy; arguments in case.txt there, or shapes and types of the\n"
             "tensors, hold where the command line says nothing else");
  add.option("--random", "N", a.random, "draw N problems of all kinds by --seed, and verify each");
}

void declare_run(Declaration& add, Arguments& a) {
  add.heading("Device");
  add.option("--device", "NAME", a.device,
             "auto, emulator, amd[:index] or nvidia[:index]; auto takes a GPU when\none answers, else the "
             "emulator [auto]");
  add.option("--arch", "NAME", a.arch,
             "architecture, such as gfx942 or sm_90: that the device must have, or\nthat the emulator takes");
  add.option(
      "--kernel", "NAME", a.kernel,
      "a kernel family; auto takes the fastest that supports the problem,\nlist shows all of them [auto]");

  add.heading("Run");
  add.option("--verify", "HOW", a.verify,
             fmt::format("full, sample[:ROWS] (so many rows of each output, tile boundaries first)\nor none "
                         "[full where it takes up to {:g} s, else sample:{} or fewer]",
                         kFullLimitSeconds, kDefaultRows));
  add.option("--reference", "WHERE", a.reference,
             "cpu, or device: against the device's own fp32 reference too [cpu]");
  add.option("--check-determinism", "N", a.check_determinism,
             "compare the gradients of N passes bit by bit; with --deterministic a\ndifference is a failure");
  add.flag(
      "--emulator-stats", a.emulator_stats,
      "count bank conflicts of shared memory in one pass of each mask, by line of\nthe kernels' sources; "
      "on the emulator");
  add.option("--warmup", "N", a.warmup, "passes before the timed ones [10; on the emulator 0]");
  add.option("--repeat", "N", a.repeat, "timed passes [30; on the emulator 1]");
}

void declare_report(Declaration& add, Arguments& a) {
  add.heading("Report");
  add.option("--format", "NAME", a.format, "table, json or csv [table]");
  add.option("--output", "FILE", a.output, "write the report there; - is stdout");
  add.option("--save", "DIR", a.save,
             "write inputs, outputs, the reference's outputs and case.txt there, for\n--load; of one mask");
  add.option("--save-on-failure", "DIR", a.save_on_failure, "the same for the first mask that fails");
  add.flag("--quiet", a.quiet, "one line a mask, no progress");
  add.flag("--verbose", a.verbose, "every number in full, and the verdicts on O, LSE and D");

  add.heading("Program");
  add.flag("--help,-h", a.help, "this text");
  add.flag("--version", a.version, "the version, and the platforms and architectures built in");
}

/// Declares every option on `app`; parsing fills `arguments`.
void declare(CLI::App& app, Arguments& arguments) {
  set_manners(app);
  Declaration declaration(app);
  declare_problem(declaration, arguments);
  declare_inputs(declaration, arguments);
  declare_run(declaration, arguments);
  declare_report(declaration, arguments);
  app.footer(std::string(kFooter));
}

}  // namespace

void read_arguments(const std::vector<std::string>& words, Arguments& arguments) {
  CLI::App app{std::string(kDescription), "fmha_bwd"};
  declare(app, arguments);
  const std::vector<std::string> extras = parse_words(app, words);
  arguments.given.clear();
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0) arguments.given.push_back(option->get_name());
  }
  arguments.extra = extras.empty() ? std::nullopt : std::optional(extras.front());
}

std::string help_text() {
  CLI::App app{std::string(kDescription), "fmha_bwd"};
  Arguments arguments;
  declare(app, arguments);
  return help_of(app);
}

}  // namespace fmha_bwd
