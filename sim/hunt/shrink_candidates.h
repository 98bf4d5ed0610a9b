// Candidates: what a scenario may be with something less, or with something simpler in its place.
//
// Each function makes a list of whole documents, in the order in which they are worth a try; not all of them
// parse. What they share they do not decide: which of them still fails, and which is simpler (shrink.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/scenario/document.h"

namespace holdfast::sim {

struct Candidate {
  Value document;
  // Clients and faults that have another name in it: "c7" -> "c1".
  std::map<std::string, std::string> renamed = {};
};
using Candidates = std::vector<Candidate>;

// Without all faults, halves, quarters, ..., single ones (delta debugging). Who waits for one that is gone
// waits for what that one waited for, so that a fault that only gives the time to others can go.
Candidates fewer_faults(const Value& document);
// Faults stay; clients that they name become some of those that are left.
Candidates fewer_clients(const Value& document);
// Fewer threads, rounds, and holds within each other.
Candidates less_work(const Value& document);
// More rounds, and then of three clients where there are fewer: what happens now and then happens in each
// run.
Candidates more_work(const Value& document);
// A smaller topology of the same sort of lock.
Candidates smaller_clusters(const Value& document);
// Without one key each; a range of latencies, an order of tasks as the simplest there is.
Candidates fewer_keys(const Value& document);
// One number smaller, or one time shorter and rounder, each.
Candidates simpler_values(const Value& document);

// The number that a section has under that key; else `otherwise`.
std::int64_t number_at(const Value& document, const char* section, const char* key, std::int64_t otherwise);

// Faults whose ids say what they do: "crash", "pause-client-2".
Candidate with_plain_ids(const Value& document);

}  // namespace holdfast::sim
