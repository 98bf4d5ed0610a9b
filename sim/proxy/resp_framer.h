// RespFramer: where one RESP2 message of a byte stream ends and the next begins. Nothing is copied, nothing
// is kept but a few words of state, so that every link can be framed all the time and a rule that appears in
// the middle of a message knows where the next one starts.
//
// Three grammars: what a client sends (arrays of bulks, or inline commands), what a server answers, and the
// snapshot of a full synchronisation (`$<length>` with no line end behind the bytes, or `$EOF:<40 bytes>`
// ended by those 40 bytes), after which the stream goes on with commands. What is not RESP2 breaks the
// framer: from there on the stream is opaque.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::sim {

class RespFramer {
 public:
  enum class Grammar : std::uint8_t { requests, replies, snapshot };

  explicit RespFramer(Grammar grammar) : grammar_(grammar) {}

  struct Step {
    std::size_t consumed = 0;
    bool complete = false;  // a message ended after `consumed` bytes
  };
  // Goes on to the end of the current message or of `bytes`, whatever comes first. A broken framer consumes
  // all and completes nothing. After a snapshot the grammar is `requests`. Allocates nothing (a snapshot's
  // mark apart).
  Step scan(std::string_view bytes);

  // What follows is of another grammar. REQUIRES: at_boundary().
  void expect(Grammar grammar);

  Grammar grammar() const { return grammar_; }
  bool at_boundary() const { return state_ == State::fresh; }
  bool broken() const { return state_ == State::broken; }
  // The first bytes of the message that was completed last (or is under way): its command name, or the text
  // of a status. "" for a message that has neither, or asks for nothing (an empty line).
  std::string_view head() const { return {head_.data(), head_size_}; }
  std::uint32_t parts() const { return parts_; }  // elements of its outermost array (0: no array)

  static constexpr std::size_t kHeadLimit = 16;

 private:
  enum class State : std::uint8_t {
    fresh,
    value,
    number,
    text,
    payload,
    inline_text,
    mark_line,
    mark,
    broken
  };

  void open(char type);
  bool skip_bulk(const char*& at, const char* end);
  bool number_done();  // true: the message is complete
  bool value_done();
  void capture(const char* from, std::size_t size);

  Grammar grammar_;
  State state_ = State::fresh;
  char type_ = 0;
  bool negative_ = false;
  std::uint8_t digits_ = 0;
  std::uint8_t head_size_ = 0;
  std::uint8_t head_room_ = 0;  // how much of what comes now belongs to the head
  std::uint32_t parts_ = 0;
  std::int64_t number_ = 0;
  std::uint64_t left_ = 0;  // bytes of the payload, line end included
  std::uint64_t need_ = 0;  // values still to come
  std::array<char, kHeadLimit> head_{};
  std::string mark_, tail_;  // of a snapshot without a length
};

}  // namespace holdfast::sim
