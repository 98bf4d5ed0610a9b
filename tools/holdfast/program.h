// The `holdfast` command: arguments in, exit code out.
#pragma once

namespace holdfast::tools {

// The whole of main(). Prints what goes wrong; does not throw. Once in a process.
int run_program(int argc, char** argv);

}  // namespace holdfast::tools
