#include <csignal>

#include "src/program.h"
#include "src/terminal.h"

int main(int argc, char** argv) {
  // A file that grows beyond its limit is then an error like a full disk.
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  return fmha_bwd::run_program(argc, argv, fmha_bwd::standard_console());
}
