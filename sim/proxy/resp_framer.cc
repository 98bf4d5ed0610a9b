#include "sim/proxy/resp_framer.h"

#include <algorithm>
#include <cstring>

#include "lib/runtime/check.h"

namespace holdfast::sim {
namespace {

constexpr std::int64_t kLongestPayload = std::int64_t{1} << 40;  // snapshots may be large
constexpr std::int64_t kMostParts = std::int64_t{1} << 28;
constexpr std::size_t kMarkLength = 40;
constexpr std::size_t kLongestInline = 64 * 1024;  // as in Redis
constexpr char kTlsHandshake =
    '\x16';  // the first byte of a client of TLS (RFC 8446, section 5.1), and of no command

}  // namespace

void RespFramer::expect(Grammar grammar) {
  HF_CHECK(at_boundary(), "a grammar changes between messages");
  grammar_ = grammar;
}

void RespFramer::capture(const char* from, std::size_t size) {
  const std::size_t taken = std::min<std::size_t>(size, head_room_);
  std::memcpy(head_.data() + head_size_, from, taken);
  head_size_ = static_cast<std::uint8_t>(head_size_ + taken);
  head_room_ = static_cast<std::uint8_t>(head_room_ - taken);
}

// The first byte of a value is `type`.
void RespFramer::open(char type) {
  const bool first = state_ == State::fresh;
  if (first) {
    need_ = 1;
    parts_ = 0;
    head_size_ = 0;
    head_room_ = kHeadLimit;
  }
  type_ = type;
  if (type == '*' || type == '$') {
    state_ = State::number;
    negative_ = false;
    digits_ = 0;
    number_ = 0;
  } else if (grammar_ != Grammar::requests && (type == '+' || type == '-' || type == ':')) {
    state_ = State::text;
    if (type != '+') head_room_ = 0;
  } else if (grammar_ == Grammar::requests && first && type != kTlsHandshake) {
    state_ = State::inline_text;
    left_ = kLongestInline;
  } else {
    state_ = State::broken;
  }
}

bool RespFramer::value_done() {
  head_room_ = 0;
  state_ = --need_ == 0 ? State::fresh : State::value;
  return need_ == 0;
}

bool RespFramer::number_done() {
  const std::int64_t value = negative_ ? -number_ : number_;
  if (digits_ == 0) {
    state_ = State::broken;
    return false;
  }
  if (type_ == '*') {
    if (value > kMostParts) {
      state_ = State::broken;
      return false;
    }
    if (need_ == 1 && parts_ == 0) parts_ = static_cast<std::uint32_t>(std::max<std::int64_t>(value, 0));
    const std::uint8_t room = head_room_;
    if (value > 0) need_ += static_cast<std::uint64_t>(value);
    const bool complete = value_done();
    if (value > 0) head_room_ = room;  // the head is in the first element
    return complete;
  }
  if (value < 0) return value_done();  // nil
  left_ = static_cast<std::uint64_t>(value);
  if (grammar_ == Grammar::snapshot) {
    if (left_ == 0) {
      grammar_ = Grammar::requests;
      return value_done();
    }
  } else {
    head_room_ = static_cast<std::uint8_t>(std::min<std::uint64_t>(left_, head_room_));
    left_ += 2;
  }
  state_ = State::payload;
  return false;
}

// Most of all bytes: an element "$<length>\r\n<bytes>\r\n" that lies wholly in [at, end) is stepped over.
// False: it is something else, or not whole; nothing has changed.
bool RespFramer::skip_bulk(const char*& at, const char* end) {
  if (*at != '$' || grammar_ == Grammar::snapshot) return false;
  const char* digit = at + 1;
  std::size_t length = 0;
  for (; digit < end && digit - at < 8 && *digit >= '0' && *digit <= '9'; ++digit) {
    length = length * 10 + static_cast<std::size_t>(*digit - '0');
  }
  if (digit == at + 1 || end - digit < 4 || digit[0] != '\r' || digit[1] != '\n') return false;
  const char* const payload = digit + 2;
  if (static_cast<std::size_t>(end - payload) < length + 2) return false;
  if (head_room_ > 0) capture(payload, std::min<std::size_t>(length, head_room_));
  at = payload + length + 2;
  value_done();
  return true;
}

RespFramer::Step RespFramer::scan(std::string_view bytes) {
  const char* const begin = bytes.data();
  const char* const end = begin + bytes.size();
  const char* at = begin;
  const auto here = [&] { return static_cast<std::size_t>(at - begin); };
  while (at < end) {
    switch (state_) {
      case State::fresh:
        // A server that has nothing to say yet keeps a replica waiting with bare line ends.
        if (*at == '\n' && grammar_ != Grammar::requests) {
          ++at;
          break;
        }
        open(*at);
        if (state_ != State::inline_text) ++at;
        break;
      case State::value:
        if (skip_bulk(at, end)) {
          if (state_ == State::fresh) return {here(), true};
        } else {
          open(*at++);
        }
        break;
      case State::number:
        while (at < end) {
          const char c = *at++;
          if (c >= '0' && c <= '9') {
            if (++digits_ > 15) {
              state_ = State::broken;
              break;
            }
            number_ = number_ * 10 + (c - '0');
          } else if (c == '\n') {
            if (number_ > kLongestPayload) {
              state_ = State::broken;
            } else if (number_done()) {
              return {here(), true};
            }
            break;
          } else if (c == '-' && digits_ == 0) {
            negative_ = true;
          } else if (c == 'E' && grammar_ == Grammar::snapshot && digits_ == 0) {
            state_ = State::mark_line;
            mark_ = "E";
            break;
          } else if (c != '\r') {
            state_ = State::broken;
            break;
          }
        }
        break;
      case State::text: {
        const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
        const char* stop = found == nullptr ? end : static_cast<const char*>(found);
        if (head_room_ > 0) {
          capture(at, static_cast<std::size_t>(stop - at));
          while (head_size_ > 0 && head_[head_size_ - 1u] == '\r') --head_size_;
        }
        at = stop;
        if (found != nullptr) {
          ++at;
          if (value_done()) return {here(), true};
        }
        break;
      }
      case State::payload: {
        const std::uint64_t taken = std::min(left_, static_cast<std::uint64_t>(end - at));
        if (head_room_ > 0 && grammar_ != Grammar::snapshot) capture(at, static_cast<std::size_t>(taken));
        at += taken;
        left_ -= taken;
        if (left_ == 0) {
          if (grammar_ == Grammar::snapshot) grammar_ = Grammar::requests;
          if (value_done()) return {here(), true};
        }
        break;
      }
      case State::inline_text:
        while (at < end) {
          const char c = *at++;
          if (c == '\n') {
            value_done();
            return {here(), true};
          }
          if (c == ' ' || c == '\r') {
            if (head_size_ > 0) head_room_ = 0;
          } else if (head_room_ > 0) {
            capture(&c, 1);
          }
          if (--left_ == 0) {
            state_ = State::broken;
            break;
          }
        }
        break;
      case State::mark_line:
        while (at < end) {
          const char c = *at++;
          if (c != '\n') {
            if (c != '\r') mark_.push_back(c);
            if (mark_.size() <= kMarkLength + 4) continue;
          }
          if (mark_.size() == kMarkLength + 4 && mark_.starts_with("EOF:")) {
            mark_.erase(0, 4);
            tail_.clear();
            state_ = State::mark;
          } else {
            state_ = State::broken;
          }
          break;
        }
        break;
      case State::mark: {
        const std::size_t before = tail_.size();
        tail_.append(at, static_cast<std::size_t>(end - at));
        const std::size_t found = tail_.find(mark_);
        if (found != std::string::npos) {
          at += found + kMarkLength - before;
          tail_.clear();
          grammar_ = Grammar::requests;
          value_done();
          return {here(), true};
        }
        if (tail_.size() >= kMarkLength) tail_.erase(0, tail_.size() - (kMarkLength - 1));
        at = end;
        break;
      }
      case State::broken: return {bytes.size(), false};
    }
  }
  return {here(), false};
}

}  // namespace holdfast::sim
