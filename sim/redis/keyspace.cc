#include "sim/redis/keyspace.h"

#include <algorithm>

namespace holdfast::sim::embedded {

Entry& Keyspace::insert(std::string_view key, Value value) {
  const auto [it, inserted] = entries_.try_emplace(std::string(key));
  Entry& entry = it->second;
  entry.value = std::move(value);
  entry.serial = next_serial_++;
  entry.key = &it->first;
  entry.used_ms = now_ms_ == nullptr ? 0 : *now_ms_;
  return entry;
}

void Keyspace::erase(Entry& entry) {
  clear_expiry(entry);
  entries_.erase(entries_.find(*entry.key));
}

bool Keyspace::erase(std::string_view key) {
  Entry* entry = find(key);
  if (entry == nullptr) return false;
  erase(*entry);
  return true;
}

void Keyspace::clear() {
  entries_.clear();
  with_ttl_.clear();
  no_expiry_before_ = INT64_MAX;
}

void Keyspace::set_expiry(Entry& entry, std::int64_t at_ms) {
  if (entry.expires_at == kNoExpiry) {
    entry.ttl_slot = with_ttl_.size();
    with_ttl_.push_back(&entry);
  }
  entry.expires_at = at_ms;
  no_expiry_before_ = std::min(no_expiry_before_, at_ms);
}

void Keyspace::clear_expiry(Entry& entry) {
  if (entry.expires_at == kNoExpiry) return;
  entry.expires_at = kNoExpiry;
  Entry* last = with_ttl_.back();
  with_ttl_[entry.ttl_slot] = last;
  last->ttl_slot = entry.ttl_slot;
  with_ttl_.pop_back();
}

double Keyspace::average_ttl(std::int64_t now_ms) const {
  if (with_ttl_.empty()) return 0;
  double sum = 0;
  for (const Entry* entry : with_ttl_)
    sum += static_cast<double>(std::max<std::int64_t>(0, entry->expires_at - now_ms));
  return sum / static_cast<double>(with_ttl_.size());
}

std::size_t Keyspace::bytes() const {
  std::size_t sum = 0;
  for (const auto& [key, entry] : entries_) sum += kBytesOfKey + key.size() + bytes_of(entry.value);
  return sum;
}

std::vector<Entry*> Keyspace::sorted() {
  std::vector<Entry*> result;
  result.reserve(entries_.size());
  for (auto& [key, entry] : entries_) result.push_back(&entry);
  std::sort(result.begin(), result.end(), [](const Entry* a, const Entry* b) { return *a->key < *b->key; });
  return result;
}

std::vector<Entry*> Keyspace::expired(std::int64_t now_ms) {
  std::vector<Entry*> due;
  if (no_expiry_before_ >= now_ms) return due;
  std::int64_t earliest = INT64_MAX;
  for (Entry* entry : with_ttl_) {
    if (entry->expires_at < now_ms) {
      due.push_back(entry);
    } else {
      earliest = std::min(earliest, entry->expires_at);
    }
  }
  no_expiry_before_ = earliest;
  std::sort(due.begin(), due.end(), [](const Entry* a, const Entry* b) {
    return a->expires_at != b->expires_at ? a->expires_at < b->expires_at : a->serial < b->serial;
  });
  return due;
}

Entry* Keyspace::nth(std::uint64_t n) {
  std::vector<Entry*> all;
  all.reserve(entries_.size());
  for (auto& [key, entry] : entries_) all.push_back(&entry);
  const auto place = all.begin() + static_cast<std::ptrdiff_t>(n % all.size());
  std::nth_element(all.begin(), place, all.end(),
                   [](const Entry* a, const Entry* b) { return a->serial < b->serial; });
  return *place;
}

}  // namespace holdfast::sim::embedded
