// Wrong versions of the scripts of the lock in Redisson's layout.
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "sim/planted/planted.h"

namespace holdfast::sim {

std::vector<PlantedVersion> planted_redisson() {
  const redis::Script *const acquire = &kRedissonAcquire, *const release = &kRedissonRelease,
                             *const renew = &kRedissonRenew;
  return {
      {.name = "redisson-release-of-any-owner",
       .base = "redisson",
       .broken = "a release removes the record whoever's it is",
       .edits = {{release, "redis.pcall('hexists', key, owner)", "redis.pcall('exists', key)"}}},
      {.name = "redisson-leave-hands-over",
       .base = "redisson",
       .broken = "who gives up waiting hands the lock on although somebody holds it",
       .edits = {{release, "if call('exists', key) == 1 then", "if false then"}}},
      {.name = "redisson-hand-over-without-lease",
       .base = "redisson",
       .broken = "a record that was handed over has no lease: it outlives a holder that dies",
       .within = 30'000,
       .edits = {{release, "      call('pexpireat', key, alive_until)\n", ""}}},
      {.name = "redisson-hand-over-to-two",
       .base = "redisson",
       .broken = "who was handed the lock stays in the queue, and so does its patience",
       .edits = {{release,
                  "      call('zrem', queue, first)\n      call('zrem', patience, first)\n      call('hset'",
                  "      call('hset'"}}},
      {.name = "redisson-second-owner-joins",
       .base = "redisson",
       .broken = "a record whose lease ends within a fifth of it takes a second owner",
       .edits = {{acquire, "if mine or not look_again then",
                  "if mine or not look_again or left < lease / 5 then"}}},
      {.name = "redisson-dead-head-is-seen-for-ever",
       .base = "redisson",
       .broken = "who finds a dead waiter at the head of the queue takes it off, and goes on looking at it",
       .within = 4'096,
       .edits = {{acquire,
                  "  call('zrem', patience, first)\n  first = call('zrange', queue, 0, 0)[1]\nend\nreturn",
                  "  call('zrem', patience, first)\nend\nreturn"}}},
      {.name = "redisson-renew-of-any-owner",
       .base = "redisson",
       .broken = "a renewal lengthens the record whoever's it is",
       .within = 30'000,
       .edits = {{renew, "redis.pcall('hexists', key, ARGV[i + 1])", "redis.pcall('exists', key)"}}},
      {.name = "redisson-renew-does-nothing",
       .base = "redisson",
       .broken = "a renewal is confirmed and lengthens nothing",
       .edits = {{renew, "redis.call('pttl', key) < lease", "redis.call('pttl', key) < 0"}}},
      {.name = "redisson-asked-again-not-lengthened",
       .base = "redisson",
       .broken = "a repeated acquire promises a new lease and leaves the record's as it is",
       .edits = {{acquire, "    call('pexpire', key, ARGV[2])\n    left = lease",
                  "    if not mine then call('pexpire', key, ARGV[2]) end\n    left = lease"}}},
  };
}

}  // namespace holdfast::sim
