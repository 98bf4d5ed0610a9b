#include "checker/linearizability/configurations.h"

#include <algorithm>

#include "checker/invariant.h"
#include "checker/linearizability/growing.h"

namespace holdfast::checker {

namespace {

using Word = Configurations::Word;

constexpr std::size_t kLeast = 64;
constexpr int kCompared = 32;

Word hash_of(const Word* begin, const Word* end, Word hash) {
  for (; begin != end; ++begin) {
    hash = (hash ^ *begin) * 0xD6E8FEB86659FD93ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

constexpr Word kSeed = 0x9E3779B97F4A7C15ULL;

}  // namespace

void Configurations::begin(std::size_t equal, std::size_t fewer) {
  equal_ = equal;
  fewer_ = fewer;
  stride_ = 1 + equal + fewer;
  words_.clear();
  next_.clear();
  similar_.clear();
  dead_.clear();
  std::size_t wanted = heads_.size();
  if (wanted > 16 * kLeast) wanted /= 2;  // a small set after a large one does not clear the tables of that
  wanted = std::max(wanted, kLeast);
  heads_.assign(wanted, kNone);
  similar_heads_.assign(wanted, kNone);
}

std::uint64_t Configurations::bytes(std::size_t more) const {
  const std::uint64_t tables = heads_.size() < next_.size() + more ? 20 : 8;
  return bytes_while_growing(words_, more * stride_) + bytes_while_growing(next_, more) +
         bytes_while_growing(similar_, more) + heads_.capacity() * tables + dead_.capacity() / 4;
}

bool Configurations::add(const Word* config) {
  const Word* middle = config + 1 + equal_;
  const Word similar = hash_of(config, middle, kSeed), all = hash_of(middle, config + stride_, similar);
  const std::size_t mask = heads_.size() - 1;
  for (std::uint32_t i = heads_[all & mask]; i != kNone; i = next_[i]) {
    if (std::equal(config, config + stride_, at(i))) return false;
  }
  int left = fewer_ == 0 ? 0 : kCompared;
  for (std::uint32_t i = similar_heads_[similar & mask]; i != kNone && left > 0; i = similar_[i], --left) {
    ++compared_;
    if (dead_[i] || !std::equal(config, middle, at(i))) continue;
    bool here_fewer = true, there_fewer = true;
    const Word* mine = at(i) + 1 + equal_;
    for (std::size_t w = 0; w < fewer_; ++w) {
      here_fewer = here_fewer && (mine[w] & ~middle[w]) == 0;
      there_fewer = there_fewer && (middle[w] & ~mine[w]) == 0;
    }
    if (here_fewer) return false;
    if (there_fewer) dead_[i] = true;
  }
  CHECKER_INVARIANT(next_.size() < kNone, "configurations are numbered by 32 bits");
  const auto number = static_cast<std::uint32_t>(next_.size());
  words_.insert(words_.end(), config, config + stride_);
  next_.push_back(heads_[all & mask]);
  similar_.push_back(similar_heads_[similar & mask]);
  dead_.push_back(false);
  heads_[all & mask] = similar_heads_[similar & mask] = number;
  if (next_.size() > heads_.size()) rehash(heads_.size() * 2);
  return true;
}

void Configurations::rehash(std::size_t wanted) {
  heads_.assign(wanted, kNone);
  similar_heads_.assign(wanted, kNone);
  for (std::uint32_t i = 0; i < next_.size(); ++i) {
    const Word* config = at(i);
    const Word similar = hash_of(config, config + 1 + equal_, kSeed);
    const Word all = hash_of(config + 1 + equal_, config + stride_, similar);
    next_[i] = heads_[all & (wanted - 1)];
    heads_[all & (wanted - 1)] = i;
    similar_[i] = similar_heads_[similar & (wanted - 1)];
    similar_heads_[similar & (wanted - 1)] = i;
  }
}

}  // namespace holdfast::checker
