// Relay: one connection through the proxy: the client's stream, the server's, and a lane each way.
//
// A lane is read by one task. While nothing delays what it reads it writes it on at once, from the buffer
// that it was read into; what is delayed waits in a queue, and the task reads only until the first of it is
// due. A second task empties the queue from the first hold on. A lane is framed always, and taken apart into
// messages only while somebody asks for messages (relay_messages.cc). Messages that were read in one go and
// pass are written in one go; before anybody may act on one, those before it are written. What others are
// told of it: relay_told.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "sim/proxy/conversation.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rule_book.h"
#include "sim/world/rng.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class Relay : public std::enable_shared_from_this<Relay> {
 public:
  // `owner` keeps `book` and lives as long as a task of the relay; `on_idle` is called when the last has
  // ended.
  Relay(Process& process, RuleBook& book, Link link, std::unique_ptr<Stream> client, Rng rng,
        std::weak_ptr<void> owner, std::function<void()> on_idle);

  // [parks] Connects and relays until the connection is over, on the calling task and others that it starts.
  // `name`: of its own among all relays. `unreachable`: what the client sees where it cannot be connected.
  void run(const std::string& name, const Endpoint& upstream, Network& dials, IoStatus unreachable);

  void break_off();  // both peers see a reset, at once
  void close();      // both peers see the end of the stream, at once
  // Asks again for what that rule holds. `sent_again`: it passes when its sender tries again (heal_rule()).
  void release(RuleId id, bool sent_again);
  // The machine at the source of that lane is gone: nothing more comes from there, not even an end, and what
  // is sent to it is lost.
  void lose_machine(Direction from);
  void machine_is_back();  // it answers with a reset what is sent to it from now on, or is sent again
  const Link& link() const { return link_; }

 private:
  enum class End : std::uint8_t { none, finish, reset };

  struct Verdict {
    Action::Kind kind = Action::Kind::pass;
    Duration delay{};
    RuleId by = 0;
    std::shared_ptr<const std::string> instead = nullptr;
    std::shared_ptr<const EndlessReply> endless = nullptr;
    std::size_t part = 0;
    std::shared_ptr<const std::vector<Slice>> slices = nullptr;
    RuleId sliced_by = 0;
    Duration slice{};  // how much of `delay` that was
    std::shared_ptr<const std::function<void()>> passed = nullptr;
  };

  // What it takes to ask about a message again.
  struct Context {
    std::uint64_t exchange = 0;
    std::string command, request;
  };

  // Who is told what became of a piece: of a reply those who watch fates, of any the watcher of passages.
  struct Awaited {
    std::uint64_t exchange = 0, passage = 0;  // 0: nobody asked
  };
  using Exchanges = std::vector<Awaited>;

  // A message or a chunk of bytes on its way, or the end of the stream.
  struct Piece {
    std::string bytes;
    End end = End::none;
    Verdict verdict;
    MonotonicTime due{};
    std::unique_ptr<Context> context{};  // of a message that is held
    Exchanges exchanges{};               // replies that are whole when it has been written
  };

  struct Lane {
    explicit Lane(Direction way) : direction(way) {}
    const Direction direction;
    bool read_to_end = false;   // nothing more will be queued
    bool ended = false;         // its end was passed on
    bool discarding = false;    // nobody takes its bytes any more
    bool has_writer = false;    // the queue has a task of its own
    bool writing = false;       // the queue's task is writing
    bool raw = false;           // the message under way began while nobody looked
    bool piecewise = false;     // a transaction is passed on in pieces
    std::uint32_t grouped = 0;  // messages in `group`
    std::string partial;        // the message under way
    std::string group;          // a transaction (or the replies to one) that is not complete yet
    bool more = false;          // of what was read in one go, messages follow
    std::string gathered;       // messages that passed, to be written in one go
    Exchanges in_gathered;      // replies among them
    std::vector<std::string_view> arguments;  // scratch of the reading task
    Exchange answered;                        // and by which request the reply was asked for
    std::unique_ptr<std::deque<Piece>> queue;
    std::size_t queued_bytes = 0;
    Parker* writer = nullptr;
    Parker* reader = nullptr;  // set while it waits for room
  };

  Lane& lane(Direction direction) { return direction == Direction::request ? request_ : reply_; }
  Lane& other(const Lane& one) { return one.direction == Direction::request ? reply_ : request_; }
  Stream* source(const Lane& of) {
    return of.direction == Direction::request ? client_.get() : server_.get();
  }
  Stream* target(const Lane& of) {
    return of.direction == Direction::request ? server_.get() : client_.get();
  }

  // When what was sent first at `first` is sent again, from now on.
  MonotonicTime next_repetition(MonotonicTime first);
  void start_task(std::string_view role, std::function<void()> body);
  void read_lane(Lane& of);
  bool empty_queue(Lane& of, MonotonicTime& next);
  void write_queue(Lane& of);
  void start_writer(Lane& of);
  void wait_for_room(Lane& of);
  void refresh();

  void receive(Lane& of, std::string_view chunk);
  void receive_bytes(Lane& of, std::string_view chunk);
  void finish(Lane& of, IoStatus status);

  // relay_messages.cc
  void receive_messages(Lane& of, std::string_view chunk);
  void message_done(Lane& of, std::string_view bytes);
  void request_done(Lane& of, std::string_view bytes);
  void reply_done(Lane& of, std::string_view bytes);
  void pass_request(Lane& of, std::string_view bytes, std::uint32_t replies, std::string_view request);
  void pass_message(Lane& of, const Message& message, std::string_view request);
  void pass_group_in_pieces(Lane& of);
  void gather(Lane& of, std::string_view bytes, Exchanges exchanges);
  void send_gathered(Lane& of);
  void queue_gathered(Lane& of);
  void flush(Lane& of);  // what was kept back of messages passes as bytes
  Verdict ask_again(Lane& of, const Piece& piece);

  void pass_bytes(Lane& of, std::string_view bytes);
  Verdict ask(const Lane& of, std::string_view bytes, const Message* message, RuleId from);
  // Tells of a piece that came; what is to be told when it goes is put to `exchanges`.
  void announce(const Lane& of, std::string_view bytes, const Message* message, const Verdict& verdict,
                Exchanges& exchanges);
  void place_slices(Lane& of, Verdict verdict, Exchanges exchanges, std::string_view bytes);
  void place(Lane& of, Verdict verdict, Piece& piece, std::string_view bytes);
  // Returns what became of `bytes`.
  Fate carry_out(Lane& of, const Verdict& verdict, End end, std::string_view bytes);
  Fate fate_of(const Lane& of, bool written) const {
    const bool heard = of.direction == Direction::request || !request_.read_to_end;
    return written && heard ? Fate::delivered : Fate::cut;
  }
  void tell(const Exchanges& exchanges, Fate fate);
  void tell_all_cut(Lane& of);
  void stream_out(Lane& of, const EndlessReply& reply);
  bool write_out(Lane& of, std::string_view bytes);  // false: nobody takes them
  void pass_end(Lane& of, End end);
  void close_if_over();
  void end_by(const std::function<void(Stream&)>& how);

  Process& process_;
  Runtime& runtime_;
  RuleBook& book_;
  Link link_;
  std::unique_ptr<Stream> client_, server_;
  std::weak_ptr<void> owner_;
  std::function<void()> on_idle_;
  Rng rng_;
  Conversation talk_;
  Lane request_{Direction::request}, reply_{Direction::reply};
  bool broken_ = false;
  RuleId streams_for_ = 0;                  // the rule by which it gets an endless reply; 0: none
  bool lost_ = false, back_ = false;        // a machine went off; and came back
  Direction lost_from_{};                   // lost_: the source of this lane is gone
  std::optional<MonotonicTime> unheard_{};  // lost_: since when something has been sent to it in vain
  int tasks_ = 0;
  std::uint64_t generation_ = 0;
  std::shared_ptr<std::vector<RuleBook::Entry>> rules_;  // those that apply; null: not asked yet
  bool wants_messages_ = false;
};

}  // namespace holdfast::sim
