#include "sim/replay/shown_record.h"

#include <fmt/format.h>

#include <memory>
#include <variant>

#include "checker/story/text_layout.h"

namespace holdfast::sim {
namespace {

constexpr std::size_t kMostOfText = 120;

std::string shown(std::string_view text) { return checker::printable(checker::shortened(text, kMostOfText)); }

class Reader {
 public:
  Reader(Replay::Record& record, std::size_t most, const OwnerOf& owner)
      : record_(record), most_(most), owner_(owner) {}

  void operator()(const std::string& text) { add("", text, text); }
  void operator()(const std::unique_ptr<embedded::List>& list) {
    std::size_t place = 0;
    for (const std::string& one : *list) add(std::to_string(place++), one, one);
  }
  void operator()(const std::unique_ptr<embedded::Hash>& hash) {
    hash->each([this](const std::string& field, const std::string& value) { add(field, value, field); });
  }
  void operator()(const std::unique_ptr<embedded::Set>& set) {
    for (const std::string_view member : set->ordered()) add(member, "", member);
  }
  void operator()(const std::unique_ptr<embedded::SortedSet>& set) {
    for (const embedded::SortedSet::Item& item : set->items())
      add(item.member, fmt::format("{:.17g}", item.score), item.member);
  }

 private:
  void add(std::string_view name, std::string_view value, std::string_view names) {
    if (record_.elements.size() == most_) {
      ++record_.left_out;
      return;
    }
    record_.elements.push_back({.name = shown(name), .value = shown(value), .owner = owner_(names)});
  }

  Replay::Record& record_;
  const std::size_t most_;
  const OwnerOf& owner_;
};

}  // namespace

Replay::Record shown_record(const embedded::Entry& entry, std::size_t most_elements, const OwnerOf& owner) {
  Replay::Record record;
  record.type = embedded::type_name(entry.value);
  if (entry.expires_at != embedded::kNoExpiry) record.expires = entry.expires_at;
  Reader reader(record, most_elements, owner);
  std::visit(reader, entry.value);
  return record;
}

}  // namespace holdfast::sim
