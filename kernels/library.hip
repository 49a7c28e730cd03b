// The C interface over this platform's families. A call costs the launches and what the family
// prepares for them on the host: nothing is allocated on the device, and it is asked for its architecture
// once in a process.
#include "kernels/library.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/problem.h"
#include "kernels/backward_pass.h"
#include "kernels/choice.h"
#include "kernels/device_arch.h"
#include "kernels/family.h"
#include "kernels/hip_check.h"
#include "kernels/library_request.h"

namespace fmha_bwd::FMHA_BWD_PLATFORM {
namespace {

template <class T>
const T& required(const char* argument, const T* pointer) {
  if (pointer == nullptr) refuse_request(std::string(argument) + ": null pointer");
  return *pointer;
}

/// The architecture of the current device. The runtime is asked for all devices' at the first call.
std::string_view current_arch() {
  static const std::vector<std::string> kArchs = [] {
    int count = 0;
    FMHA_BWD_HIP(hipGetDeviceCount(&count));
    std::vector<std::string> archs;
    for (int index = 0; index < count; ++index) {
      hipDeviceProp_t properties = {};
      FMHA_BWD_HIP(hipGetDeviceProperties(&properties, index));
      archs.push_back(arch_of(properties));
    }
    return archs;
  }();
  int device = 0;
  FMHA_BWD_HIP(hipGetDevice(&device));
  return kArchs.at(static_cast<std::size_t>(device));
}

const Family& fastest_family(const Problem& problem, const MaskRule& mask) {
  const MeasuredChoice* const choice = choice_for(problem, mask, current_arch());
  const Family* first = nullptr;
  std::string reasons;
  for (const Family* family : families()) {
    if (const auto refusal = family->refusal(problem, mask, current_arch())) {
      reasons += "; " + std::string(family->name()) + ": " + *refusal;
      continue;
    }
    if (choice != nullptr && family->name() == choice->kernel) return *family;
    if (first == nullptr) first = family;
  }
  if (first != nullptr) return *first;
  throw Error(ExitCode::unsupported, "no kernel supports the problem" + reasons);
}

/// The family called `name` ("auto": the fastest) that supports the request on the current device.
const Family& family_for(const Request& request, std::string_view name) {
  const auto& [problem, mask] = request;
  if (name == "auto") return fastest_family(problem, mask);
  for (const Family* family : families()) {
    if (family->name() != name) continue;
    const auto refusal = family->refusal(problem, mask, current_arch());
    if (!refusal) return *family;
    throw Error(ExitCode::unsupported, std::string(name) + ": " + *refusal);
  }
  throw Error(ExitCode::unsupported, "no kernel named '" + std::string(name) + "'");
}

struct NamedPointer {
  const char* name;
  const void* pointer;
  bool needed = true;
};

constexpr std::uintptr_t kAlignment = 16;  // bytes: of the kernels' widest accesses

template <std::size_t kCount>
void require(const std::array<NamedPointer, kCount>& pointers) {
  for (const NamedPointer& named : pointers) {
    if (named.needed && named.pointer == nullptr) refuse_request(std::string(named.name) + ": null pointer");
    if (reinterpret_cast<std::uintptr_t>(named.pointer) % kAlignment != 0) {
      refuse_request(std::string(named.name) + ": the address is not a multiple of " +
                     std::to_string(kAlignment));
    }
  }
}

/// Those that the request has. The family writes neither slopes nor sinks.
DeviceTensors tensors_from(const fmha_bwd_tensors& given, const Request& request, const RequestTable& table) {
  DeviceTensors tensors;
  tensors.q = given.q;
  tensors.k = given.k;
  tensors.v = given.v;
  tensors.d_o = given.d_o;
  tensors.o = given.o;
  tensors.lse = given.lse;
  tensors.d = given.d;
  tensors.dq = given.dq;
  tensors.dk = given.dk;
  tensors.dv = given.dv;
  tensors.dq_acc = given.dq_acc;
  tensors.scratch = given.scratch;
  tensors.slopes = request.problem.alibi ? const_cast<float*>(given.slopes) : nullptr;
  tensors.sink = request.problem.sink ? const_cast<float*>(given.sink) : nullptr;
  tensors.dsink = request.problem.sink ? given.dsink : nullptr;
  tensors.sequences = table.sequences(given.table);
  return tensors;
}

void fill_workspace(const fmha_bwd_problem& given, const char* name, fmha_bwd_workspace& workspace) {
  const Request request = request_from(given);
  const Problem& problem = request.problem;
  const Family& family = family_for(request, name);
  workspace.dq_acc_bytes = family.dq_acc_bytes(problem);
  workspace.scratch_bytes = family.scratch_bytes(problem);
  std::snprintf(workspace.family, sizeof(workspace.family), "%s", std::string(family.name()).c_str());
  workspace.table_bytes = RequestTable(request).bytes();
}

void fill_table(const fmha_bwd_problem& given, void* table, std::size_t bytes) {
  const Request request = request_from(given);
  const RequestTable lists(request);
  if (bytes != lists.bytes()) {
    refuse_request("table_bytes: " + std::to_string(bytes) + " is not " + std::to_string(lists.bytes()));
  }
  if (bytes > 0 && table == nullptr) refuse_request("table: null pointer");
  lists.fill(table);
}

void enqueue_forward(const fmha_bwd_problem& given, const char* name, const fmha_bwd_tensors& memory,
                     hipStream_t stream) {
  const Request request = request_from(given);
  const Problem& problem = request.problem;
  const RequestTable table(request);
  require<8>({{{"q", memory.q},
               {"k", memory.k},
               {"v", memory.v},
               {"o", memory.o},
               {"lse", memory.lse},
               {"slopes", memory.slopes, problem.alibi},
               {"sink", memory.sink, problem.sink},
               {"table", memory.table, table.bytes() > 0}}});
  const Family& family = family_for(request, name);
  require<1>({{{"scratch", memory.scratch, family.scratch_bytes(problem) > 0}}});
  family.forward(problem, table.mask(memory.table), tensors_from(memory, request, table), stream);
}

void enqueue_backward(const fmha_bwd_problem& given, const char* name, const fmha_bwd_tensors& memory,
                      hipStream_t stream) {
  const Request request = request_from(given);
  const Problem& problem = request.problem;
  const RequestTable table(request);
  require<14>({{{"q", memory.q},
                {"k", memory.k},
                {"v", memory.v},
                {"d_o", memory.d_o},
                {"o", memory.o},
                {"lse", memory.lse},
                {"d", memory.d},
                {"dq", memory.dq},
                {"dk", memory.dk},
                {"dv", memory.dv},
                {"slopes", memory.slopes, problem.alibi},
                {"sink", memory.sink, problem.sink},
                {"dsink", memory.dsink, problem.sink},
                {"table", memory.table, table.bytes() > 0}}});
  const Family& family = family_for(request, name);
  require<2>({{{"dq_acc", memory.dq_acc, family.dq_acc_bytes(problem) > 0},
               {"scratch", memory.scratch, family.scratch_bytes(problem) > 0}}});
  enqueue_stages(problem, family, table.mask(memory.table), tensors_from(memory, request, table), stream);
}

/// Runs `body`; 0, or the exit code of what it threw, whose text goes to `message`.
template <class Body>
int code_of(char* message, std::size_t message_bytes, Body&& body) noexcept {
  const auto failed = [&](ExitCode code, const char* text) {
    if (message != nullptr && message_bytes > 0) std::snprintf(message, message_bytes, "%s", text);
    return static_cast<int>(code);
  };
  try {
    body();
    return static_cast<int>(ExitCode::passed);
  } catch (const Error& error) {
    return failed(error.code(), error.what());
  } catch (const std::exception& error) {
    return failed(ExitCode::device_error, error.what());
  } catch (...) {
    return failed(ExitCode::device_error, "an unknown error");
  }
}

}  // namespace
}  // namespace fmha_bwd::FMHA_BWD_PLATFORM

