// Interrupt: SIGINT and SIGTERM ask a search to end with what it has.
#pragma once

namespace holdfast::tools {

// From now on these signals are kept. The second of a kind ends the process.
void keep_interrupts();
bool interrupted();

}  // namespace holdfast::tools
