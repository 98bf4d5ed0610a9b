// holdfast_planted: the `holdfast` command, whose scenarios may name the wrong versions of our locks
// (sim/planted) as well. It is built with the tests, and never installed.
#include "sim/planted/planted.h"
#include "tools/holdfast/program.h"

int main(int argc, char** argv) {
  holdfast::sim::add_planted_kinds();
  return holdfast::tools::run_program(argc, argv);
}
