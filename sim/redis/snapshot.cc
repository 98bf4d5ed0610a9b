#include "sim/redis/snapshot.h"

#include <bit>
#include <boost/crc.hpp>
#include <cstdlib>

#include "sim/redis/resp.h"

namespace holdfast::sim::embedded {
namespace {

enum Type : unsigned char { kString = 0, kList = 1, kSet = 2, kHash = 4, kSortedSet = 5 };
enum Mark : unsigned char { kAux = 0xFA, kResize = 0xFB, kExpiryMs = 0xFC, kDatabase = 0xFE, kEnd = 0xFF };

constexpr std::string_view kStreamDb = "repl-stream-db";

void put_byte(std::string& to, unsigned value) { to += static_cast<char>(value); }

void put_little_endian(std::string& to, std::uint64_t value) {
  for (unsigned i = 0; i < 8; ++i) put_byte(to, static_cast<unsigned>(value >> (8 * i)) & 0xFF);
}

void put_length(std::string& to, std::uint64_t length) {
  if (length < 64) {
    put_byte(to, static_cast<unsigned>(length));
  } else if (length < 16384) {
    put_byte(to, static_cast<unsigned>(0x40 | (length >> 8)));
    put_byte(to, static_cast<unsigned>(length & 0xFF));
  } else {
    put_byte(to, 0x81);
    for (int shift = 56; shift >= 0; shift -= 8) put_byte(to, static_cast<unsigned>(length >> shift) & 0xFF);
  }
}

void put_text(std::string& to, std::string_view text) {
  put_length(to, text.size());
  to += text;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  bool ok() const { return ok_; }
  unsigned byte() {
    if (at_ >= bytes_.size()) return ok_ = false, 0u;
    return static_cast<unsigned char>(bytes_[at_++]);
  }
  std::uint64_t little_endian(unsigned count) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < count; ++i) value |= static_cast<std::uint64_t>(byte()) << (8 * i);
    return value;
  }
  std::uint64_t big_endian(unsigned count) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < count; ++i) value = value << 8 | byte();
    return value;
  }
  // `encoding` is set, and the result meaningless, when a special encoding follows instead of a length.
  std::uint64_t length(int& encoding) {
    encoding = -1;
    const unsigned first = byte();
    switch (first >> 6) {
      case 0: return first & 0x3F;
      case 1: return static_cast<std::uint64_t>(first & 0x3F) << 8 | byte();
      case 2: return big_endian(first == 0x81 ? 8 : 4);
      default: encoding = static_cast<int>(first & 0x3F); return 0;
    }
  }
  std::uint64_t count() {
    int encoding = -1;
    const std::uint64_t value = length(encoding);
    if (encoding >= 0) ok_ = false;
    return value;
  }
  std::string text() {
    int encoding = -1;
    const std::uint64_t size = length(encoding);
    switch (encoding) {
      case -1: break;
      case 0: return std::to_string(static_cast<std::int8_t>(little_endian(1)));
      case 1: return std::to_string(static_cast<std::int16_t>(little_endian(2)));
      case 2: return std::to_string(static_cast<std::int32_t>(little_endian(4)));
      default: ok_ = false; return {};
    }
    if (size > bytes_.size() - at_) return ok_ = false, std::string();
    const std::string result(bytes_.substr(at_, size));
    at_ += size;
    return result;
  }
  void fail() { ok_ = false; }

 private:
  std::string_view bytes_;
  std::size_t at_;
  bool ok_ = true;
};

void put_value(std::string& to, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    put_text(to, *text);
  } else if (const auto* list = std::get_if<std::unique_ptr<List>>(&value)) {
    put_length(to, (*list)->size());
    for (const std::string& item : **list) put_text(to, item);
  } else if (const auto* set = std::get_if<std::unique_ptr<Set>>(&value)) {
    put_length(to, (*set)->size());
    for (const std::string_view member : (*set)->ordered()) put_text(to, member);
  } else if (const auto* hash = std::get_if<std::unique_ptr<Hash>>(&value)) {
    put_length(to, (*hash)->size());
    (*hash)->each([&](const std::string& field, const std::string& held) {
      put_text(to, field);
      put_text(to, held);
    });
  } else {
    const SortedSet& zset = *std::get<std::unique_ptr<SortedSet>>(value);
    put_length(to, zset.size());
    for (const auto& item : zset.items()) {
      put_text(to, item.member);
      put_little_endian(to, std::bit_cast<std::uint64_t>(item.score));
    }
  }
}

Value read_value(Reader& in, unsigned type) {
  switch (type) {
    case kString: return in.text();
    case kList: {
      auto list = std::make_unique<List>();
      for (std::uint64_t n = in.count(); n > 0 && in.ok(); --n) list->push_back(in.text());
      return list;
    }
    case kSet: {
      auto set = std::make_unique<Set>();
      for (std::uint64_t n = in.count(); n > 0 && in.ok(); --n) set->add(in.text());
      return set;
    }
    case kHash: {
      auto hash = std::make_unique<Hash>();
      for (std::uint64_t n = in.count(); n > 0 && in.ok(); --n) {
        bool created = false;
        std::string& held = hash->at(in.text(), created);
        held = in.text();
      }
      return hash;
    }
    case kSortedSet: {
      auto zset = std::make_unique<SortedSet>();
      for (std::uint64_t n = in.count(); n > 0 && in.ok(); --n) {
        const std::string member = in.text();
        zset->set(member, std::bit_cast<double>(in.little_endian(8)));
      }
      return zset;
    }
    default: in.fail(); return std::string();
  }
}

