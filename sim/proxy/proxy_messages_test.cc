// The proxy takes messages apart: requests, replies, transactions, replication streams.
#include "sim/proxy/proxy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/proxy/testing/rig.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using testing::Kind;
using testing::only;
using testing::Rig;
using testing::Wire;
using testing::with_rig;
using Strings = std::vector<std::string>;

class ProxyMessages : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, ProxyMessages, ::testing::Values(Kind::embedded, Kind::real),
                         [](const auto& info) { return info.param == Kind::embedded ? "embedded" : "real"; });

NthMessage nth(Direction direction, const std::string& command, Action::Kind action) {
  NthMessage options;
  options.which = only(direction);
  options.matches = [command](const Message& message) { return message.command == command; };
  options.action = {.kind = action};
  return options;
}

TEST_P(ProxyMessages, ResetInPlaceOfARequest) {
  with_rig(GetParam(), [](Rig& rig) {
    rig.proxy.add_rule(make_nth_message_rule(nth(Direction::request, "SET", Action::Kind::reset)));
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      EXPECT_EQ(wire.ask("get k"), "+k");
      wire.patience = 2s;
      EXPECT_EQ(wire.ask("set k v"), "(reset)");
      EXPECT_EQ(Wire(rig.client, rig.door).ask("set k w"), "+w") << "only the first";
    });
    rig.sleep(20ms);
    EXPECT_EQ(rig.server.commands(), (Strings{"get k", "(reset)", "set k w", "(end)"}));
  });
}

TEST_P(ProxyMessages, ResetInPlaceOfAReply) {
  with_rig(GetParam(), [](Rig& rig) {
    rig.proxy.add_rule(make_nth_message_rule(nth(Direction::reply, "SET", Action::Kind::reset)));
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      wire.patience = 2s;
      wire.send("get k\r\nset k v\r\n");
      const std::string first = wire.read_line();
      EXPECT_TRUE(first == "+k" || first == "(reset)") << first;  // a reset may overtake what was not read
      if (first == "+k") {
        EXPECT_EQ(wire.read_line(), "(reset)");
      }
    });
    rig.sleep(20ms);
    EXPECT_EQ(rig.server.commands(), (Strings{"get k", "set k v", "(reset)"}));
  });
}

TEST_P(ProxyMessages, HalfAReply) {
  with_rig(GetParam(), [](Rig& rig) {
    rig.proxy.add_rule(
        make_nth_message_rule(nth(Direction::reply, "GET", Action::Kind::pass_half_then_reset)));
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      wire.patience = 2s;
      wire.send("get abcdef\r\n");
      EXPECT_EQ(wire.read(9), "+abc (end)");
    });
  });
}

TEST_P(ProxyMessages, ARuleThatAppearsInTheMiddleOfAMessageStartsWithTheNext) {
  with_rig(GetParam(), [](Rig& rig) {
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      wire.send("get early\r\n*2\r\n$3\r\nGET\r\n$6\r\nhal");
      EXPECT_EQ(wire.read_line(), "+early");
      rig.proxy.add_rule(make_nth_message_rule(nth(Direction::request, "GET", Action::Kind::drop)));
      wire.send("ves\r\n*2\r\n$3\r\nGET\r\n$5\r\nswept\r\nget later\r\n");
      EXPECT_EQ(wire.read_line(), "+halves");
      EXPECT_EQ(wire.read_line(), "+later");
    });
    const Strings got = rig.server.commands();
    EXPECT_EQ(Strings(got.begin(), got.begin() + 3), (Strings{"get early", "GET halves", "get later"}));
  });
}

TEST_P(ProxyMessages, RepliesAreKnownByTheirRequests) {
  with_rig(
      GetParam(),
      [](Rig& rig) {
        rig.as_client([&] {
          Wire wire(rig.client, rig.door);
          // Two requests that nobody looked at are still unanswered when somebody begins to look.
          wire.send("slow a\r\nslow b\r\n");
          rig.client.runtime().sleep_for(20ms);
          Strings seen;
          rig.proxy.watch([&](const Message& message) {
            std::string text = message.direction == Direction::request ? "> " : "< ";
            text += std::string(message.command) + "#" + std::to_string(message.exchange);
            for (std::size_t i = 1; i < message.arguments.size(); ++i)
              text += " " + std::string(message.arguments[i]);
            if (message.reply) text += " = " + message.reply->text;
            seen.push_back(text);
          });
          wire.send("get c\r\nslow\r\n");
          for (const char* reply : {"+a", "+b", "+c"}) EXPECT_EQ(wire.read_line(), reply);
          std::sort(seen.begin(), seen.end());
          EXPECT_EQ(seen, (Strings{"< #0 = a", "< #0 = b", "< GET#1 c = c", "> GET#1 c", "> SLOW#2"}));
        });
      },
      [held = std::make_shared<std::string>()](const std::vector<std::string_view>& arguments) {
        const std::string reply = arguments.size() > 1 ? "+" + std::string(arguments.back()) + "\r\n" : "";
        *held += reply;
        if (*held == "+a\r\n" || *held == "+a\r\n+b\r\n") return std::string();
        return std::exchange(*held, {});
      });
}

