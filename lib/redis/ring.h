// Ring: a queue in one block of memory, which grows as needed and is then used again and again.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace holdfast::redis {

template <class T>
class Ring {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

  // REQUIRES: `index` < size(); 0 is the front.
  T& operator[](std::size_t index) noexcept { return slots_[(begin_ + index) & (slots_.size() - 1)]; }
  const T& operator[](std::size_t index) const noexcept {
    return slots_[(begin_ + index) & (slots_.size() - 1)];
  }
  T& front() noexcept { return slots_[begin_]; }
  const T& front() const noexcept { return slots_[begin_]; }

  void push_back(const T& value) {
    if (size_ == slots_.size()) grow();
    ++size_;
    (*this)[size_ - 1] = value;
  }
  void pop_front() noexcept {
    begin_ = (begin_ + 1) & (slots_.size() - 1);
    --size_;
  }
  // Those behind it move up.
  void erase(std::size_t index) {
    for (; index + 1 < size_; ++index) (*this)[index] = std::move((*this)[index + 1]);
    --size_;
  }
  void clear() noexcept { begin_ = size_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 8 : 2 * slots_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    slots_ = std::move(larger);
    begin_ = 0;
  }

  std::vector<T> slots_;  // a power of two, or none
  std::size_t begin_ = 0, size_ = 0;
};

}  // namespace holdfast::redis
