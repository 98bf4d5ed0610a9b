#include "sim/proxy/relay.h"

#include <algorithm>
#include <utility>

#include "lib/runtime/check.h"

namespace holdfast::sim {
namespace {

constexpr std::size_t kFirstBuffer = 1024;
constexpr std::size_t kLargestBuffer = 64 * 1024;
constexpr std::size_t kGatherLimit = 64 * 1024;  // what is written in one go, one message more or less
constexpr std::size_t kGatherRoom = 16 * 1024;   // what a lane keeps for it
constexpr Duration kConnectTimeout = std::chrono::seconds(10);

}  // namespace

Relay::Relay(Process& process, RuleBook& book, Link link, std::unique_ptr<Stream> client, Rng rng,
             std::weak_ptr<void> owner, std::function<void()> on_idle)
    : process_(process),
      runtime_(process.runtime()),
      book_(book),
      link_(std::move(link)),
      client_(std::move(client)),
      owner_(std::move(owner)),
      on_idle_(std::move(on_idle)),
      rng_(rng) {}

void Relay::start_task(std::string_view role, std::function<void()> body) {
  ++tasks_;
  process_.start(role, [owner = owner_.lock(), self = shared_from_this(), body = std::move(body)] {
    struct Leave {
      Relay& relay;
      ~Leave() {
        if (--relay.tasks_ == 0) relay.on_idle_();
      }
    } leave{*self};
    body();
  });
}

void Relay::run(const std::string& name, const Endpoint& upstream, Network& dials, IoStatus unreachable) {
  start_task("relay", [this, name, upstream, &dials, unreachable] {
    if (book_.past != nullptr) book_.past->apart(name);
    Connected made = dials.connect(upstream, deadline_after(runtime_.now(), kConnectTimeout));
    if (broken_) return;
    if (made.status == IoStatus::ok) {
      server_ = std::move(made.stream);
      start_task("relay", [this] { read_lane(reply_); });
    } else {
      request_.discarding = true;
      finish(reply_, unreachable);
      if (reply_.queue != nullptr) start_writer(reply_);
    }
    read_lane(request_);
  });
}

void Relay::refresh() {
  if (talk_.replicating() && !link_.replication) {
    link_.replication = true;
    generation_ = 0;
  }
  if (generation_ == book_.generation) return;
  generation_ = book_.generation;
  wants_messages_ = !book_.watchers.empty() && link_.of_client();
  if (rules_ == nullptr || rules_.use_count() > 1)  // somebody asks those of before
    rules_ = std::make_shared<std::vector<RuleBook::Entry>>();
  rules_->clear();
  for (const RuleBook::Entry& entry : book_.rules) {
    if (!entry.rule->applies(link_)) continue;
    rules_->push_back(entry);
    wants_messages_ = wants_messages_ || entry.messages;
  }
  wants_messages_ = wants_messages_ && !link_.opaque;
}

void Relay::read_lane(Lane& of) {
  Stream& from = *source(of);
  std::size_t size = kFirstBuffer;
  auto buffer = std::make_unique_for_overwrite<char[]>(size);
  while (!broken_) {
    if (of.queued_bytes > Proxy::kQueueLimit) wait_for_room(of);
    MonotonicTime next = kNever;
    if (!of.has_writer) empty_queue(of, next);
    if (broken_) return;
    const IoResult got = from.read({buffer.get(), size}, next);
    if (broken_) return;
    if (got.status == IoStatus::timed_out) continue;
    if (!got.ok()) {
      finish(of, got.status);
      if (!of.has_writer && of.queue != nullptr) write_queue(of);
      return;
    }
    receive(of, {buffer.get(), got.bytes});
    if (got.bytes == size && size < kLargestBuffer) {
      size *= 4;
      buffer = std::make_unique_for_overwrite<char[]>(size);
    }
  }
}

void Relay::wait_for_room(Lane& of) {
  const auto full = [&of] {
    const bool held = !of.queue->empty() && of.queue->front().verdict.kind == Action::Kind::hold;
    return of.queued_bytes > (held ? Proxy::kHoldLimit : Proxy::kQueueLimit);
  };
  if (full()) start_writer(of);
  while (!broken_ && full()) {
    of.reader = &runtime_.parker();
    runtime_.parker().park_until(kNever);
    of.reader = nullptr;
  }
}

void Relay::receive(Lane& of, std::string_view chunk) {
  if (book_.counter) book_.counter(link_, of.direction, chunk.size(), false);
  book_.shared(Past::Access::read);
  if (lost_) {
    if (of.direction == lost_from_) return;
    if (back_) return break_off();
    if (!unheard_) unheard_ = runtime_.now();
    return;
  }
  if (of.discarding) {
    if (other(of).ended) source(of)->reset();  // as a closed socket answers
    return;
  }
  refresh();
  if (wants_messages_ && !talk_.framer(of.direction).broken()) {
    receive_messages(of, chunk);
  } else {
    receive_bytes(of, chunk);
  }
}

void Relay::receive_bytes(Lane& of, std::string_view chunk) {
  if (link_.opaque) return pass_bytes(of, chunk);
  if (of.grouped > 0 || of.piecewise || !of.partial.empty()) flush(of);
  RespFramer& framer = talk_.framer(of.direction);
  for (std::string_view rest = chunk; !rest.empty();) {
    const RespFramer::Step step = framer.scan(rest);
    if (step.complete) talk_.skip(of.direction);
    rest.remove_prefix(step.consumed);
  }
  of.raw = !framer.at_boundary();
  refresh();  // it may have turned out to be a replication link
  pass_bytes(of, chunk);
}

// Reading is over.
void Relay::finish(Lane& of, IoStatus status) {
  if (lost_) {
    of.read_to_end = true;
    if (of.writer != nullptr) of.writer->unpark();
    if (of.direction == lost_from_) return;  // who is gone says nothing, not even that
    other(of).discarding = true;
    if (back_ || status != IoStatus::eof) return break_off();
    if (!unheard_) unheard_ = runtime_.now();
    return;
  }
  if (status == IoStatus::closed) {  // this side closed it
    of.read_to_end = of.ended = true;
    close_if_over();
  } else {
    flush(of);
    refresh();
    of.read_to_end = true;
    Piece piece;
    piece.end = status == IoStatus::eof ? End::finish : End::reset;
    if (!broken_) place(of, ask(of, {}, nullptr, 0), piece, {});
  }
  if (of.writer != nullptr) of.writer->unpark();
}

void Relay::pass_bytes(Lane& of, std::string_view bytes) {
  if (broken_ || bytes.empty()) return;
  ++book_.stats.chunks;
  if (rules_ == nullptr || rules_->empty()) {
    if (of.queue == nullptr || (of.queue->empty() && !of.writing)) {
      Exchanges exchanges;
      announce(of, bytes, nullptr, {}, exchanges);
      return gather(of, bytes, std::move(exchanges));
    }
  }
  Piece piece;
  const Verdict verdict = ask(of, bytes, nullptr, 0);
  announce(of, bytes, nullptr, verdict, piece.exchanges);
  place(of, verdict, piece, bytes);
}

// Asks the rules from the one numbered `from` on. Rules on messages are not asked about bytes.
Relay::Verdict Relay::ask(const Lane& of, std::string_view bytes, const Message* message, RuleId from) {
  Verdict verdict;
  if (rules_ == nullptr || rules_->empty()) return verdict;
  const std::shared_ptr<const std::vector<RuleBook::Entry>> rules = rules_;  // a rule may change the book
  const std::uint64_t generation = book_.generation;
  for (const RuleBook::Entry& entry : *rules) {
    if (entry.id < from || (entry.messages && message == nullptr)) continue;
    if (generation != book_.generation && !book_.has(entry.id)) continue;
    const Action action =
        entry.messages ? entry.rule->on_message(*message) : entry.rule->on_bytes(link_, of.direction, bytes);
    if (entry.messages) book_.counts(entry.id, action.kind != Action::Kind::pass);
    verdict.delay += action.delay;
    if (action.instead) verdict.instead = action.instead;
    if (action.slices) {
      verdict.slices = action.slices;
      verdict.sliced_by = entry.id;
    }
    if (action.passed) verdict.passed = action.passed;
    if (action.kind == Action::Kind::pass) continue;
    verdict.kind = action.kind;
    verdict.endless = action.endless;
    verdict.part = action.part;
    verdict.by = entry.id;
    break;
  }
  return verdict;
}

// `piece.bytes` is filled from `bytes` only when it has to wait.
void Relay::place(Lane& of, Verdict verdict, Piece& piece, std::string_view bytes) {
  if (broken_) return tell(piece.exchanges, Fate::cut);
  if (verdict.slices != nullptr && verdict.kind == Action::Kind::pass && piece.end == End::none)
    return place_slices(of, std::move(verdict), std::move(piece.exchanges), bytes);
  const bool clear = of.queue == nullptr || (of.queue->empty() && !of.writing);
  if (clear && verdict.kind != Action::Kind::hold && verdict.delay <= Duration::zero()) {
    const bool plain = verdict.kind == Action::Kind::pass && piece.end == End::none;
    if (plain && verdict.passed == nullptr) return gather(of, bytes, std::move(piece.exchanges));
    send_gathered(of);
    return tell(piece.exchanges, broken_ ? Fate::cut : carry_out(of, verdict, piece.end, bytes));
  }
  const bool idle = of.queue == nullptr || of.queue->empty();
  queue_gathered(of);
  piece.verdict = verdict;
  piece.due = runtime_.now() + std::max(verdict.delay, Duration::zero());
  piece.bytes = bytes;
  of.queued_bytes += bytes.size();
  if (of.queue == nullptr) of.queue = std::make_unique<std::deque<Piece>>();
  of.queue->push_back(std::move(piece));
  if (verdict.kind == Action::Kind::hold) start_writer(of);
  if (of.writer != nullptr && idle) of.writer->unpark();
}

void Relay::place_slices(Lane& of, Verdict verdict, Exchanges exchanges, std::string_view bytes) {
  const auto slices = std::exchange(verdict.slices, nullptr);
  const Duration delay = verdict.delay;
  for (const Slice& slice : *slices) {
    const std::string_view part = bytes.substr(0, slice.bytes);
    bytes.remove_prefix(part.size());
    Piece piece;
    if (bytes.empty()) piece.exchanges = std::exchange(exchanges, {});
    verdict.delay = delay + slice.after;
    verdict.slice = slice.after;
    if (!part.empty()) place(of, verdict, piece, part);
  }
  Piece rest;
  rest.exchanges = std::move(exchanges);
  if (!bytes.empty()) place(of, verdict, rest, bytes);
}

// Passes on what is due. True: nothing is left. `next`: when the first of the rest is due, kNever if it is
// held.
bool Relay::empty_queue(Lane& of, MonotonicTime& next) {
  next = kNever;
  if (of.queue == nullptr) return true;
  while (!broken_ && !of.queue->empty()) {
    const Piece& head = of.queue->front();
    if (head.verdict.kind == Action::Kind::hold) return false;
    if (head.due > runtime_.now()) {
      next = head.due;
      return false;
    }
    const Piece piece = std::move(of.queue->front());
    of.queue->pop_front();
    of.writing = true;
    tell(piece.exchanges, carry_out(of, piece.verdict, piece.end, piece.bytes));
    of.writing = false;
    of.queued_bytes -= piece.bytes.size();
    if (of.reader != nullptr) of.reader->unpark();
  }
  return true;
}

void Relay::write_queue(Lane& of) {
  Parker& parker = runtime_.parker();
  of.has_writer = true;
  of.writer = &parker;
  struct Leave {
    Lane& lane;
    ~Leave() { lane.writer = nullptr; }
  } leave{of};
  MonotonicTime next = kNever;
  while (!broken_) {
    if (empty_queue(of, next) && of.read_to_end) return;
    if (!broken_) parker.park_until(next);
  }
}

void Relay::start_writer(Lane& of) {
  if (std::exchange(of.has_writer, true)) return;
  start_task("relay", [this, &of] { write_queue(of); });
}

Fate Relay::carry_out(Lane& of, const Verdict& verdict, End end, std::string_view bytes) {
  switch (verdict.kind) {
    case Action::Kind::pass: {
      bool written = true;
      if (end == End::none) {
        written = write_out(of, bytes);
      } else {
        pass_end(of, end);
      }
      if (verdict.passed) (*verdict.passed)();
      return fate_of(of, written);
    }
    case Action::Kind::drop:
      if (end != End::none) of.ended = true;
      close_if_over();
      return Fate::dropped;
    case Action::Kind::reset: break_off(); return Fate::cut;
    case Action::Kind::pass_half_then_reset:
      write_out(of, bytes.substr(0, bytes.size() / 2));
      of.discarding = true;
      if (broken_) return Fate::cut;
      if (Stream* from = source(of)) from->reset();
      other(of).discarding = true;
      pass_end(of, End::finish);
      return Fate::cut;
    case Action::Kind::pass_part_then_close: {
      const bool written = write_out(of, bytes.substr(0, verdict.part));
      close();
      return fate_of(of, written && verdict.part >= bytes.size());
    }
    case Action::Kind::stream:
      if (std::exchange(of.discarding, true)) return Fate::cut;
      streams_for_ = verdict.by;
      start_task("relay", [this, &of, endless = verdict.endless] { stream_out(of, *endless); });
      return Fate::dropped;
    case Action::Kind::hold: HF_CHECK(false, "what is held is not carried out");
  }
  return Fate::cut;
}

void Relay::stream_out(Lane& of, const EndlessReply& reply) {
  Stream& to = *target(of);
  for (bool taken = to.write(reply.head, kNever).ok(); taken && !broken_;
       taken = to.write(reply.again, kNever).ok()) {
    runtime_.sleep_for(reply.pause);
    if (broken_) return;
  }
  break_off();
}

bool Relay::write_out(Lane& of, std::string_view bytes) {
  if (of.discarding) return false;
  if (bytes.empty()) return true;
  ++book_.stats.writes;
  if (book_.counter) book_.counter(link_, of.direction, bytes.size(), true);
  if (!target(of)->write(bytes, kNever).ok()) of.discarding = true;
  return !of.discarding;
}

// While messages follow, `bytes` wait for them.
void Relay::gather(Lane& of, std::string_view bytes, Exchanges exchanges) {
  if (of.gathered.empty() && !of.more) return tell(exchanges, fate_of(of, write_out(of, bytes)));
  of.gathered += bytes;
  of.in_gathered.insert(of.in_gathered.end(), exchanges.begin(), exchanges.end());
  if (!of.more || of.gathered.size() >= kGatherLimit) send_gathered(of);
}

void Relay::send_gathered(Lane& of) {
  if (of.gathered.empty()) return;
  std::string bytes = std::exchange(of.gathered, {});
  const Exchanges exchanges = std::exchange(of.in_gathered, {});
  tell(exchanges, fate_of(of, !broken_ && write_out(of, bytes)));
  bytes.clear();
  if (bytes.capacity() <= kGatherRoom) of.gathered = std::move(bytes);
}

// Something is about to be queued: what was gathered goes before it.
void Relay::queue_gathered(Lane& of) {
  if (of.gathered.empty()) return;
  Piece piece;
  piece.bytes = std::exchange(of.gathered, {});
  piece.exchanges = std::exchange(of.in_gathered, {});
  piece.due = runtime_.now();
  of.queued_bytes += piece.bytes.size();
  if (of.queue == nullptr) of.queue = std::make_unique<std::deque<Piece>>();
  of.queue->push_back(std::move(piece));
}

void Relay::pass_end(Lane& of, End end) {
  of.ended = true;
  if (Stream* to = target(of)) {
    if (end == End::reset) {
      to->reset();
    } else {
      to->finish_writing();
    }
  }
  // The server is gone: nobody takes what the client still sends.
  if (of.direction == Direction::reply) request_.discarding = true;
  close_if_over();
}

void Relay::close_if_over() {
  if (!request_.ended || !reply_.ended) return;
  client_->close();
  if (server_) server_->close();
}

void Relay::break_off() {
  end_by([](Stream& stream) { stream.reset(); });
}

void Relay::close() {
  end_by([](Stream& stream) { stream.close(); });
}

void Relay::end_by(const std::function<void(Stream&)>& how) {
  if (std::exchange(broken_, true)) return;
  how(*client_);
  if (server_) how(*server_);
  for (Lane* each : {&request_, &reply_}) {
    if (each->writer != nullptr) each->writer->unpark();
    if (each->reader != nullptr) each->reader->unpark();
  }
  tell_all_cut(reply_);
  tell_all_cut(request_);
}

void Relay::lose_machine(Direction from) {
  if (lost_) return;
  lost_ = true;
  lost_from_ = from;
  Lane& of = lane(from);
  Lane& towards = other(of);
  if (towards.queue != nullptr && !towards.queue->empty()) {  // under way to it
    unheard_ = runtime_.now();
    for (const Piece& piece : *towards.queue) towards.queued_bytes -= piece.bytes.size();
    tell_all_cut(towards);
    towards.queue->clear();
  }
  if (towards.reader != nullptr) towards.reader->unpark();
}

void Relay::machine_is_back() {
  if (!lost_ || std::exchange(back_, true) || broken_ || !unheard_) return;
  const MonotonicTime again = next_repetition(*unheard_);
  start_task("relay", [this, again] {
    while (!broken_ && runtime_.now() < again) runtime_.sleep_until(again);
    break_off();
  });
}

MonotonicTime Relay::next_repetition(MonotonicTime first) {
  constexpr auto kLongest = std::chrono::seconds(120);
  const std::uint64_t drawn = rng_.between(200'000'000, 300'000'000);
  Duration patience(static_cast<std::int64_t>(drawn));
  MonotonicTime again = first + patience;
  while (again < runtime_.now()) {
    patience = std::min<Duration>(2 * patience, kLongest);
    again += patience;
  }
  return again;
}

void Relay::release(RuleId id, bool sent_again) {
  if (id == streams_for_ && id != 0) return break_off();
  refresh();
  for (Lane* each : {&request_, &reply_}) {
    if (each->queue == nullptr) continue;
    std::optional<MonotonicTime> again;
    // By index: the queue may change while a rule is asked.
    for (std::size_t i = 0; i < each->queue->size() && !broken_; ++i) {
      Piece& piece = (*each->queue)[i];
      if (piece.verdict.sliced_by == id && id != 0)
        piece.due -= std::exchange(piece.verdict.slice, Duration{});
      if (piece.verdict.kind != Action::Kind::hold || piece.verdict.by != id) continue;
      const Verdict verdict = ask_again(*each, piece);
      Piece& still = (*each->queue)[i];
      still.verdict = verdict;
      const MonotonicTime first = still.due;
      still.due = runtime_.now() + std::max(verdict.delay, Duration::zero());
      if (sent_again) {
        if (!again) again = next_repetition(first);
        still.due = std::max(still.due, *again);
      }
      if (verdict.kind == Action::Kind::drop && still.context) talk_.forget(still.context->exchange);
    }
    if (each->writer != nullptr) each->writer->unpark();
    if (each->reader != nullptr) each->reader->unpark();
  }
}

}  // namespace holdfast::sim
