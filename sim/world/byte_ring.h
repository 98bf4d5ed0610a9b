// A first-in first-out queue of bytes in one block that grows by doubling.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace holdfast::sim {

class ByteRing {
 public:
  std::size_t size() const { return size_; }

  void append(std::string_view bytes) {
    if (size_ + bytes.size() > capacity_) grow(size_ + bytes.size());
    const std::size_t at = (first_ + size_) & (capacity_ - 1);
    const std::size_t to_end = std::min(bytes.size(), capacity_ - at);
    std::memcpy(data_.get() + at, bytes.data(), to_end);
    std::memcpy(data_.get(), bytes.data() + to_end, bytes.size() - to_end);
    size_ += bytes.size();
  }
  void drop(std::size_t count) {
    size_ -= count;
    first_ = size_ == 0 ? 0 : (first_ + count) & (capacity_ - 1);
  }
  // The longest contiguous piece of [offset, offset + count). REQUIRES: offset + count <= size().
  std::string_view piece(std::size_t offset, std::size_t count) const {
    if (count == 0) return {};
    const std::size_t at = (first_ + offset) & (capacity_ - 1);
    return {data_.get() + at, std::min(count, capacity_ - at)};
  }
  void copy(std::size_t count, char* into) const {
    const std::string_view head = piece(0, count);
    std::memcpy(into, head.data(), head.size());
    if (head.size() < count) std::memcpy(into + head.size(), data_.get(), count - head.size());
  }

 private:
  void grow(std::size_t needed) {
    std::size_t larger = capacity_ == 0 ? 256 : capacity_;
    while (larger < needed) larger *= 2;
    auto block = std::make_unique_for_overwrite<char[]>(larger);
    if (size_ > 0) copy(size_, block.get());
    data_ = std::move(block);
    capacity_ = larger;
    first_ = 0;
  }

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0, first_ = 0, size_ = 0;
};

}  // namespace holdfast::sim
