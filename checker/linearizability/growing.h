// The memory of a vector, counted so that a bound holds at every moment.
#pragma once

#include <cstdint>
#include <vector>

namespace holdfast::checker {

// Bytes of `vector` while `more` elements are added: when it grows, what it has is there twice.
template <typename T>
std::uint64_t bytes_while_growing(const std::vector<T>& vector, std::size_t more) {
  const bool grows = vector.size() + more > vector.capacity();
  return (vector.capacity() + (grows ? 2 * vector.capacity() + more : 0)) * sizeof(T);
}

}  // namespace holdfast::checker
