#include "src/program.h"
#include "src/terminal.h"

int main(int argc, char** argv) { return fmha_bwd::run_program(argc, argv, fmha_bwd::standard_console()); }