TEST_P(ProxyMessages, AWatcherActsBeforeTheMessagePasses) {
  with_rig(GetParam(), [](Rig& rig) {
    rig.proxy.watch([&, done = false](const Message& message) mutable {
      if (message.direction != Direction::request || message.command != "SET" || std::exchange(done, true))
        return;
      rig.proxy.reset_links([](const Link&) { return true; });
    });
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      wire.patience = 2s;
      EXPECT_EQ(wire.ask("get a"), "+a");
      EXPECT_EQ(wire.ask("set a b"), "(reset)");
    });
    rig.sleep(20ms);
    EXPECT_EQ(rig.server.commands(), (Strings{"get a", "(reset)"}));
  });
}

// `requests` in one go, while a watcher looks that may act on SET.
std::uint64_t writes_before_set(Rig& rig, const Strings& requests) {
  std::uint64_t at_set = 0;
  const auto is_set = [](const Message& message) {
    return message.direction == Direction::request && message.command == "SET";
  };
  rig.proxy.watch(
      [&](const Message& message) {
        if (is_set(message)) at_set = rig.proxy.stats().writes;
      },
      is_set);
  rig.as_client([&] {
    Wire wire(rig.client, rig.door);
    wire.patience = 2s;
    std::string all, answers;
    for (const std::string& request : requests) {
      all += request + "\r\n";
      answers += "+" + request.substr(request.rfind(' ') + 1) + "\r\n";
    }
    wire.send(all);
    EXPECT_EQ(wire.read(answers.size()), answers);
  });
  EXPECT_EQ(rig.server.commands(), requests);
  return at_set;
}

TEST_P(ProxyMessages, WhatWasReadInOneGoIsWrittenInOneGo) {
  with_rig(GetParam(), [](Rig& rig) {
    const Strings requests(40, "get a");
    writes_before_set(rig, requests);
    EXPECT_EQ(rig.proxy.stats().messages, 2 * requests.size());
    // The fake server answers each request by itself.
    EXPECT_LE(rig.proxy.stats().writes, 1 + requests.size());
  });
}

TEST_P(ProxyMessages, BeforeAWatcherActsTheMessagesBeforeAreHandedOver) {
  with_rig(GetParam(), [](Rig& rig) {
    EXPECT_EQ(writes_before_set(rig, {"get a", "get b", "set c d", "get e"}), 1u);
  });
}

// What passes is gathered, what has to wait is not passed by it.
TEST_P(ProxyMessages, AHeldMessageKeepsItsPlaceAmongThoseThatAreGathered) {
  with_rig(GetParam(), [](Rig& rig) {
    NthMessage held = nth(Direction::request, "SET", Action::Kind::hold);
    const RuleId rule = rig.proxy.add_rule(make_nth_message_rule(held));
    rig.as_client([&] {
      Wire wire(rig.client, rig.door);
      wire.patience = 50ms;
      wire.send("get a\r\nget b\r\nset c\r\nget d\r\n");
      EXPECT_EQ(wire.read(12), "+a\r\n+b\r\n (silence)");
      wire.patience = 2s;
      rig.proxy.remove_rule(rule);
      EXPECT_EQ(wire.read(8), "+c\r\n+d\r\n");
    });
    EXPECT_EQ(rig.server.commands(), (Strings{"get a", "get b", "set c", "get d"}));
  });
}

// Rules that only wait, come and go at any moment, whatever the splits: every byte arrives, in order, once.
TEST(ProxyProperty, WaitingChangesNoBytes) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    with_rig(Kind::embedded, [seed](Rig& rig) {
      Rng rng(seed);
      const auto below = [&rng](std::uint64_t bound) {
        return static_cast<std::size_t>(rng.between(0, bound - 1));
      };
      Strings expected;
      std::string stream, replies;
      for (int i = 0; i < 60; ++i) {
        const std::string word =
            std::to_string(i) + std::string(below(20) == 0 ? below(9000) : below(30), 'x');
        expected.push_back("ECHO " + word);
        stream += below(4) == 0
                      ? "ECHO " + word + "\r\n"
                      : "*2\r\n$4\r\nECHO\r\n$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
        replies += "+" + word + "\r\n";
      }
      bool done = false;
      rig.world.harness().start("rules", [&rig, &rng, &below, &done] {
        std::vector<RuleId> rules;
        while (!done) {
          rig.sleep(Duration(rng.between(0, 300000)));
          const std::size_t choice = below(5);
          if (choice == 0 && !rules.empty()) {
            const std::size_t which = below(rules.size());
            rig.proxy.remove_rule(rules[which]);
            rules.erase(rules.begin() + static_cast<std::ptrdiff_t>(which));
          } else if (choice == 1 && rules.size() < 4) {
            rules.push_back(rig.proxy.add_rule(make_delay_rule(all_links(), {0us, 200us}, Rng(rng.next()))));
          } else if (choice == 2 && rules.size() < 4) {
            rules.push_back(
                rig.proxy.add_rule(make_hold_rule(only(below(2) ? Direction::request : Direction::reply))));
          } else if (choice == 3 && rules.size() < 4) {
            NthMessage held =
                nth(below(2) ? Direction::request : Direction::reply, "ECHO", Action::Kind::hold);
            held.nth = 1 + static_cast<std::int64_t>(below(3));
            rules.push_back(rig.proxy.add_rule(make_nth_message_rule(held)));
          } else if (choice == 4 && !rules.empty()) {
            rig.proxy.release_held(rules[below(rules.size())]);
          }
        }
        for (const RuleId id : rules) rig.proxy.remove_rule(id);
      });
      rig.as_client([&] {
        Wire wire(rig.client, rig.door);
        wire.patience = 10s;
        for (std::size_t at = 0; at < stream.size();) {
          const std::size_t size = std::min<std::size_t>(stream.size() - at, 1 + below(400));
          wire.send(std::string_view(stream).substr(at, size));
          at += size;
          if (below(3) == 0) rig.client.runtime().sleep_for(Duration(rng.between(0, 100000)));
        }
        rig.client.runtime().sleep_for(1ms);
        done = true;
        EXPECT_EQ(wire.read(replies.size()), replies);
      });
      EXPECT_EQ(rig.server.commands(), expected);
    });
  }
}

