#include "sim/proxy/ledger.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/proxy/resp_parse.h"
#include "sim/proxy/testing/rig.h"

namespace holdfast::sim {
namespace {

using testing::Kind;
using testing::Rig;
using testing::Wire;
using testing::with_rig;
using Strings = std::vector<std::string>;

// "GRANT key record": granted when the reply is +1; "FREE key": says not for whom; "HAND key": grants it to
// whom the reply names.
std::vector<StoreEffect> read_effects(const std::vector<std::string_view>& command,
                                      const redis::Reply& reply) {
  const bool took_effect = reply.text == "1";
  if (command.front() == "GRANT") {
    return {{checker::Function::store_grant, std::string(command[1]), std::string(command[2]), took_effect}};
  }
  if (command.front() == "FREE") {
    return {{checker::Function::store_remove, std::string(command[1]), "", took_effect}};
  }
  if (command.front() == "HAND") {
    return {{.key = std::string(command[1]),
             .record = reply.text,
             .took_effect = !reply.text.empty(),
             .handed_over = true}};
  }
  return {};
}

LockKind planted_kind() {
  LockKind kind{};
  kind.name = "planted";
  kind.read_effects = read_effects;
  return kind;
}

std::string answer(const std::vector<std::string_view>& arguments) {
  if (arguments.front() == "GRANT") {
    return arguments[1] == "taken" ? "+0\r\n" : arguments[1] == "lost" ? "" : "+1\r\n";
  }
  if (arguments.front() == "HAND") return "+b-7\r\n";
  if (arguments.front() == "MULTI") return "+OK\r\n";
  if (arguments.front() == "EXEC") return "*1\r\n+1\r\n";
  return "+1\r\n";
}

class LedgerTest : public ::testing::Test {
 protected:
  MessageWatcher ledger() {
    return make_ledger(kind_, [this](const LedgerEntry& entry) {
      std::string text = entry.answered ? "ok " : "invoke ";
      text += std::to_string(entry.slot) + " " + std::string(entry.client) + ">" + std::string(entry.node) +
              " " + (entry.effect.f == checker::Function::store_grant ? "grant" : "remove") + " " +
              entry.effect.key + " " + entry.effect.record;
      if (entry.answered) text += entry.effect.took_effect ? " yes" : " no";
      entries_.push_back(text);
    });
  }
  LockKind kind_ = planted_kind();
  Strings entries_;
};

TEST_F(LedgerTest, OneOperationForEachEffect) {
  with_rig(
      Kind::embedded,
      [&](Rig& rig) {
        rig.proxy.watch(ledger());
        rig.as_client([&] {
          Wire wire(rig.client, rig.door);
          wire.ask("GRANT k a-1");
          wire.ask("PING");
          wire.send("FREE k\r\nGRANT taken a-2\r\n");
          wire.read_line();
          wire.read_line();
        });
      },
      answer);
  EXPECT_EQ(entries_, (Strings{"invoke 0 c1>r1 grant k a-1", "ok 0 c1>r1 grant k a-1 yes",
                               "invoke 0 c1>r1 remove k ", "invoke 1 c1>r1 grant taken a-2",
                               "ok 0 c1>r1 remove k  yes", "ok 1 c1>r1 grant taken a-2 no"}));
}

TEST_F(LedgerTest, TheReplyTellsToWhomALockWasHanded) {
  with_rig(
      Kind::embedded,
      [&](Rig& rig) {
        rig.proxy.watch(ledger());
        rig.as_client([&] { Wire(rig.client, rig.door).ask("HAND k"); });
      },
      answer);
  EXPECT_EQ(entries_, (Strings{"invoke 0 c1>r1 grant k ", "ok 0 c1>r1 grant k b-7 yes"}));
}

TEST_F(LedgerTest, AnUnansweredCommandStaysOpenAndItsSlotIsNotUsedAgain) {
  with_rig(
      Kind::embedded,
      [&](Rig& rig) {
        rig.proxy.watch(ledger());
        rig.as_client([&] {
          Wire(rig.client, rig.door).ask("GRANT lost a-1");
          Wire(rig.client, rig.door).ask("GRANT k a-2");
        });
      },
      answer);
  EXPECT_EQ(entries_, (Strings{"invoke 0 c1>r1 grant lost a-1", "invoke 1 c1>r1 grant k a-2",
                               "ok 1 c1>r1 grant k a-2 yes"}));
}

TEST_F(LedgerTest, LooksIntoTransactions) {
  with_rig(
      Kind::embedded,
      [&](Rig& rig) {
        rig.proxy.watch(ledger());
        rig.as_client([&] {
          Wire wire(rig.client, rig.door);
          wire.send("MULTI\r\nGRANT k a-1\r\nEXEC\r\n");
          for (int i = 0; i < 4; ++i) wire.read_line();
        });
      },
      answer);
  EXPECT_EQ(entries_, (Strings{"invoke 0 c1>r1 grant k a-1", "ok 0 c1>r1 grant k a-1 yes"}));
}

}  // namespace
}  // namespace holdfast::sim
