#include "sim/hunt/server_watch.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "sim/redis/engine.h"
#include "sim/redis/keyspace_witness.h"
#include "sim/redis/script_witness.h"
#include "sim/truth/decoders.h"
#include "sim/world/trace.h"

namespace holdfast::sim {
namespace {

using embedded::Engine;
using embedded::Entry;
using embedded::KeyspaceWitness;

enum class Sort : std::uint64_t { branch = 100, record, change };

std::uint64_t hash_of(std::initializer_list<std::uint64_t> words) {
  Trace trace;
  for (const std::uint64_t word : words) trace.add(word);
  return trace.digest();
}

std::uint64_t hash_of(std::string_view text) {
  Trace trace;
  trace.add(text);
  return trace.digest();
}

// What a key is for: its name without the lock's.
std::uint64_t role_of(std::string_view key) {
  const auto ends = [](char c) { return c == '{' || (c >= '0' && c <= '9'); };
  const auto end = std::find_if(key.begin(), key.end(), ends);
  const std::string_view name = key.substr(0, static_cast<std::size_t>(end - key.begin()));
  return hash_of(name.substr(0, key.find("::")));
}

// Locks say in a word what a string stands for ("... called"); numbers are of a size.
std::uint64_t nature_of(const std::string& text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!text.empty() && text.size() < 10 && std::all_of(text.begin(), text.end(), is_digit))
    return static_cast<std::uint64_t>(std::bit_width(std::stoul(text)));
  const std::string_view word = std::string_view(text).substr(text.rfind(' ') + 1);
  const bool told = std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return told ? hash_of(word) : 99;
}

struct Shape {
  std::uint64_t what = 0;  // type and size; 0: not there
  std::uint64_t life = 0;  // 0: for ever
};

Shape shape_of(const Entry* entry, std::int64_t now_ms, std::int64_t lease_ms) {
  if (entry == nullptr) return {};
  const std::uint64_t size = std::visit(
      [](const auto& held) -> std::uint64_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string>) {
          return nature_of(held);
        } else {
          return static_cast<std::uint64_t>(std::bit_width(held->size()));
        }
      },
      entry->value);
  Shape shape{.what = hash_of({entry->value.index() + 1, size})};
  if (entry->expires_at != embedded::kNoExpiry) {
    const std::int64_t thirds = 3 * (entry->expires_at - now_ms) / std::max<std::int64_t>(lease_ms, 1);
    shape.life = 2 + static_cast<std::uint64_t>(std::clamp<std::int64_t>(thirds, -1, 4));
  }
  return shape;
}

// None, one, several.
std::uint64_t some(std::size_t count) { return std::min<std::uint64_t>(count, 2); }

std::string_view process_of(std::string_view owner) { return owner.substr(0, owner.rfind(':')); }

}  // namespace

class ServerWatch::Node final : public KeyspaceWitness, public embedded::ScriptWitness {
 public:
  Node(ServerWatch& watch, const Scenario& scenario, KeyspaceWitness* next)
      : watch_(watch),
        next_(next),
        decoder_(find_decoder(scenario.lock->records_of())),
        lease_ms_(std::chrono::duration_cast<std::chrono::milliseconds>(scenario.workload.lease).count()) {}

  void begins(std::string_view sha1) override {
    script_ = hash_of(sha1);
    line_ = 0;
  }
  void line(int number) override {
    const auto now = static_cast<std::uint64_t>(number);
    watch_.note(hash_of({static_cast<std::uint64_t>(Sort::branch), script_, line_ << 16 | now}));
    line_ = now;
  }

  void loaded(Engine& engine) override {
    if (next_ != nullptr) next_->loaded(engine);
    shapes_.clear();
    owners_.clear();
    standing_ = 0;
    keys_ = 0;
  }

