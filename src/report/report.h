// A run's report in the format that was asked for, to where it was asked for.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "src/options.h"
#include "src/terminal.h"

namespace fmha_bwd {

/// The report as text, with colours where `colour`; pictures are at most `width` columns wide.
std::string report_text(const RunResult& run, const Options& options, bool colour, int width);

/// Writes `text` to console.out. Throws Error (device_error) where that fails.
void print(const Console& console, const std::string& text);

/// Writes "fmha_bwd: message" to console.err as one line: control characters, a line's end among them, become
/// "\x0a".
void print_error(const Console& console, std::string_view message);

/// Throws what write_file would where the file cannot be written, so that a long run is not in vain.
void check_writable(const std::filesystem::path& path, std::string_view option = "--output");

/// Writes `text` to `path` so that the file holds all of it or is as it was: a file beside it is written and
/// renamed. What is not an ordinary file (a pipe, /dev/null) is written to directly. Throws Error
/// (device_error) that names the option, the file and the reason.
void write_file(const std::filesystem::path& path, const std::string& text,
                std::string_view option = "--output");

/// Writes the report to options.output, then says so on console.err unless options.quiet; or to console.out.
/// Throws Error (device_error) where it cannot be written.
void write_report(const RunResult& run, const Options& options, const Console& console);

}  // namespace fmha_bwd