constexpr unsigned char kTypes[] = {kString, kList, kHash, kSet, kSortedSet};  // by index in Value

// The shortest form of an integer of at most 32 bits. False: it is none.
bool put_integer(std::string& to, std::string_view text) {
  std::int64_t value = 0;
  if (!parse_integer(text, value) || value < INT32_MIN || value > INT32_MAX) return false;
  const unsigned size = value >= INT8_MIN && value <= INT8_MAX     ? 0
                        : value >= INT16_MIN && value <= INT16_MAX ? 1
                                                                   : 2;
  put_byte(to, 0xC0 | size);
  for (unsigned i = 0; i < 1u << size; ++i) put_byte(to, static_cast<unsigned>(value >> (8 * i)) & 0xFF);
  return true;
}

constexpr unsigned kDumpVersion = 10;
constexpr std::size_t kVersionBytes = 2, kChecksumBytes = 8;

std::uint64_t checksum(std::string_view bytes) {
  boost::crc_optimal<64, 0xad93d23594c935a9, 0, 0, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

}  // namespace

std::string dump_value(const Value& value) {
  std::string out;
  put_byte(out, kTypes[value.index()]);
  const auto* const text = std::get_if<std::string>(&value);
  if (text == nullptr || !put_integer(out, *text)) put_value(out, value);
  put_byte(out, kDumpVersion);
  put_byte(out, 0);
  put_little_endian(out, checksum(out));
  return out;
}

Restored restore_value(std::string_view dump, Value& value) {
  if (dump.size() < kVersionBytes + kChecksumBytes) return Restored::wrong_checksum;
  const std::string_view body = dump.substr(0, dump.size() - kVersionBytes - kChecksumBytes);
  Reader footer(dump, body.size());
  if (footer.little_endian(kVersionBytes) > kDumpVersion ||
      footer.little_endian(kChecksumBytes) != checksum(dump.substr(0, dump.size() - kChecksumBytes)))
    return Restored::wrong_checksum;
  Reader in(body, 0);
  const unsigned type = in.byte();
  if (in.ok()) value = read_value(in, type);
  return in.ok() ? Restored::yes : Restored::not_understood;
}

std::string write_snapshot(std::vector<Keyspace>& databases, int stream_db) {
  std::string out = "REDIS0009";
  if (stream_db >= 0) {
    put_byte(out, kAux);
    put_text(out, kStreamDb);
    put_text(out, std::to_string(stream_db));
  }
  for (std::size_t db = 0; db < databases.size(); ++db) {
    if (databases[db].size() == 0) continue;
    put_byte(out, kDatabase);
    put_length(out, db);
    for (const Entry* entry : databases[db].sorted()) {
      if (entry->expires_at != kNoExpiry) {
        put_byte(out, kExpiryMs);
        put_little_endian(out, static_cast<std::uint64_t>(entry->expires_at));
      }
      put_byte(out, kTypes[entry->value.index()]);
      put_text(out, *entry->key);
      put_value(out, entry->value);
    }
  }
  put_byte(out, kEnd);
  put_little_endian(out, 0);  // no checksum
  return out;
}

bool read_snapshot(std::string_view bytes, std::vector<Keyspace>& databases, std::int64_t now_ms,
                   int* stream_db, std::vector<std::pair<int, std::string>>* expired) {
  if (!bytes.starts_with("REDIS")) return false;
  constexpr std::size_t kHead = 9;  // "REDIS0009"
  Reader in(bytes, kHead);
  std::size_t db = 0;
  std::int64_t expiry = kNoExpiry;
  while (in.ok()) {
    const unsigned mark = in.byte();
    if (!in.ok()) return false;
    if (mark == kEnd) return true;
    if (mark == kDatabase) {
      db = in.count();
      if (db >= databases.size()) return false;
    } else if (mark == kResize) {
      in.count();
      in.count();
    } else if (mark == kAux) {
      const bool tells_db = in.text() == kStreamDb;
      const std::string value = in.text();
      if (tells_db && stream_db != nullptr) *stream_db = std::atoi(value.c_str());
    } else if (mark == kExpiryMs) {
      expiry = static_cast<std::int64_t>(in.little_endian(8));
    } else {
      const std::string key = in.text();
      Value value = read_value(in, mark);
      if (!in.ok()) return false;
      if (expiry == kNoExpiry || now_ms == 0 || expiry >= now_ms) {
        databases[db].erase(key);
        Entry& entry = databases[db].insert(key, std::move(value));
        if (expiry != kNoExpiry) databases[db].set_expiry(entry, expiry);
      } else if (expired != nullptr) {
        expired->emplace_back(static_cast<int>(db), key);
      }
      expiry = kNoExpiry;
    }
  }
  return false;
}

}  // namespace holdfast::sim::embedded
