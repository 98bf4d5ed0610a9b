// set: `add` puts a value in, and nothing takes one out; `read` returns all that are inside, as a list or a
// set in any order. It starts empty. State: [values, sorted ...].
//
// Jepsen's checker of that name looks at the last read alone: it must have every value whose add was ok, and
// none that nobody asked to add. This model is stricter, as it looks at every read, and at when it was made;
// but it has nothing against a history that ends before a value was read.
#include <algorithm>
#include <map>
#include <set>

#include "checker/history/structure.h"
#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

namespace {

using Values = std::vector<std::int64_t>;
using std::string_view_literals::operator""sv;

class PreparedSet : public Model {
 public:
  explicit PreparedSet(std::vector<Values> read) : read_(std::move(read)) {}
  bool locks() const override { return false; }
  bool owners() const override { return false; }
  bool takes(Function f) const override { return f == Function::add || f == Function::read; }
  State initial() const override { return {}; }
  bool observes(const Operation& operation) const override { return operation.f == Function::read; }
  bool step(State& state, const Operation& operation) const override {
    if (operation.f == Function::read) return state == list_of(operation);
    const std::int64_t value = operation.value.number();
    const auto place = std::lower_bound(state.begin(), state.end(), value);
    if (place == state.end() || *place != value) state.insert(place, value);
    return true;
  }
  std::optional<std::string_view> decide(const std::vector<Operation>& operations,
                                         std::string& why_not) const override;

 private:
  const Values& list_of(const Operation& operation) const {
    return read_[static_cast<std::size_t>(operation.value.number())];
  }
  const std::vector<Values> read_;  // sorted; one that has a value twice is no set, and no state
};

// The reads fix the order: sorted by what they returned, each has what the one before it had. So every
// operation has a level: reads of the same list one, and between two of them the adds of what the later one
// has in addition. An order exists exactly when no operation returned before another of a lower level was
// called. Of the adds of one value only the first to be called must have that level; the others come at any
// later one.
std::optional<std::string_view> PreparedSet::decide(const std::vector<Operation>& operations,
                                                    std::string&) const {
  std::vector<const Operation*> reads;
  std::map<std::int64_t, std::size_t> first_add;  // by value
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& each = operations[i];
    if (each.f == Function::add) {
      first_add.try_emplace(each.value.number(), i);
    } else if (!each.unknown) {
      reads.push_back(&each);
    }
  }
  std::sort(reads.begin(), reads.end(), [&](const Operation* a, const Operation* b) {
    const std::size_t of_a = list_of(*a).size(), of_b = list_of(*b).size();
    return of_a != of_b ? of_a < of_b : a->value < b->value;
  });
  std::map<std::int64_t, std::int64_t> level_of_list, level_of_value;
  std::int64_t level = 0;
  const Values nothing;
  const Values* before = &nothing;
  for (const Operation* const each : reads) {
    if (!level_of_list.try_emplace(each->value.number(), level + 2).second) continue;
    level += 2;
    const Values& list = list_of(*each);
    if (!std::includes(list.begin(), list.end(), before->begin(), before->end())) return "lost-element"sv;
    for (std::size_t at = 0; at < list.size(); ++at) {
      if (at > 0 && list[at] == list[at - 1]) return "element-twice"sv;
      if (!first_add.contains(list[at])) return "read-of-nothing"sv;
      level_of_value.try_emplace(list[at], level - 1);
    }
    before = &list;
  }
  std::int64_t most = 0;  // the level that what has returned has at least
  for (const Endpoint& endpoint : endpoints_of(operations)) {
    const Operation& each = operations[endpoint.operation];
    if (each.f == Function::read) {
      if (each.unknown) continue;
      const std::int64_t mine = level_of_list[each.value.number()];
      if (!endpoint.returns && most > mine) return "lost-element"sv;
      if (endpoint.returns) most = std::max(most, mine);
      continue;
    }
    const auto found = level_of_value.find(each.value.number());
    const std::int64_t mine = found == level_of_value.end() ? level + 1 : found->second;
    if (endpoint.returns) {
      most = std::max(most, mine);
    } else if (found != level_of_value.end() && first_add[each.value.number()] == endpoint.operation &&
               most > mine) {
      return "read-of-nothing"sv;
    }
  }
  return ""sv;
}

class SetModel : public PreparedSet {
 public:
  SetModel() : PreparedSet({}) {}
  std::vector<ModelPart> prepare(const History& names,
                                 const std::vector<Operation>& operations) const override {
    ModelPart part;
    std::map<ItemText, std::int64_t> numbers;
    const auto number = [&](const ItemText& text) {
      return numbers.try_emplace(text, static_cast<std::int64_t>(numbers.size())).first->second;
    };
    std::map<Values, std::int64_t> known;
    std::vector<Values> lists;
    std::set<std::int64_t> seen;
    for (const Operation& each : operations) {
      part.operations.push_back(each);
      Value& value = part.operations.back().value;
      if (each.f == Function::add) {
        value = Value(number(item_of(names, value)));
        continue;
      }
      const auto items = items_of(item_of(names, value));
      if (!items) {
        throw BadOperation(each, "a read of " + names.shown(value) + ", expected a list of what is inside");
      }
      Values list;
      for (const ItemText& item : *items) list.push_back(number(item));
      std::sort(list.begin(), list.end());
      seen.insert(list.begin(), list.end());
      const auto [at, fresh] = known.try_emplace(list, static_cast<std::int64_t>(lists.size()));
      if (fresh) lists.push_back(std::move(list));
      value = Value(at->second);
    }
    // Of unknown outcome, and never seen: it need not have happened.
    std::erase_if(part.operations, [&](const Operation& each) {
      return each.f == Function::add && each.unknown && !seen.contains(each.value.number());
    });
    part.model = std::make_unique<PreparedSet>(std::move(lists));
    std::vector<ModelPart> parts;
    parts.push_back(std::move(part));
    return parts;
  }
};

}  // namespace

std::unique_ptr<Model> make_set(const ModelOptions&) { return std::make_unique<SetModel>(); }

}  // namespace holdfast::checker
