// Sets of configurations of the breadth-first search. A configuration is a row of words: the state's number,
// words that must be equal for two configurations to be compared, and words in which fewer bits are better.
#pragma once

#include <cstdint>
#include <vector>

namespace holdfast::checker {

class Configurations {
 public:
  using Word = std::uint64_t;

  // Empties the set. `equal`, `fewer`: how many words there are of each sort.
  void begin(std::size_t equal, std::size_t fewer);
  // False: it is there, or one that is equal but for fewer bits. Of those that are compared: beyond some, a
  // better one may be missed, which costs time only. REQUIRES: `config` does not point into the set.
  bool add(const Word* config);

  std::size_t size() const { return next_.size(); }
  bool dead(std::size_t i) const { return dead_[i]; }  // a better one came later
  const Word* at(std::size_t i) const { return words_.data() + i * stride_; }
  std::size_t stride() const { return stride_; }
  // While `more` are added: a vector that grows is there twice for a moment.
  std::uint64_t bytes(std::size_t more) const;
  std::uint64_t compared() const { return compared_; }  // configurations with another one

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  void rehash(std::size_t wanted);

  std::size_t equal_ = 0, fewer_ = 0, stride_ = 1;
  std::uint64_t compared_ = 0;
  std::vector<Word> words_;
  std::vector<std::uint32_t> heads_, similar_heads_;  // by hash of all, and of what must be equal
  std::vector<std::uint32_t> next_, similar_;         // by configuration: the one before it there
  std::vector<bool> dead_;
};

}  // namespace holdfast::checker
