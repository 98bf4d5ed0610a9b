// What the two models of queues share: how operations are prepared, and when an order exists.
//
// A dequeue takes out the value that it returns; one that returns nil found the queue empty. One of unknown
// outcome takes out anything, or nothing, or never happens.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

// The value of a dequeue of unknown outcome, when it is prepared. Others are numbers from 0, or nothing.
inline constexpr std::int64_t kAnything = -1;

// Values become numbers, and an enqueue of unknown outcome whose value no dequeue returned is left out: it
// need not have happened. Throws BadOperation for an enqueue of nil.
std::vector<Operation> prepare_queue(const History& names, const std::vector<Operation>& operations);

// As Model::decide(), of prepared operations. O(n log n); models/README.md has the proofs.
std::optional<std::string_view> decide_queue(const std::vector<Operation>& operations, bool in_order,
                                             std::string& why_not);

}  // namespace holdfast::checker
