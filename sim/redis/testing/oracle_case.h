// A conformance case: a text that is played against the embedded server and against real redis-server.
//
// A file *.cases holds many. "=== name" begins one; "#" begins a comment line; every other line is a step:
//
//   SET k "a b\r\n"             a command, words quoted as in redis-cli, and its reply
//   2: GET k                    the same on connection 2 (opened at first use; the default is 1)
//   send BLPOP q 0              sent, its reply is not awaited
//   read                        the next reply or push of the connection
//   close                       closes the connection
//   drain                       everything that has come, up to the reply of a PING sent now
//   raw "PING\r\n"              these bytes, and one reply
//   any CLIENT ID               only the kind of the reply counts (it is free)
//   sorted SMEMBERS s           the order of the elements is free
//   pairs HGETALL h             the order of the pairs is free
//   fields role,repl_offset INFO replication      these lines of the text
//   attrs name,db CLIENT LIST   these attributes of each line
//   let x SCRIPT LOAD "..."     the reply's text (not compared), later used as the word @x, and shown as that
//                               in replies; @now+5000 and @sec+5 are the wall clock in ms and s, plus that;
//                               @A.host, @A.port, @A.bus are where the first server listens, @B.* the second
//   advance 1500ms              time passes (us, ms, s, m, h)
//   attach                      a replica (played by the case) attaches by PSYNC
//   stream                      the replication stream up to here, as commands
//   ack                         the replica acknowledges all that it has read
//   detach                      it goes away
//   wait-replica                until the second server (=== [replica] name) has everything
//   until "text" ROLE           the command again and again until the text stands in its reply, for ten
//                               seconds at most; only whether it came counts
//   B: GET k                    the same forms on the second server's connection 1; "B2:" its connection 2
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/time.h"

namespace holdfast::sim::oracle {

struct Case {
  std::string name;  // without tags
  std::string origin;
  bool replica = false;  // has a second server that replicates from the first
  bool pair = false;     // "=== [pair] name": of nodes of a Redis Cluster that do not know each other
  std::vector<std::string> steps;
};

void PrintTo(const Case& one, std::ostream* out);  // for GoogleTest
std::string test_name(std::string_view text);      // in letters that GoogleTest allows

struct Step {
  std::string connection = "1";
  std::string form;                 // "command", "send", "read", "close", "raw", "advance", "attach", ...
  std::string normalise;            // "", "any", "sorted", "pairs", "fields", "attrs", "let"
  std::vector<std::string> wanted;  // of fields and attrs; the name of let
  std::vector<std::string> words;
};

// All cases of the folder, in the order of the files' names. Throws std::runtime_error with file and line.
std::vector<Case> load_cases(const std::string& folder);
Step parse_step(std::string_view line);
// Words as redis-cli splits them. Throws std::runtime_error on unbalanced quotes.
std::vector<std::string> split_words(std::string_view line);
Duration parse_duration(std::string_view text);

// How a reply (its bytes) is shown and compared.
std::string show_reply(std::string_view raw, const Step& step);
std::string escape(std::string_view bytes);

}  // namespace holdfast::sim::oracle
