#include "tools/holdfast/program.h"

int main(int argc, char** argv) { return holdfast::tools::run_program(argc, argv); }
