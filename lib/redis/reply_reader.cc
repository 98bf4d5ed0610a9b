#include "lib/redis/reply_reader.h"

#include <hiredis/read.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace holdfast::redis {
namespace {

bool skip(std::string_view& text, std::string_view begin) {
  if (!text.starts_with(begin)) return false;
  text.remove_prefix(begin.size());
  return true;
}

bool skip_number(std::string_view& text, std::string_view after) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits > 0 && text.substr(digits).starts_with(after) &&
         skip(text, text.substr(0, digits + after.size()));
}

// Up to Redis 6.2 an error that ends a script stands behind the place where it was raised:
//   ERR Error running script (call to f_7d59...): @user_script:12: WRONGTYPE Operation against a key ...
//   ERR Error running script (call to f_892e...): @user_script:3: @user_script: 3: -READONLY You can't ...
// Redis 7 begins with the error itself, and so does what is read here: callers look at its first word.
// Source: luaRaiseError, luaPushError and luaRedisGenericCommand in scripting.c of Redis 6.2.
void begin_with_what_was_raised(std::string& error) {
  constexpr std::string_view kWhere = "): @user_script:";
  constexpr std::string_view kNotPermitted = "The user executing the script can't ";  // 7: NOPERM
  std::string_view text = error;
  if (!text.starts_with("ERR Error running script (call to f_")) return;
  text.remove_prefix(std::min(text.find(kWhere), text.size()));
  if (!skip(text, kWhere) || !skip_number(text, ": ")) return;
  if (skip(text, "@user_script: ") && !skip_number(text, ": ")) return;
  skip(text, "-");
  const std::size_t code = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  const bool coded = code != std::string_view::npos && code > 1 && text[code] == ' ';
  if (!coded && !text.starts_with(kNotPermitted)) return;
  error = (coded ? "" : "NOPERM ") + std::string(text);
}

}  // namespace

// What hiredis calls while it parses. These run below C code: no exception may leave them; a null pointer
// makes the reader fail as out of memory.
struct ReplyBuilder {
  // The Reply that `task` fills: the root, or a new last item of the array around it. An item's address is
  // stable while it is being filled, because its array grows only after it is complete.
  static Reply* slot(const redisReadTask* task) {
    auto& reader = *static_cast<ReplyReader*>(task->privdata);
    if (task->parent == nullptr) {
      reader.items_ = 0;
      reader.root_ = Reply();
      return &reader.root_;
    }
    if (++reader.items_ > reader.max_items_) return refuse(reader);
    auto& items = static_cast<Reply*>(task->parent->obj)->items;
    return &items.emplace_back();
  }

  static Reply* refuse(ReplyReader& reader) {
    reader.too_large_ = true;
    return nullptr;
  }

  template <class Fill>
  static void* build(const redisReadTask* task, Fill fill) noexcept {
    try {
      Reply* const reply = slot(task);
      if (reply != nullptr) fill(*reply);
      return reply;
    } catch (const std::exception&) {  // no memory
      return nullptr;
    }
  }

  static void* string(const redisReadTask* task, char* text, std::size_t size) {
    if (task->type != REDIS_REPLY_ERROR && task->type != REDIS_REPLY_STATUS &&
        task->type != REDIS_REPLY_STRING)
      return refuse_resp3(task);
    return build(task, [&](Reply& reply) {
      reply.type = task->type == REDIS_REPLY_ERROR    ? Reply::Type::error
                   : task->type == REDIS_REPLY_STATUS ? Reply::Type::status
                                                      : Reply::Type::bulk;
      reply.text.assign(text, size);
      if (reply.type == Reply::Type::error) begin_with_what_was_raised(reply.text);
    });
  }
  // `size`: int up to hiredis 0.14, size_t since.
  template <class Size>
  static void* array(const redisReadTask* task, Size size) {
    const auto count = static_cast<std::size_t>(std::max(static_cast<long long>(size), 0LL));
    std::size_t depth = 1;
    for (const redisReadTask* around = task->parent; around != nullptr; around = around->parent) ++depth;
    auto& reader = *static_cast<ReplyReader*>(task->privdata);
    if (depth > ReplyReader::kDeepest || count > reader.max_items_) return refuse(reader);
    if (task->type != REDIS_REPLY_ARRAY) return refuse_resp3(task);
    return build(task, [&](Reply& reply) {
      reply.type = Reply::Type::array;
      reply.items.reserve(std::min<std::size_t>(count, 64));
    });
  }
  static void* integer(const redisReadTask* task, long long value) {
    return build(task, [&](Reply& reply) {
      reply.type = Reply::Type::integer;
      reply.integer = value;
    });
  }
  static void* nil(const redisReadTask* task) {
    return build(task, [](Reply& reply) { reply.type = Reply::Type::nil; });
  }
  static void release(void*) {}  // root_ owns everything

  // hiredis 1.0 and newer read RESP3, too. Nobody asks a server for that.
  static void* refuse_resp3(const redisReadTask* task) noexcept {
    static_cast<ReplyReader*>(task->privdata)->resp3_ = true;
    return nullptr;
  }
  static void* real(const redisReadTask* task, double, char*, std::size_t) noexcept {
    return refuse_resp3(task);
  }
  static void* boolean(const redisReadTask* task, int) noexcept { return refuse_resp3(task); }

  // By name: the newer ones stand among the older ones.
  template <class Functions>
  static Functions make() {
    Functions made{};
    made.createString = &string;
    made.createArray = &array;
    made.createInteger = &integer;
    made.createNil = &nil;
    made.freeObject = &release;
    if constexpr (requires { made.createDouble; }) made.createDouble = &real;
    if constexpr (requires { made.createBool; }) made.createBool = &boolean;
    return made;
  }
  static redisReplyObjectFunctions functions;
};

redisReplyObjectFunctions ReplyBuilder::functions = ReplyBuilder::make<redisReplyObjectFunctions>();

ReplyReader::ReplyReader(std::size_t max_reply, std::size_t max_items)
    : reader_(redisReaderCreateWithFunctions(&ReplyBuilder::functions)),
      max_reply_(max_reply),
      max_items_(max_items) {
  if (reader_ == nullptr) throw std::bad_alloc();
  reader_->privdata = this;
}

ReplyReader::~ReplyReader() { redisReaderFree(reader_); }

void ReplyReader::feed(std::string_view bytes) {
  bytes_ += bytes.size();
  if (error_.empty() && redisReaderFeed(reader_, bytes.data(), bytes.size()) != REDIS_OK) {
    error_ = reader_->errstr;
  }
}

ReplyReader::Next ReplyReader::next(Reply& into) {
  if (!error_.empty()) return Next::broken;
  void* reply = nullptr;
  if (redisReaderGetReply(reader_, &reply) != REDIS_OK) {
    error_ = too_large_                   ? "a reply with more than 65536 items, or lists more than 7 deep"
             : resp3_                     ? "a reply of RESP3"
             : reader_->errstr[0] != '\0' ? reader_->errstr
                                          : "not a RESP reply";
    return Next::broken;
  }
  const std::size_t rest = reply == nullptr ? 0 : reader_->len - reader_->pos;
  if (bytes_ - rest > max_reply_) {
    too_large_ = true;
    error_ = "a reply of more than " + std::to_string(max_reply_) + " bytes (ClientOptions::max_reply)";
    return Next::broken;
  }
  if (reply == nullptr) return Next::incomplete;
  bytes_ = rest;
  into = std::move(root_);
  return Next::reply;
}

}  // namespace holdfast::redis
