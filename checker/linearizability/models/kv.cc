// kv: a store that maps keys to texts, with put (write), get (read) and append, as Porcupine's model of that
// name. Keys have nothing to do with each other, so each is judged by itself. A key that was never put is the
// empty text, and so is nil, written or read.
//
// Each value is a number into a table of the texts that gets returned, sorted. Only beginnings of those texts
// matter: from any other text no get that returned is legal before the next put, so they all are one state.
// State: [first, last, length]: the texts first .. last - 1 of the table begin with what is there, and it is
// so long; [0, 0, 0]: none of them does.
#include <algorithm>
#include <map>
#include <string>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

namespace {

// What is no text is put between marks that no text has, since a text has the first of them doubled.
std::string text_of(const History& names, Value value) {
  if (value.empty()) return {};
  const bool text = value.kind() == Value::Kind::text;
  std::string marked;
  for (const char c : text ? std::string(names.text(value.symbol())) : names.shown(value)) {
    marked += c;
    if (c == '\1') marked += c;
  }
  return text ? marked : "\1\2" + marked + "\1\3";
}

class PreparedKv : public Model {
 public:
  PreparedKv(std::vector<std::string> read, std::vector<std::string> written)
      : read_(std::move(read)), written_(std::move(written)) {}
  bool locks() const override { return false; }
  bool owners() const override { return false; }
  bool takes(Function f) const override {
    return f == Function::read || f == Function::write || f == Function::append;
  }
  State initial() const override { return {0, static_cast<std::int64_t>(read_.size()), 0}; }
  bool observes(const Operation& operation) const override { return operation.f == Function::read; }
  bool overwrites(const Operation& operation) const override { return operation.f == Function::write; }
  bool step(State& state, const Operation& operation) const override {
    const std::int64_t value = operation.value.number();
    if (operation.f == Function::read) {
      // The shortest of those that begin alike comes first.
      return state[1] > state[0] && state[0] == value &&
             state[2] == static_cast<std::int64_t>(read_[static_cast<std::size_t>(value)].size());
    }
    if (operation.f == Function::write) state = initial();
    if (state[1] > state[0]) extend(state, written_[static_cast<std::size_t>(value)]);
    return true;
  }

 private:
  void extend(State& state, const std::string& more) const {
    const auto at = static_cast<std::size_t>(state[2]);
    const auto begin = read_.begin() + state[0], end = read_.begin() + state[1];
    const auto from = std::partition_point(
        begin, end, [&](const std::string& text) { return text.compare(at, more.size(), more) < 0; });
    const auto to = std::partition_point(
        from, end, [&](const std::string& text) { return text.compare(at, more.size(), more) == 0; });
    if (from == to) {
      state = {0, 0, 0};
    } else {
      state = {from - read_.begin(), to - read_.begin(), state[2] + static_cast<std::int64_t>(more.size())};
    }
  }

  const std::vector<std::string> read_, written_;
};

class KvModel : public PreparedKv {
 public:
  KvModel() : PreparedKv({}, {}) {}
  std::vector<ModelPart> prepare(const History& names,
                                 const std::vector<Operation>& operations) const override {
    ModelPart part;
    part.operations = operations;
    std::map<std::string, std::int64_t> read, written;
    for (const Operation& each : operations) {
      const bool text = each.value.empty() || each.value.kind() == Value::Kind::text;
      if (each.f == Function::append && !text) {
        throw BadOperation(each, "an append of " + names.shown(each.value) + ", expected a text");
      }
      (each.f == Function::read ? read : written).try_emplace(text_of(names, each.value));
    }
    std::vector<std::string> reads, writes;
    for (auto* const table : {&read, &written}) {
      std::vector<std::string>& list = table == &read ? reads : writes;
      for (auto& [text, number] : *table) {
        number = static_cast<std::int64_t>(list.size());
        list.push_back(text);
      }
    }
    for (Operation& each : part.operations) {
      each.value = Value((each.f == Function::read ? read : written)[text_of(names, each.value)]);
    }
    part.model = std::make_unique<PreparedKv>(std::move(reads), std::move(writes));
    std::vector<ModelPart> parts;
    parts.push_back(std::move(part));
    return parts;
  }
};

}  // namespace

std::unique_ptr<Model> make_kv(const ModelOptions&) { return std::make_unique<KvModel>(); }

}  // namespace holdfast::checker
