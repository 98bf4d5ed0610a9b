// The items of a list that a Value holds as a structure, in the canonical form of either format: `[[:r :x 1]
// 2]`, `#{1 2}`, `[["r","x",1],2]`, `{"edn":"#{1 2}"}`, `#json "[1,2]"`. Read again where a model needs them;
// else such a value is compared as a whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checker/history/history.h"

namespace holdfast::checker {

// An item in one form for both formats, to be compared and to be taken apart again: `nil`, `17`, `:a`, `"a"`
// with the escapes of the format, `[1 2]`.
using ItemText = std::string;

// What `value` is as an item.
ItemText item_of(const History& names, Value value);

// The items of a list or a set, in their order. nullopt: it is something else.
std::optional<std::vector<ItemText>> items_of(const ItemText& text);

// A word: `r` of :r and of "r". Anything else is given back as it is.
std::string_view word_of(std::string_view item);

}  // namespace holdfast::checker
