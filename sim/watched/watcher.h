// Watcher: writes the history of clients that cannot tell it, from what passes on the wire.
//
// When is it held? From the moment at which the answer of a grant has been handed to its client, to the one
// at which the request of its release reaches the proxy. The holder knows of the former later, and has
// decided on the latter earlier: so a hold may be told for a little longer than it was. But a server that
// grants to one after the other is never judged wrongly, for it does so after the release has passed the
// proxy, or after the lease, which it counts from a later moment than this does. What is promised
// (`valid_until`) is the sending of the request plus the lease that it names.
//
// An answer that a fault destroys on its way to the client tells the client nothing: a grant or a release
// whose answer did not arrive is an `info`, a renewal did not happen, and of several servers it is as if this
// one had not answered.
//
// Who never releases (it lets the lease run out, as scheduled jobs do) is taken to know when its lease ended:
// given_up() tells that when the run is over. Who releases later than that has worked on until then, and that
// is what a run is about.
//
// A release that was not executed (NOSCRIPT, an error, a transaction that was not) stays open: its client
// sends it once more, or gives up; in either case it has ended its work. So do several at once.
//
// A refused request leaves its acquire open, as the client is taken to wait: the next request of the same
// owner, or of a client that draws a new owner for each attempt, goes on with it.
//
// With `majority` a request goes to several servers, and the answer of most of them is its answer (ballot.h):
// the lease counts from the first of its requests, a hold ends with the first of its releases. A majority
// that comes when the lease is over is no grant: most clients notice that, and whether this one does cannot
// be seen. What is taken on a minority and given back is nothing.
//
// Thread safety: none; belongs to the recorder's world.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/client/recorder.h"
#include "sim/proxy/proxy.h"
#include "sim/watched/ballot.h"
#include "sim/watched/pattern.h"

namespace holdfast::sim {

class Watcher {
 public:
  // `recorder` outlives the watcher. `servers`: that know nothing of each other, of which a recogniser with
  // `majority` asks for most.
  Watcher(Recorder& recorder, Recogniser recogniser, std::size_t servers = 1);

  // For Proxy::watch(): each message of a client link.
  void see(const Message& message);
  // For Proxy::watch_fates(): what became of a reply that see() was shown.
  void became(std::uint64_t exchange, Fate fate);
  // The process died: nothing of it is waiting or held any more. (Its `crash` is recorded by who killed it.)
  void gone(std::string_view client);

  // `lost` events, in order of their times, which lie in the past, for holds whose lease was over with nobody
  // releasing them. Call it when the run is over. O(n log n) for n of them.
  std::vector<checker::Event> given_up() const;
  // Of these, what is known already, each of them once: for who writes the history down while it goes on. The
  // recorder may have a new history from one message to the next.
  std::vector<checker::Event> take_given_up() { return std::exchange(given_up_, {}); }

  // Who holds what now, as far as the wire shows it, by key; whose lease is over is left out.
  struct Held {
    std::string key, client;
    std::int64_t since_ns = 0, until_ns = checker::kAbsent;  // kAbsent: no lease is known
    bool shared = false;
    std::uint32_t permits = 0;
  };
  std::vector<Held> held() const;

  // Calls of scripts whose text nobody showed (EVALSHA of what was loaded before): they were not read.
  std::uint64_t unread() const { return unread_; }
  // Requests of `client` that a pattern of an acquire fitted: a DEL may mean anything.
  std::uint64_t understood(std::string_view client) const;
  // It waits for something, or holds something.
  bool busy(std::string_view client) const;