  void changed(Engine& engine, std::string_view key, Cause cause) override {
    if (next_ != nullptr) next_->changed(engine, key, cause);
    const auto wall = engine.runtime().wall_now().time_since_epoch();
    const std::int64_t now_ms = std::chrono::floor<std::chrono::milliseconds>(wall).count();
    const Entry* const entry = engine.db(0).find(key);
    const std::uint64_t role = role_of(key);
    const Shape now = shape_of(entry, now_ms, lease_ms_);
    Shape& before = shapes_[std::string(key)];
    // A sum, so that the order in which keys came does not matter.
    if (before.what != 0) {
      standing_ -= hash_of({role, before.what});
      --keys_;
    }
    if (now.what != 0) {
      standing_ += hash_of({role, now.what});
      ++keys_;
    }
    const std::uint64_t owners = owners_of(engine, key, now_ms);
    // Of many locks beside each other each number would be news.
    if (keys_ <= kFewKeys) watch_.note(hash_of({static_cast<std::uint64_t>(Sort::record), standing_}));
    watch_.note(hash_of({static_cast<std::uint64_t>(Sort::change), role, before.what, before.life, now.what,
                         now.life, owners, static_cast<std::uint64_t>(cause)}));
    before = now;
  }

 private:
  struct Owners {
    std::vector<std::string> now;
    std::string last;  // who came before those that are there
  };

  // How many there are, and who came and went, beside those that were there.
  std::uint64_t owners_of(Engine& engine, std::string_view key, std::int64_t now_ms) {
    const auto lock = decoder_ == nullptr ? std::nullopt : decoder_->lock_of(key);
    if (!lock) return 0;
    Owners& owners = owners_[*lock];
    std::vector<std::string> now;
    std::size_t over = 0, shared = 0;
    for (const Holding& holding : decoder_->decode(engine.db(0), *lock)) {
      now.push_back(holding.owner);
      over += holding.until_ms <= now_ms ? 1 : 0;
      shared += holding.shared ? 1 : 0;
    }
    const auto missing = [](const std::vector<std::string>& from, const std::string& owner) {
      return std::find(from.begin(), from.end(), owner) == from.end();
    };
    std::size_t came = 0, went = 0;
    std::uint64_t who = 0;
    for (const std::string& owner : now) {
      if (!missing(owners.now, owner)) continue;
      ++came;
      who = owner == owners.last ? 1 : process_of(owner) == process_of(owners.last) ? 2 : 3;
    }
    for (const std::string& owner : owners.now) {
      if (!missing(now, owner)) continue;
      ++went;
      owners.last = owner;
    }
    owners.now = std::move(now);
    return hash_of({some(owners.now.size()), some(came), some(went), who, some(over), some(shared)});
  }

  ServerWatch& watch_;
  KeyspaceWitness* const next_;
  const Decoder* const decoder_;  // null: nobody holds such a lock
  const std::int64_t lease_ms_;
  std::uint64_t script_ = 0, line_ = 0;
  std::map<std::string, Shape> shapes_;   // by key
  std::map<std::string, Owners> owners_;  // by lock
  static constexpr std::size_t kFewKeys = 16;
  std::uint64_t standing_ = 0;
  std::size_t keys_ = 0;  // that stand
};

ServerWatch::ServerWatch(const Scenario& scenario) : scenario_(scenario) {}
ServerWatch::~ServerWatch() = default;

bool ServerWatch::Sieve::insert(std::uint64_t word) {
  std::uint64_t& bits = bits_[word >> 6 & (bits_.size() - 1)];
  const std::uint64_t bit = std::uint64_t{1} << (word & 63);
  const bool is_new = (bits & bit) == 0;
  bits |= bit;
  return is_new;
}

KeyspaceWitness* ServerWatch::witness(const std::string& node, KeyspaceWitness* also) {
  std::unique_ptr<Node>& witness = nodes_[node];
  if (!witness) witness = std::make_unique<Node>(*this, scenario_, also);
  return witness.get();
}

std::vector<Feature> ServerWatch::take_features() { return std::exchange(found_, {}); }

void ServerWatch::note(std::uint64_t word) {
  if (seen_.insert(word)) found_.push_back({word, world_->now_ns()});
}

}  // namespace holdfast::sim
