// Keyspace: one numbered database: keys, values, expiries.
//
// Everything that depends on an order is sorted, so that two runs agree: the hash table's own order never
// shows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/redis/object.h"

namespace holdfast::sim::embedded {

inline constexpr std::int64_t kNoExpiry = -1;
inline constexpr std::size_t kBytesOfKey = 64;  // an estimate of what a key costs beside its bytes

struct Entry {
  Value value;
  std::int64_t expires_at = kNoExpiry;  // ms since the epoch, on this server's wall clock
  std::size_t ttl_slot = 0;             // where `with_ttl_` points here, while expires_at is set
  std::uint64_t serial = 0;             // order of creation
  const std::string* key = nullptr;
  std::int64_t used_ms = 0;  // when a command last read or wrote it
  bool raw_text = false;     // a string that was written into: no integer, whatever it reads
};

class Keyspace {
 public:
  Entry* find(std::string_view key) {
    const auto it = entries_.find(key);
    return it == entries_.end() ? nullptr : &it->second;
  }
  Entry& insert(std::string_view key, Value value);  // REQUIRES: absent
  void erase(Entry& entry);
  bool erase(std::string_view key);
  void clear();

  void set_expiry(Entry& entry, std::int64_t at_ms);
  void clear_expiry(Entry& entry);

  std::size_t size() const { return entries_.size(); }
  std::size_t bytes() const;  // of keys and values, an estimate
  std::size_t with_ttl() const { return with_ttl_.size(); }
  double average_ttl(std::int64_t now_ms) const;
  void set_clock(const std::int64_t* now_ms) { now_ms_ = now_ms; }  // of new entries; outlives this

  template <class F>
  void each(F&& visit) const {  // visit(entry), in any order
    for (const auto& [key, entry] : entries_) visit(entry);
  }

  std::vector<Entry*> sorted();                      // by key
  std::vector<Entry*> expired(std::int64_t now_ms);  // `expires_at < now`, oldest expiry first
  Entry* nth(std::uint64_t n);                       // by order of creation; REQUIRES: not empty

 private:
  StringMap<Entry> entries_;
  std::vector<Entry*> with_ttl_;
  std::int64_t no_expiry_before_ = INT64_MAX;  // no key can be due earlier
  std::uint64_t next_serial_ = 1;
  const std::int64_t* now_ms_ = nullptr;
};

}  // namespace holdfast::sim::embedded
