// Session: what the server knows of one connection.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/time.h"
#include "sim/redis/ordered_dict.h"
#include "sim/redis/resp.h"

namespace holdfast::sim::embedded {

struct CommandSpec;

// The connection under a session. Called by the engine, never while it runs a command of that same session.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual void output_ready() noexcept = 0;  // session.out has output that answers no request
  virtual void close() noexcept = 0;         // now
};

enum class Blocked : std::uint8_t { no, by_wait, by_pause, on_keys, by_script, by_shutdown, by_transfer };
enum class ReplyMode : std::uint8_t { on, off, skip_next, skip_this };
enum class ReplicaState : std::uint8_t { none, handshake, online };

// What MULTI queues: all words in one block.
class CommandQueue {
 public:
  void add(const CommandSpec& spec, Args argv);
  // Calls run(spec, argv) for each, first to last. REQUIRES: run() leaves this queue alone.
  template <class Run>
  void for_each(Run&& run);
  std::size_t size() const { return commands_.size(); }
  std::size_t bytes() const { return words_.size(); }
  void clear();

 private:
  struct Command {
    const CommandSpec* spec;
    std::size_t words;
  };
  std::vector<Command> commands_;
  std::vector<std::size_t> word_ends_;
  std::string words_;
  std::vector<std::string_view> argv_;  // scratch of for_each()
};

inline void CommandQueue::add(const CommandSpec& spec, Args argv) {
  commands_.push_back({&spec, argv.size()});
  for (const std::string_view word : argv) {
    words_ += word;
    word_ends_.push_back(words_.size());
  }
}

template <class Run>
void CommandQueue::for_each(Run&& run) {
  std::size_t word = 0, at = 0;
  for (const Command& command : commands_) {
    argv_.clear();
    for (std::size_t i = 0; i < command.words; ++i, ++word) {
      argv_.push_back(std::string_view(words_).substr(at, word_ends_[word] - at));
      at = word_ends_[word];
    }
    run(*command.spec, Args(argv_));
  }
}

inline void CommandQueue::clear() {
  commands_.clear();
  word_ends_.clear();
  words_.clear();
  if (words_.capacity() > 4096) *this = CommandQueue();
}

struct WatchedKey {
  int db;
  std::string key;
  bool was_expired;
};

struct Session {
  std::uint64_t id = 0;
  Transport* transport = nullptr;
  std::string peer;  // "host:port"
  std::string local;
  std::string name;
  int db = 0;
  bool authenticated = true;
  bool fake = false;          // replays an append-only file or serves a script
  bool from_primary = false;  // the replication link of a replica
  // Of a node of a Redis Cluster: READONLY, and ASKING, which holds for the next command.
  bool reads_replica = false, asking = false;

  // Input not executed yet is in[in_pos..]. The transport appends while the session is not blocked.
  std::string in;
  std::size_t in_pos = 0;
  RequestParser parser;
  Out out;
  ReplyMode reply_mode = ReplyMode::on;
  bool close_after_reply = false;
  bool closed = false;
  bool listed_for_output = false;
  bool no_evict = false;

  // MULTI
  bool in_multi = false;
  bool abort_exec = false;  // a queued command was refused
  bool watch_failed = false;
  std::uint32_t queued_flags = 0;
  CommandQueue queue;
  std::vector<WatchedKey> watched;

  // pub/sub
  OrderedDict<Nothing> channels, patterns, shard_channels;
  std::size_t subscriptions() const { return channels.size() + patterns.size(); }

  // blocking
  Blocked blocked = Blocked::no;
  std::uint64_t blocked_order = 0;
  std::int64_t blocked_until_ms = 0;  // monotonic; 0: for ever
  std::int64_t wait_offset = 0;
  std::int64_t wait_replicas = 0;
  std::vector<std::string> blocked_argv;
  std::size_t blocked_keys_at = 0, blocked_keys = 0;  // of blocked_argv: what it waits for
  std::span<const std::string> waited_for() const {
    return std::span(blocked_argv).subspan(blocked_keys_at, blocked_keys);
  }
  // The blocked command, asked of `key` alone.
  std::vector<std::string> waiting_command(const std::string& key) const;

  // replication
  ReplicaState replica = ReplicaState::none;
  std::uint16_t listening_port = 0;
  std::string announced_host;
  std::int64_t acked_offset = 0;
  std::int64_t acked_at_s = 0;  // seconds of the wall clock, as Redis counts them
  std::int64_t last_write_offset = 0;

  std::int64_t opened_ms = 0;  // monotonic
  std::int64_t active_ms = 0;
  std::string_view last_command = "NULL";
};

inline std::vector<std::string> Session::waiting_command(const std::string& key) const {
  std::vector<std::string> words = blocked_argv;
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(blocked_keys_at);
  *begin = key;
  words.erase(begin + 1, begin + static_cast<std::ptrdiff_t>(blocked_keys));
  if (words.front().ends_with("mpop")) words[blocked_keys_at - 1] = "1";  // their number
  return words;
}

}  // namespace holdfast::sim::embedded
