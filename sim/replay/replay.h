// Replay: everything of one embedded run that a person wants to see at a moment of their choice: what each
// server had, what each client believed, what was under way, what was drawn. Plain data; record_run() makes
// it, write_page() makes a page of it.
//
// A step is one thing that happened, and the steps are in the order in which things happened, also within one
// moment of the clock. What stood at a moment is what the steps up to it make of nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/proxy/passage.h"
#include "sim/world/decisions.h"

namespace holdfast::sim {

struct Replay {
  enum class Kind : std::uint8_t { told, record, came, went, drawn, server, belief, pause };
  struct Step {
    std::int64_t at_ns = 0;  // since the first event of the history; what was set up before stands at 0
    Kind kind = Kind::told;
    std::uint32_t at = 0;  // in the list of that kind; came, went: of `messages`
  };

  // An event of the history, in the words of the timeline.
  struct Told {
    enum class Sort : std::uint8_t { client, fault, effect, mark };
    Sort sort = Sort::client;
    std::string who, text;
    std::int64_t lane = -1;  // in `threads`, or -1
  };

  // A key of a server as it is from now on.
  struct Element {
    std::string name, value;  // a field, a member and its score, a place in a list; of a string: "", it
    std::string owner = {};   // the acquisition that is named by it ("c1-7"), "" none
  };
  struct Record {
    std::size_t server = 0;
    std::string key, type;  // type "": it is not there
    std::vector<Element> elements = {};
    std::size_t left_out = 0;                  // elements beyond those
    std::optional<std::int64_t> expires = {};  // ms, on the server's wall clock
    std::string_view by = {};                  // "command", "replication", "expiry", "loading"
  };

  struct Message {
    std::string from, to;  // the link's two ends; the server is `to`
    Direction direction = Direction::request;
    bool replication = false;
    std::uint64_t connection = 0;
    std::string text;  // the command or the answer, in short
    std::size_t bytes = 0;
    Action::Kind meant = Action::Kind::pass;  // when it came
    std::int64_t delay_ns = 0;
    std::optional<Fate> fate = {};  // nullopt: still under way at the end
    bool routine = false;           // PING and the like, and what answers it
  };

  struct Drawing {
    std::string stream;
    std::uint64_t number = 0;
    Drawn drawn;
    bool fixed = false;  // by the file of decisions, not by the seed
  };

  enum class Standing : std::uint8_t { down, loading, primary, replica };
  struct Server {
    std::size_t server = 0;
    Standing standing = Standing::down;
    std::int64_t clock_ns = 0;  // what its wall clock shows more than the time of the step
  };

  // What one thread of a client believes from now on.
  enum class Claimed : std::uint8_t { asking, queued, holding, releasing, lost, unsure };
  struct Claim {
    std::string key, id;
    Claimed state = Claimed::asking;
    std::int64_t since_ns = 0;
    std::optional<std::int64_t> until_ns = {};  // valid_until
    std::string token = {}, mode = {};
    std::string note = {};  // what it was told with it
  };
  struct Belief {
    std::size_t thread = 0;
    bool dead = false;
    std::string doing = {};  // with the protected resource
    std::vector<Claim> claims = {};
  };

  struct Pause {
    std::string party;  // "r1", "c1", "c1/watchdog"
    std::string act;    // of the fault; several may pause one party
    bool begins = false;
  };

  struct Verdict {
    std::string check, outcome, reason;
  };
  // What a check found: where a reader begins.
  struct Place {
    std::string check, kind, key, why;
    // When it is there; from when to when; and when the first of its owners was granted the lock.
    std::int64_t at_ns = 0, from_ns = 0, to_ns = 0, first_ns = 0;
    std::vector<std::size_t> threads = {};
  };

  std::string title, about, lock;
  std::uint64_t seed = 0, trace = 0;
  std::int64_t end_ns = 0;
  std::vector<std::string> servers, threads;
  std::size_t sentinels = 0;  // the last ones of `servers`; they keep no keys
  std::vector<Verdict> verdicts;
  std::vector<Place> places;
  // It has more steps than the limit: nothing after this moment was recorded.
  std::optional<std::int64_t> cut_ns;
  std::size_t keys_left_out = 0;  // beyond the limit of one server

  std::vector<Step> steps;
  std::vector<Told> told;
  std::vector<Record> records;
  std::vector<Message> messages;
  std::vector<Drawing> drawings;
  std::vector<Server> standings;
  std::vector<Belief> beliefs;
  std::vector<Pause> pauses;
};

}  // namespace holdfast::sim