namespace library = fmha_bwd::FMHA_BWD_PLATFORM;

int fmha_bwd_sizes(const fmha_bwd_problem* problem, const char* family, fmha_bwd_workspace* workspace,
                   char* message, size_t message_bytes) {
  return library::code_of(message, message_bytes, [&] {
    library::required("workspace", workspace);
    library::fill_workspace(library::required("problem", problem), &library::required("family", family),
                            *workspace);
  });
}

int fmha_bwd_table(const fmha_bwd_problem* problem, void* table, size_t table_bytes, char* message,
                   size_t message_bytes) {
  return library::code_of(message, message_bytes, [&] {
    library::fill_table(library::required("problem", problem), table, table_bytes);
  });
}

int fmha_bwd_forward(const fmha_bwd_problem* problem, const char* family, const fmha_bwd_tensors* tensors,
                     void* stream, char* message, size_t message_bytes) {
  return library::code_of(message, message_bytes, [&] {
    library::enqueue_forward(library::required("problem", problem), &library::required("family", family),
                             library::required("tensors", tensors), static_cast<hipStream_t>(stream));
  });
}

int fmha_bwd_backward(const fmha_bwd_problem* problem, const char* family, const fmha_bwd_tensors* tensors,
                      void* stream, char* message, size_t message_bytes) {
  return library::code_of(message, message_bytes, [&] {
    library::enqueue_backward(library::required("problem", problem), &library::required("family", family),
                              library::required("tensors", tensors), static_cast<hipStream_t>(stream));
  });
}
