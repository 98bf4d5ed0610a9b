// Conversation: relates the two directions of one connection: which reply answers which request, whether the
// client has subscribed, and when a replica's handshake turns into a stream of commands.
//
// It follows every message of the connection. While no rule looks at messages it only counts them, so that a
// rule that is added later knows which replies answer requests that it has not seen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/proxy/proxy.h"
#include "sim/proxy/resp_framer.h"

namespace holdfast::sim {

// A request that waits for its answer.
struct Exchange {
  std::uint64_t id = 0;  // 0: requests that nobody looked at
  std::string request;   // its bytes; a transaction's begin with its MULTI
  std::string command;
  std::uint32_t replies = 1;  // still to come
  struct Span {
    std::uint32_t from, size;
  };
  std::vector<Span> arguments;  // in `request`; empty: to be parsed
};

// First in, first out. Places are used again with what their strings have room for.
class WaitingLine {
 public:
  bool empty() const { return count_ == 0; }
  Exchange& front() { return places_[first_]; }
  Exchange& back() { return at(count_ - 1); }
  // What was there before is still in it.
  Exchange& add();
  void drop_front();
  void forget(std::uint64_t id);

 private:
  Exchange& at(std::size_t i) { return places_[(first_ + i) % places_.size()]; }

  std::vector<Exchange> places_;
  std::size_t first_ = 0, count_ = 0;
};

class Conversation {
 public:
  RespFramer& framer(Direction direction) { return direction == Direction::request ? requests_ : replies_; }

  // The framer of `direction` has just completed a message that nobody looks at.
  void skip(Direction direction);

  // The framer has just completed a request that is looked at. Returns how many replies it will get: 0 or 1
  // (subscriptions are answered by pushes, acknowledgements of a replica by nothing).
  std::uint32_t saw_request();
  // To be filled in, all of it.
  Exchange& expect_replies();
  void forget(std::uint64_t exchange_id);  // its request was swallowed on the way

  // The framer has just completed a reply that is looked at.
  enum class ReplyKind : std::uint8_t { answer, push, command };
  ReplyKind saw_reply();
  // `exchange`: the request that the reply answers, with its last reply. False: nobody knows which, or `more`
  // replies are still to come (then call again with the next).
  bool answered(bool& more, Exchange& exchange);

  bool replicating() const { return replicating_; }  // REPLCONF, PSYNC or SYNC was seen
  bool streaming() const { return streaming_; }      // the master sends commands

 private:
  void note_reply_head();

  RespFramer requests_{RespFramer::Grammar::requests};
  RespFramer replies_{RespFramer::Grammar::replies};
  bool subscribed_ = false;
  bool replicating_ = false;
  bool sync_asked_ = false;
  bool streaming_ = false;
  std::uint64_t skipped_ = 0;  // unanswered requests that nobody looked at, before all of waiting_
  WaitingLine waiting_;
};

}  // namespace holdfast::sim
