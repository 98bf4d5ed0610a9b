// Drawn histories for the oracle: small, of every kind of object, right and wrong ones, before any format.
//
// A drawing says what clients did and were told, as plain data. oracle_scribe.h writes it as text,
// oracle_truth.h says what each check has to answer, and oracle.h compares. Nothing of it uses the readers,
// the joiner, the holds or the engines.
//
// Clients come in turns. A service that mostly keeps its promises answers them, with times that are often
// equal, unknown outcomes, refused and foreign releases, leases, renewals in time and too late, losses and
// deaths.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::checker::oracle {

enum class Answer : std::uint8_t {
  ok,
  fail,       // it certainly did not happen
  not_owner,  // a release that failed since its owner holds nothing
  unknown
};

// What one process asked and was told; or one event that says it all (`single`): lost, crash, queue.
struct Act {
  std::string f;        // "acquire", ...
  std::string process;  // "c1/0"; "c1/0#1" after an unknown outcome
  std::string client;   // "c1"
  std::string owner;    // who acts for the lock: as named, else the process
  bool names_owner = false;
  std::string key, id;  // id: "" if it has none
  bool shared = false;
  std::int64_t permits = 1;
  bool names_permits = false;
  // Values and tokens are written as JSON: 17, "17", [1,2]. "" is absent.
  std::string token, value, expected;
  std::optional<std::int64_t> valid_until;
  Answer answer = Answer::unknown;
  bool single = false;
  std::int64_t call = 0, ret = 0;  // times; ret: of the completion if there is one
  int called = -1, returned = -1;  // places in the order of recording; returned -1: there is no completion
};

struct Drawn {
  std::string model;
  bool reentrant = false;         // the model says so
  bool leased = false;            // grants have valid_until
  std::int64_t permits = 0;       // of a semaphore; else 0
  std::int64_t most_entries = 0;  // of a reentrant lock; 0: no bound
  std::vector<Act> acts;
  int recorded = 0;   // events
  bool ties = false;  // two events have one time
};

// The models that can be drawn.
const std::vector<std::string>& drawn_models();

Drawn draw(const std::string& model, std::uint64_t seed);

}  // namespace holdfast::checker::oracle
