// OrderedDict: string keys in insertion order, as Redis' small encodings keep them.
//
// Small ones are scanned; from kIndexFrom entries on an index finds the place. Removal leaves a gap that is
// closed later, so removal and lookup cost O(1) whatever the size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::sim::embedded {

struct Nothing {};  // the value of a set

struct StringHash {
  using is_transparent = void;
  // A multiplication for every eight bytes: keys are short and not hostile.
  std::size_t operator()(std::string_view text) const noexcept {
    constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15u;
    std::uint64_t hash = text.size() * kFactor;
    const char* at = text.data();
    std::size_t left = text.size();
    for (; left >= 8; at += 8, left -= 8) {
      std::uint64_t word;
      std::memcpy(&word, at, 8);
      hash = (hash ^ word) * kFactor;
      hash ^= hash >> 29;
    }
    std::uint64_t tail = 0;
    for (std::size_t i = 0; i < left; ++i) tail = tail << 8 | static_cast<unsigned char>(at[i]);
    hash = (hash ^ tail) * kFactor;
    return static_cast<std::size_t>(hash ^ hash >> 32);
  }
};
template <class V>
using StringMap = std::unordered_map<std::string, V, StringHash, std::equal_to<>>;

template <class V>
class OrderedDict {
 public:
  struct Slot {
    std::string key;
    V value;
    bool live;
  };

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  V* find(std::string_view key) {
    const std::size_t at = place(key);
    return at == kNone ? nullptr : &slots_[at].value;
  }
  const V* find(std::string_view key) const { return const_cast<OrderedDict*>(this)->find(key); }

  // The value of `key`, made if absent. `created` tells which.
  V& at(std::string_view key, bool& created) {
    const std::size_t found = place(key);
    created = found == kNone;
    if (!created) return slots_[found].value;
    slots_.push_back(Slot{std::string(key), V{}, true});
    ++size_;
    if (index_) {
      index_->emplace(std::string(key), slots_.size() - 1);
    } else if (slots_.size() >= kIndexFrom) {
      rebuild();
    }
    return slots_.back().value;
  }

  bool erase(std::string_view key) {
    const std::size_t at = place(key);
    if (at == kNone) return false;
    --size_;
    if (!index_) {
      slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(at));
      return true;
    }
    index_->erase(index_->find(key));
    slots_[at] = Slot{{}, V{}, false};
    if (slots_.size() > 2 * size_ + kIndexFrom) rebuild();
    return true;
  }

  template <class F>
  void each(F&& visit) const {  // visit(key, value), oldest first
    for (const Slot& slot : slots_) {
      if (slot.live) visit(slot.key, slot.value);
    }
  }

  // The n-th live entry. REQUIRES: n < size().
  const Slot& nth(std::size_t n) const {
    if (slots_.size() == size_) return slots_[n];
    for (const Slot& slot : slots_) {
      if (slot.live && n-- == 0) return slot;
    }
    return slots_.front();
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::size_t kIndexFrom = 24;

  std::size_t place(std::string_view key) const {
    if (index_) {
      const auto it = index_->find(key);
      return it == index_->end() ? kNone : it->second;
    }
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].key == key) return i;
    }
    return kNone;
  }

  void rebuild() {
    std::vector<Slot> kept;
    kept.reserve(size_);
    for (Slot& slot : slots_) {
      if (slot.live) kept.push_back(std::move(slot));
    }
    slots_ = std::move(kept);
    index_.reset();
    if (slots_.size() < kIndexFrom) return;
    index_ = std::make_unique<StringMap<std::size_t>>();
    for (std::size_t i = 0; i < slots_.size(); ++i) index_->emplace(slots_[i].key, i);
  }

  std::vector<Slot> slots_;
  std::unique_ptr<StringMap<std::size_t>> index_;
  std::size_t size_ = 0;
};

}  // namespace holdfast::sim::embedded
