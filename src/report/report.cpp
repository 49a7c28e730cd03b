#include "src/report/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "base/error.h"
#include "src/report/csv.h"
#include "src/report/escape.h"
#include "src/report/json.h"
#include "src/report/table.h"
#include "src/report/verdict.h"

namespace fmha_bwd {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string_view option, const fs::path& path, const std::error_code& reason) {
  throw Error(ExitCode::device_error,
              fmt::format("{}: cannot write '{}': {}", option, path.string(), reason.message()));
}

std::error_code last_error() { return {errno, std::generic_category()}; }

/// A pipe, a terminal, /dev/null, a directory: there, and not an ordinary file.
bool is_special(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status);
}

/// What `path` leads to where it is a symbolic link, so that a rename does not replace the link.
fs::path behind_links(const fs::path& path) {
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  return error ? path : target;
}

/// Not there yet: what a killed run with this one's number left is removed.
fs::path partial_beside(const fs::path& path) {
  fs::path partial = behind_links(path);
  partial += fmt::format(".{}.partial", getpid());
  std::error_code ignored;
  fs::remove(partial, ignored);
  return partial;
}

/// Writes `text` to the file at `path`, opened with `mode`; success is no error.
std::error_code write_all(const fs::path& path, const char* mode, const std::string& text) {
  struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };
  std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), mode));
  if (!file) return last_error();
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) return last_error();
  if (std::fclose(file.release()) != 0) return last_error();
  return {};
}

}  // namespace

std::string report_text(const RunResult& run, const Options& options, bool colour, int width) {
  switch (options.format) {
    case Format::table:
      return table_report(run, {colour, options.quiet, options.verbose, static_cast<std::size_t>(width)});
    case Format::json:
      return json_report(run);
    case Format::csv:
      return csv_report(run);
  }
  return "";
}

void print(const Console& console, const std::string& text) {
  console.out << text << std::flush;
  if (!console.out) throw Error(ExitCode::device_error, "cannot write to stdout");
}

void print_error(const Console& console, std::string_view message) {
  console.err << fmt::format("fmha_bwd: {}\n", one_line(message)) << std::flush;
}

void check_writable(const fs::path& path, std::string_view option) {
  std::error_code reason;
  if (is_special(path)) {
    reason = access(path.c_str(), W_OK) == 0 ? std::error_code() : last_error();
    if (fs::is_directory(path)) reason = std::make_error_code(std::errc::is_a_directory);
  } else {
    const fs::path partial = partial_beside(path);
    reason = write_all(partial, "wbx", "");
    std::error_code ignored;
    fs::remove(partial, ignored);
  }
  if (reason) fail(option, path, reason);
}

void write_file(const fs::path& path, const std::string& text, std::string_view option) {
  if (is_special(path)) {
    if (const std::error_code reason = write_all(path, "wb", text)) fail(option, path, reason);
    return;
  }
  const fs::path partial = partial_beside(path);
  std::error_code reason = write_all(partial, "wbx", text);
  if (!reason) fs::rename(partial, behind_links(path), reason);
  if (!reason) return;
  std::error_code ignored;
  fs::remove(partial, ignored);
  fail(option, path, reason);
}

void write_report(const RunResult& run, const Options& options, const Console& console) {
  const bool to_file = options.output.has_value();
  const std::string text =
      report_text(run, options, console.out_colour && !to_file, to_file ? kDefaultWidth : console.out_width);
  if (!options.output) return print(console, text);
  write_file(*options.output, text);
  if (!options.quiet) console.err << fmt::format("{}; report in {}\n", conclusion(run), *options.output);
}

}  // namespace fmha_bwd
