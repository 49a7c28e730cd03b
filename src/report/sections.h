// The sections of the table report; each is a heading and its lines.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "src/report/table.h"

namespace fmha_bwd {

/// "\nTitle  (note)\n".
std::string heading(std::string_view title, std::string_view note, const TableStyle& style);

/// The mask's name, cut where it is long.
std::string label_of(const MaskSpec& mask);

/// Problem, device, kernels and inputs.
std::string header_section(const RunResult& run, const TableStyle& style);
/// Density, mean |gradient| and the largest difference to no_mask.
std::string gradients_section(const RunResult& run, const TableStyle& style);
/// Which rows were verified and what that is worth; empty where all were, or none.
std::string sample_lines(const RunResult& run, const TableStyle& style);
/// Each tensor's errors against their budgets, of the fp64 reference and of the device's where it was asked.
std::string verification_section(const RunResult& run, const TableStyle& style);
/// Whether repeated runs gave the same bits; empty where nothing was repeated.
std::string determinism_section(const RunResult& run, const TableStyle& style);
/// Where kernels access shared memory and what that costs; empty where it was not counted.
std::string shared_memory_section(const RunResult& run, const TableStyle& style);
/// Ranges of D and of the gradients, sparsity of P, empty rows and keys.
std::string details_section(const RunResult& run, const TableStyle& style);
std::string norms_section(const RunResult& run, const TableStyle& style);
/// Stage times and rates.
std::string performance_section(const RunResult& run, const TableStyle& style);
/// The whole of each mask; in group mode over the first sequence that has pairs.
std::string pictures_section(const RunResult& run, const TableStyle& style);
/// What is wrong with each mask that failed: how many elements, the worst ones, the command that reproduces
/// it.
std::string failures_section(const RunResult& run, const TableStyle& style);
/// One line a mask and the conclusion.
std::string summary_lines(const RunResult& run, const TableStyle& style);

}  // namespace fmha_bwd
