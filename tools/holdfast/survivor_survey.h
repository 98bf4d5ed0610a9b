// What the members of a set say of themselves: each is asked directly, for `holdfast survivor`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/lock/api/survivor.h"
#include "lib/net/network.h"
#include "lib/redis/client.h"

namespace holdfast::tools {

// What stands in the mark (lib/lock/store/survivor_guard.lua).
struct SurvivorMark {
  std::string replication_id;
  std::int64_t quarantine_ends = 0;  // ms, the clock of the server that wrote it
  std::string constants;             // as survivor_constants() writes them
};
std::optional<SurvivorMark> parse_mark(const std::string& text);

// "longest lease 10s, drift 10000 ppm, skew 100ms, members a:1 b:2 c:3", for people.
std::string describe_constants(const std::string& constants);
// The members that they name, and how long a quarantine of theirs lasts. Zero: they are not of this version.
std::vector<std::string> members_in(const std::string& constants);
Duration quarantine_in(const std::string& constants);

struct MemberState {
  std::string address;
  std::string trouble = {};  // it could not be asked, and why; then nothing below counts
  bool primary = false;
  std::string follows = {};                // a replica: "host:port"
  bool link_up = false;                    // a replica
  std::vector<std::string> replicas = {};  // a primary: "host:port" each
  std::string replication_id = {};
  std::int64_t offset = 0;
  std::string policy = {};  // maxmemory-policy
  std::int64_t now = 0;     // ms, its clock
  std::optional<SurvivorMark> mark = std::nullopt;

  bool knows_its_role() const { return mark && mark->replication_id == replication_id; }
};

struct Access {
  std::string user = {}, password = {};
  Duration patience = std::chrono::seconds(2);  // for one member
};

// A client of that member alone.
redis::ClientOptions options_for(const std::string& member, const Access& access);

// [parks] Asks each member, one after the other.
std::vector<MemberState> survey(Runtime& runtime, Network& network, const std::vector<std::string>& members,
                                const Access& access);

// What of it is against the rules of a survivor, a line each; empty: nothing. `constants`: nullopt: those
// that the primary has. `leaving`: no members any more, who may follow the primary yet.
std::vector<std::string> problems_of(const std::vector<MemberState>& members,
                                     const std::optional<std::string>& constants,
                                     const std::vector<std::string>& leaving = {});

// The only primary; null: there is none, or several.
const MemberState* primary_of(const std::vector<MemberState>& members);

}  // namespace holdfast::tools