 private:
  using Who = std::tuple<std::string, std::string, std::string>;  // client, key, owner
  // One acquire, and the hold that it leads to.
  struct Round {
    std::uint32_t slot = 0;    // of the thread "c1/N" that it is told of
    std::uint64_t number = 0;  // a later round of the same owner has another one
    bool waits = true, told_waiting = false;
    bool releasing = false;           // the release has begun, and has no outcome yet
    int in_flight = 0, releases = 0;  // requests, and those among them that end the hold
    Ballot acquire = {}, extend = {}, release = {};
    int depth = 1;  // Recogniser::counts
    std::string id = {};
    std::int64_t since_ns = 0;                 // of the grant
    std::int64_t until_ns = checker::kAbsent;  // of its lease
    bool shared = false;
    std::uint32_t permits = 0;
  };
  struct Asked {
    const LockPattern* pattern = nullptr;
    Who who;
    std::int64_t at_ns = 0;
    std::optional<Duration> lease;
    std::uint64_t round = 0;    // its number; 0: of none
    std::uint64_t attempt = 0;  // of the round's ballot
    std::size_t index = 0;      // of its reply in EXEC's
    bool held = false;          // an acquire of what it holds, or a release that leaves it held
    bool ends = false;          // a release that ends the hold
  };
  // An answer that is on its way to the client.
  struct Answer {
    std::string command, node;
    std::uint64_t connection = 0;
    redis::Reply reply;
  };
  // What a connection has sent after MULTI and was told to be queued.
  struct Transaction {
    std::size_t commands = 0;
    std::vector<Asked> asked;
  };
  struct Client {
    std::set<std::uint32_t> free;
    std::uint32_t next = 0;
    std::uint64_t acquisitions = 0, understood = 0;
    std::map<std::string, std::string, std::less<>> last_owner;  // by key
  };
  using Rounds = std::map<Who, Round>;

  void requested(const Message& message);
  void sent(const Message& message, const Words& words, std::size_t index);
  void answered(const Message& message);
  void arrived(const Answer& answer, std::vector<Asked> asked, bool delivered);
  // `answer` null: it was not executed.
  void settle(const Asked& asked, const redis::Reply* answer, std::string_view node);
  void settle_by_votes(Asked asked, Rounds::iterator at, const redis::Reply* answer, std::string_view node);
  void undelivered(const Asked& asked, const redis::Reply* answer, std::string_view node);
  void no_outcome(Rounds::iterator at, checker::Function f, std::string_view why);
  void settle_acquire(const Asked& asked, Rounds::iterator at, Vote answer, std::string_view node);
  void settle_release(Rounds::iterator at, bool done, bool refused);
  void asks(Asked& asked, const Filled& filled);
  void releases(Asked& asked);
  static Ballot& ballot(Round& round, LockPattern::Does does);
  bool undecided(const Round& round) const;  // its acquire
  void renewed(const Asked& asked, Rounds::iterator at);
  void granted(const Asked& asked, Rounds::iterator at, std::string_view node);
  void end(Rounds::iterator at);
  checker::Event lost(const Rounds::value_type& round) const;
  std::string script_of(const WatchedCommand& command);
  std::uint32_t free_slot(Client& client);
  checker::Event event(checker::EventType type, checker::Function f, const Who& who,
                       const Round& round) const;
  void publish(RunEventKind kind, const Who& who, std::string_view id, std::string_view node = {});

  Recorder& recorder_;
  const Recogniser recogniser_;
  const std::size_t servers_;
  const bool votes_;                                         // the answer of one of them is not the answer
  std::map<std::string, std::string, std::less<>> scripts_;  // squeezed text, by digest
  std::map<std::uint64_t, std::vector<Asked>> asked_;        // by exchange
  std::map<std::uint64_t, Transaction> queued_;              // by connection
  std::map<std::uint64_t, Answer> answers_;                  // by exchange
  std::set<std::uint64_t> unread_calls_;                     // exchanges
  Rounds rounds_;
  std::map<std::string, Client, std::less<>> clients_;
  std::map<std::string, std::int64_t, std::less<>> limits_;  // permits, by key
  std::vector<checker::Event> given_up_;
  std::uint64_t unread_ = 0, rounds_so_far_ = 0;
};

// `history` with `late` where their times belong. Both are in order of time; the symbols are of `history`.
checker::History with_late_events(const checker::History& history, const std::vector<checker::Event>& late);

}  // namespace holdfast::sim