// --- transactions -----------------------------------------------------------------------------------------

std::string transaction_reply(const std::vector<std::string_view>& arguments) {
  const std::string_view command = arguments.front();
  if (command == "MULTI") return "+OK\r\n";
  return command == "EXEC" ? "*2\r\n+OK\r\n:1\r\n" : "+QUEUED\r\n";
}

TEST_P(ProxyMessages, APipelinedTransactionIsOneMessage) {
  with_rig(
      GetParam(),
      [](Rig& rig) {
        Strings seen;
        rig.proxy.watch([&](const Message& message) {
          seen.push_back(std::string(message.direction == Direction::request ? "> " : "< ") +
                         std::string(message.command) + " " +
                         std::to_string(std::count(message.bytes.begin(), message.bytes.end(), '\n')) + " " +
                         (message.reply ? std::to_string(message.reply->items.size()) : ""));
        });
        rig.as_client([&] {
          Wire wire(rig.client, rig.door);
          wire.send("MULTI\r\nSET a 1\r\nINCR b\r\nEXEC\r\n");
          EXPECT_EQ(wire.read(5 + 9 + 9 + 4 + 5 + 4), "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:1\r\n");
        });
        EXPECT_EQ(seen, (Strings{"> EXEC 4 ", "< EXEC 6 2"}));
      },
      transaction_reply);
}

TEST_P(ProxyMessages, ATransactionWhoseClientWaitsForEachAnswerPassesInPieces) {
  with_rig(
      GetParam(),
      [](Rig& rig) {
        Strings seen;
        std::string request;
        rig.proxy.watch([&](const Message& message) {
          if (message.direction == Direction::request) seen.push_back(std::string(message.command));
          if (message.reply && message.command == "EXEC") request = message.request;
        });
        rig.as_client([&] {
          Wire wire(rig.client, rig.door);
          EXPECT_EQ(wire.ask("MULTI"), "+OK");
          EXPECT_EQ(wire.ask("SET a 1"), "+QUEUED");
          EXPECT_EQ(wire.ask("EXEC"), "*2");
        });
        EXPECT_EQ(seen, (Strings{"MULTI", "SET", "EXEC"}));
        EXPECT_EQ(request, "MULTI\r\nSET a 1\r\nEXEC\r\n");
      },
      transaction_reply);
}

// --- the replication link ------------------------------------------------------------------------------

TEST_P(ProxyMessages, AReplicationStreamIsTakenApartAroundItsSnapshot) {
  with_rig(
      GetParam(),
      [](Rig& rig) {
        const Endpoint door = rig.proxy.expose("r1", rig.server.endpoint(), "r2");
        NthMessage drop = nth(Direction::reply, "EXEC", Action::Kind::drop);
        rig.proxy.add_rule(make_nth_message_rule(drop));
        rig.as_client([&] {
          Wire wire(rig.client, door);
          EXPECT_EQ(wire.ask("PING"), "+PONG");
          wire.send("PSYNC ? -1\r\n");
          EXPECT_EQ(wire.read_line(2), "+FULLRESYNC id 0");
          EXPECT_EQ(wire.read(4 + 5), "$5\r\n\r\nRDB");
          EXPECT_EQ(wire.read_line(), "*1");
          EXPECT_EQ(wire.read_line(2), "$4PING");
          EXPECT_EQ(wire.read_line(), "*1") << "the transaction between was one message and was swallowed";
          EXPECT_EQ(wire.read_line(2), "$4LAST");
        });
      },
      [](const std::vector<std::string_view>& arguments) -> std::string {
        if (arguments.front() != "PSYNC") return "+PONG\r\n";
        return "\n+FULLRESYNC id "
               "0\r\n$5\r\n\r\nRDB*1\r\n$4\r\nPING\r\n*1\r\n$5\r\nMULTI\r\n*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n"
               "*1\r\n$4\r\nEXEC\r\n*1\r\n$4\r\nLAST\r\n";
      });
}

}  // namespace
}  // namespace holdfast::sim
