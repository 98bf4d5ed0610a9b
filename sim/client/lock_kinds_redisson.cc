// Redisson 3.13.6 as published, and what came of it later (lib/historic).
#include "sim/client/lock_kind_rows.h"

namespace holdfast::sim {

std::vector<LockKind> historic_redisson_kinds() { return {}; }

}  // namespace holdfast::sim
