// draw_case: a whole scenario out of what a hunt's ground leaves open.
//
// One part, one function, one stream of draws: what one part draws moves nothing in another, so that a part
// can be drawn anew while the others stay. What is drawn is a document: it can be printed, changed, run by
// hand.
#pragma once

#include <string>
#include <vector>

#include "sim/hunt/dice.h"
#include "sim/hunt/ground.h"

namespace holdfast::sim {

// The parts, in the order in which they are drawn; a later one reads what an earlier one said.
enum class Part { cluster, lock, workload, network, rare, faults };
inline constexpr Part kParts[] = {Part::cluster, Part::lock, Part::workload,
                                  Part::network, Part::rare, Part::faults};

// What the ground says, and nothing more than a scenario needs besides. It parses if what is given does.
Value least_case(const Ground& ground);
// A case that parses, if what is given does. Complexity: some 100 µs.
Value draw_case(const Ground& ground, const Rng& rng);
// The same case with one part drawn anew; faults that no longer fit to it (of a node that is gone) are left
// out. The case as it was, if that does not do.
Value redraw(const Ground& ground, const Value& document, Part part, const Rng& rng);
// One fault more, which goes with the case: one `[[fault]]` table. nullopt: none of those drawn fitted.
std::optional<Value> draw_fault(const Ground& ground, const Value& document, const Rng& rng);

// Expects what the lock promises in this case, where the ground does not say what is expected: it depends on
// the faults.
void expect_promises(const Ground& ground, Value& document);

// Sections in the order in which people read them; faults, expectations and variants last.
void put_in_order(Value& document);

// Whether it can be run as a case of this ground: it parses, and the lock bears its faults.
bool fits(const Ground& ground, const Value& document);

}  // namespace holdfast::sim
