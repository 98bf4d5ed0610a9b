#include "sim/proxy/conversation.h"

#include <algorithm>
#include <utility>

#include "sim/proxy/resp_parse.h"

namespace holdfast::sim {
namespace {

constexpr std::size_t kKeptRoom = 16 * 1024;  // for the next request in a place

// `word` is upper case.
bool same_word(std::string_view text, std::string_view word) {
  if (text.size() != word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (static_cast<char>(text[i] & ~0x20) != word[i]) return false;
  }
  return true;
}

// SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE and their UN forms, in any case.
bool is_subscription(std::string_view head) {
  return head.size() >= 9 && head.size() <= 12 && same_word(head.substr(head.size() - 9), "SUBSCRIBE");
}

bool is_push(std::string_view head) {
  return head == "message" || head == "pmessage" || head == "smessage" || is_subscription(head);
}

}  // namespace

Exchange& WaitingLine::add() {
  if (count_ == places_.size()) {
    std::rotate(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(first_), places_.end());
    first_ = 0;
    places_.resize(std::max<std::size_t>(1, 2 * count_));
  }
  ++count_;
  if (back().request.capacity() > kKeptRoom) back().request = {};
  return back();
}

void WaitingLine::drop_front() {
  first_ = (first_ + 1) % places_.size();
  --count_;
}

void WaitingLine::forget(std::uint64_t id) {
  for (std::size_t i = 0; i < count_; ++i) {
    if (at(i).id != id) continue;
    for (; i + 1 < count_; ++i) std::swap(at(i), at(i + 1));
    --count_;
    return;
  }
}

std::uint32_t Conversation::saw_request() {
  const std::string_view head = requests_.head();
  if (head.empty() || sync_asked_) return 0;
  if (is_subscription(head)) {
    subscribed_ = true;
    return 0;
  }
  if (same_word(head, "REPLCONF")) {
    replicating_ = true;
  } else if (same_word(head, "PSYNC")) {
    replicating_ = sync_asked_ = true;
  } else if (same_word(head, "SYNC")) {
    replicating_ = sync_asked_ = true;
    if (replies_.at_boundary()) {
      replies_.expect(RespFramer::Grammar::snapshot);
      streaming_ = true;
    }
    return 0;
  }
  return 1;
}

void Conversation::note_reply_head() {
  if (!sync_asked_ || streaming_) return;
  if (replies_.head().starts_with("FULLRESYNC")) {
    streaming_ = true;
    replies_.expect(RespFramer::Grammar::snapshot);
  } else if (replies_.head().starts_with("CONTINUE")) {
    streaming_ = true;
    replies_.expect(RespFramer::Grammar::requests);
  } else if (skipped_ == 0 && waiting_.empty()) {
    sync_asked_ = false;  // refused ("-NOMASTERLINK", "-LOADING"): the replica will ask again
  }
}

void Conversation::skip(Direction direction) {
  if (direction == Direction::request) {
    if (saw_request() == 0) return;
    if (waiting_.empty()) {
      ++skipped_;
    } else if (waiting_.back().id == 0) {
      ++waiting_.back().replies;
    } else {
      waiting_.add() = {};
    }
    return;
  }
  if (saw_reply() != ReplyKind::answer) return;
  bool more = false;
  Exchange nobody_looks;
  answered(more, nobody_looks);
}

Exchange& Conversation::expect_replies() { return waiting_.add(); }

void Conversation::forget(std::uint64_t exchange_id) { waiting_.forget(exchange_id); }

Conversation::ReplyKind Conversation::saw_reply() {
  if (streaming_) return ReplyKind::command;
  if (subscribed_ && replies_.parts() >= 2 && is_push(replies_.head())) return ReplyKind::push;
  return ReplyKind::answer;
}

bool Conversation::answered(bool& more, Exchange& exchange) {
  more = false;
  bool known = false;
  if (skipped_ > 0) {
    --skipped_;
  } else if (!waiting_.empty()) {
    Exchange& front = waiting_.front();
    if (--front.replies == 0) {
      known = front.id != 0;
      if (known) std::swap(exchange, front);
      waiting_.drop_front();
    } else {
      more = front.id != 0;
    }
  }
  note_reply_head();
  return known;
}

}  // namespace holdfast::sim
