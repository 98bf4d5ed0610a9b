// multi-register: several registers, which one operation reads and writes together: a `txn` whose value is a
// list of [:r register value] and [:w register value], one after another. After Knossos's model of that name,
// which says :read and :write; both names are taken. A read of nil is legal as in register.cc.
//
// Registers that no operation brings together have nothing to do with each other: operations are judged in
// parts, one for each set of registers that are connected. Each operation becomes a number into a table of
// lists. State: [value of each register ...].
#include <algorithm>
#include <map>
#include <numeric>

#include "checker/history/structure.h"
#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

namespace {

struct Access {
  bool writes = false;
  std::int64_t item = 0, value = 0;  // item: the register
  auto operator<=>(const Access&) const = default;
};
using Accesses = std::vector<Access>;

class PreparedMultiRegister : public Model {
 public:
  PreparedMultiRegister(std::vector<Accesses> lists, std::size_t registers, std::int64_t initial)
      : lists_(std::move(lists)), initial_(registers, initial) {}
  bool locks() const override { return false; }
  bool owners() const override { return false; }
  bool takes(Function f) const override { return f == Function::txn; }
  State initial() const override { return initial_; }
  bool observes(const Operation& operation) const override {
    const Accesses& list = list_of(operation);
    return std::none_of(list.begin(), list.end(), [](const Access& each) { return each.writes; });
  }
  bool overwrites(const Operation& operation) const override {
    const Accesses& list = list_of(operation);  // each register once
    return list.size() == initial_.size() &&
           std::all_of(list.begin(), list.end(), [](const Access& each) { return each.writes; });
  }
  bool step(State& state, const Operation& operation) const override {
    for (const Access& each : list_of(operation)) {
      std::int64_t& item = state[static_cast<std::size_t>(each.item)];
      if (!each.writes && item != each.value) return false;
      item = each.value;
    }
    return true;
  }

 private:
  const Accesses& list_of(const Operation& operation) const {
    return lists_[static_cast<std::size_t>(operation.value.number())];
  }
  const std::vector<Accesses> lists_;
  const State initial_;
};

// Names in the order in which they come up.
class Numbers {
 public:
  std::int64_t of(const ItemText& text) {
    return numbers_.try_emplace(text, static_cast<std::int64_t>(numbers_.size())).first->second;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<ItemText, std::int64_t> numbers_;
};

// The operations of one key.
class Preparation {
 public:
  Preparation(const History& names, Value initial)
      : names_(names), free_nil_(!initial.empty()), initial_(values_.of(item_of(names, initial))) {}

  std::vector<ModelPart> parts(const std::vector<Operation>& operations) {
    std::vector<Accesses> lists;
    for (const Operation& each : operations) lists.push_back(read(each));
    std::vector<std::int64_t> group(registers_.size());  // by register: one that it is connected with
    std::iota(group.begin(), group.end(), 0);
    const auto root = [&](std::int64_t item) {
      while (group[static_cast<std::size_t>(item)] != item) item = group[static_cast<std::size_t>(item)];
      return item;
    };
    for (const Accesses& list : lists) {
      for (const Access& each : list) group[static_cast<std::size_t>(root(each.item))] = root(list[0].item);
    }
    struct Part {
      std::vector<Operation> operations;
      std::map<std::int64_t, std::int64_t> registers;  // numbers within the part
      std::map<Accesses, std::int64_t> numbers;
      std::vector<Accesses> lists;
    };
    std::map<std::int64_t, Part> found;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (lists[i].empty()) continue;  // it says nothing
      Part& part = found[root(lists[i][0].item)];
      for (Access& each : lists[i]) {
        each.item = part.registers.try_emplace(each.item, static_cast<std::int64_t>(part.registers.size()))
                        .first->second;
      }
      const auto [number, fresh] =
          part.numbers.try_emplace(lists[i], static_cast<std::int64_t>(part.lists.size()));
      if (fresh) part.lists.push_back(lists[i]);
      part.operations.push_back(operations[i]);
      part.operations.back().value = Value(number->second);
    }
    std::vector<ModelPart> parts;
    for (auto& [first, part] : found) {
      const std::size_t registers = part.registers.size();
      parts.push_back({std::make_unique<PreparedMultiRegister>(std::move(part.lists), registers, initial_),
                       std::move(part.operations)});
    }
    return parts;
  }

 private:
  // The last write of each register, and the first read of one that was not written before.
  Accesses read(const Operation& operation) {
    const auto list = items_of(item_of(names_, operation.value));
    if (!list) bad(operation, names_.shown(operation.value));
    std::map<std::int64_t, Access> reads, writes;
    for (const ItemText& text : *list) {
      const auto parts = items_of(text);
      const std::string_view f = parts && !parts->empty() ? word_of(parts->front()) : "";
      const bool writes_it = f == "w" || f == "write";
      if ((!writes_it && f != "r" && f != "read") || parts->size() > 3 || parts->size() < (writes_it ? 3 : 2))
        bad(operation, text);
      const std::int64_t item = registers_.of((*parts)[1]);
      const ItemText value = parts->size() == 2 ? "nil" : (*parts)[2];
      if (writes_it) {
        writes[item] = {true, item, values_.of(value)};
        continue;
      }
      // Of an unknown outcome, nobody knows what it read.
      if (operation.unknown || (free_nil_ && value == "nil")) continue;
      const Access seen{false, item, values_.of(value)};
      const auto written = writes.find(item), before = reads.find(item);
      const Access* const same = written != writes.end() ? &written->second
                                 : before != reads.end() ? &before->second
                                                         : nullptr;
      if (same == nullptr) {
        reads[item] = seen;
      } else if (same->value != seen.value) {
        reads[item] = {false, item, kNever};  // it reads what it cannot have written, or two values at once
      }
    }
    Accesses accesses;
    for (const auto& [item, each] : reads) accesses.push_back(each);
    for (const auto& [item, each] : writes) accesses.push_back(each);
    return accesses;
  }
  static constexpr std::int64_t kNever = -1;  // no register has this value
  [[noreturn]] static void bad(const Operation& operation, const std::string& found) {
    throw BadOperation(operation, "a txn with " + found +
                                      ", expected a list of [:r register value] and "
                                      "[:w register value]");
  }

  const History& names_;
  const bool free_nil_;
  Numbers registers_, values_;
  const std::int64_t initial_;
};

class MultiRegisterModel : public PreparedMultiRegister {
 public:
  explicit MultiRegisterModel(Value initial) : PreparedMultiRegister({}, 0, 0), initial_(initial) {}
  std::vector<ModelPart> prepare(const History& names,
                                 const std::vector<Operation>& operations) const override {
    std::vector<ModelPart> parts = Preparation(names, initial_).parts(operations);
    if (parts.empty()) parts.push_back({std::make_unique<PreparedMultiRegister>(*this), {}});
    return parts;
  }

 private:
  const Value initial_;
};

}  // namespace

std::unique_ptr<Model> make_multi_register(const ModelOptions& options) {
  return std::make_unique<MultiRegisterModel>(options.initial);
}

}  // namespace holdfast::checker
