// Truth of a semaphore whose record is a number: how many permits are free. Nobody's name stands there, so
// what is compared is how many: each change of the number with one command of the ledger, and the permits
// that are claimed with those that the server does not count as free.
#pragma once

#include "checker/checks/truth.h"

namespace holdfast::checker {

// The history's keyspaces have such records (kOfFreePermits).
bool counts_permits(const History& history);

// REQUIRES: counts_permits(history).
Truth compare_counts(const History& history, const CheckContext& context);

}  // namespace holdfast::checker
