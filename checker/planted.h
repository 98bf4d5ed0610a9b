// Planted defects: what could be wrong in readers, joining, holds, checks and engines, each behind a switch.
// The program test_holdfast_planted is built from the same sources with HOLDFAST_PLANTED_BUILD: it switches
// on one after another, and the oracle (testing/oracle.h) has to find each. In every other build a switch is
// `false`. To add one: a line here, and HOLDFAST_PLANTED(name) where it would be.
#pragma once

#ifdef HOLDFAST_PLANTED_BUILD
#include <cstdint>

// X(name, file, what is wrong)
#define HOLDFAST_PLANTED_DEFECTS(X)                                                                          \
  X(bom_is_kept, "history/formats.cc", "a byte order mark is not removed")                                   \
  X(foreign_releases_count, "linearizability/operations.cc",                                                 \
    "a release that names what its owner never acquired counts")                                             \
  X(null_begins_edn, "history/formats.cc", "a first field that is null makes a file EDN")                    \
  X(times_that_fall_stay, "history/formats.cc", "lines are judged in the order in which they stand")         \
  X(ties_are_turned, "history/event_appender.cc", "sorting by time turns lines of one time around")          \
  X(edn_times_ignored, "history/read_edn.cc", "times of EDN are not read")                                   \
  X(valid_until_with_a_dash_alone, "history/read_edn.cc",                                                    \
    "EDN: valid_until with an underscore is not known")                                                      \
  X(fence_ignored, "history/read_edn.cc", "EDN: :fence is not known")                                        \
  X(unlock_is_unknown, "history/history.cc", "lock and unlock are no names of acquire and release")          \
  X(info_is_fail, "history/history.cc", "an unknown outcome is read as a failure")                           \
  X(text_tokens_by_appearance, "history/history.cc",                                                         \
    "tokens that are texts are ordered by first appearance")                                                 \
  X(great_numbers_as_text, "history/value.cc", "numbers beyond 60 bits are compared as texts")               \
  X(keyword_keeps_its_colon, "history/edn_value.cc", "EDN: the name :a is not the name \"a\"")               \
  X(escape_is_dropped, "history/history_read.cc", "escapes of JSON give nothing")                            \
  X(null_is_a_name, "history/history_read.cc", "null is read as the name \"null\"")                          \
  X(jsonl_permits_ignored, "history/history_read.cc", "permits of JSON lines are not read")                  \
  X(valid_until_in_milliseconds, "history/history_read.cc", "valid_until is taken for milliseconds")         \
  X(carriage_return_kept, "history/line_reader.h", "the carriage return before a newline stays")             \
  X(last_line_dropped, "history/line_reader.h", "a last line without a newline is passed over")              \
  X(log_wants_tabs, "history/read_log.cc", "text logs: blanks between fields are no separators")             \
  X(completion_needs_its_key, "history/joiner.h", "a completion without a key is of another one")            \
  X(packed_mode_dropped, "history/packed_history.cc", "packed histories lose the mode")                      \
  X(packed_owner_dropped, "history/packed_history.cc", "packed histories lose the owner")                    \
  X(answer_without_key_is_of_none, "holds/holds.cc",                                                         \
    "a completion without a key belongs to the lock without a name")                                         \
  X(owner_is_the_process, "holds/holds.cc", "owners that are named are ignored")                             \
  X(crash_ends_nothing, "holds/holds.cc", "holds of a client that died go on")                               \
  X(crash_ends_one_thread, "holds/holds.cc", "a crash ends the holds of the process of that name alone")     \
  X(loss_ignores_the_id, "holds/holds.cc", "a loss ends the newest hold, whichever it names")                \
  X(who_reads_writes_no_more, "holds/holds.cc",                                                              \
    "what names the acquisition of a writer that reads means one hold")                                      \
  X(loss_ends_everything, "holds/holds.cc", "a loss ends all holds of its client")                           \
  X(failed_release_of_jepsen_ends, "holds/holds.cc", "a release that failed ends a hold in Jepsen formats")  \
  X(not_owner_ends_one_entry, "holds/holds.cc", "not-owner takes one entry of several")                      \
  X(failed_release_ends_nothing, "holds/holds.cc", "a release that fails leaves the hold")                   \
  X(id_reaches_another_owner, "holds/holds.cc", "an id that two owners use ends the hold of either")         \
  X(release_ends_with_its_answer, "holds/holds.cc", "a hold lasts until the release returns")                \
  X(hold_begins_when_asked, "holds/holds.cc", "a hold begins at the invocation of the acquire")              \
  X(late_renewal_revives, "holds/holds.cc", "a renewal after valid_until extends the claim")                 \
  X(renewal_at_the_end_is_late, "holds/holds.cc", "a renewal at valid_until does not extend the claim")      \
  X(renewals_ignored, "holds/holds.cc", "renewals extend no claim")                                          \
  X(renewal_may_shorten, "holds/holds.cc", "a renewal may bring valid_until forward")                        \
  X(mode_ignored, "holds/holds.cc", "readers count as writers")                                              \
  X(mode_of_the_answer_alone, "holds/holds.cc", "the mode of an invocation is not read")                     \
  X(permits_of_the_answer_alone, "holds/holds.cc", "permits that only the invocation names count as one")    \
  X(permits_count_as_one, "holds/holds.cc", "permits are ignored")                                           \
  X(entries_are_not_counted, "holds/holds.cc", "the first release of several entries ends the hold")         \
  X(a_part_ends_the_whole, "holds/holds.cc", "a release of some permits of a hold ends all of it")           \
  X(unknown_acquire_takes_nothing, "holds/holds.cc",                                                         \
    "what an acquire of unknown outcome took cannot be released")                                            \
  X(release_without_hold_passes, "holds/holds.cc", "a release of what was never held is no violation")       \
  X(claim_outlives_its_hold, "holds/holds.h", "a claim is not cut at the end of the hold")                   \
  X(touching_holds_conflict, "holds/exclusion.cc", "a hold that begins when another ends conflicts with it") \
  X(an_owner_never_conflicts, "holds/exclusion.cc", "an owner may always enter again")                       \
  X(readers_conflict, "holds/exclusion.cc", "readers exclude each other")                                    \
  X(permits_come_back_late, "holds/exclusion.cc", "permits that end when others begin still count")          \
  X(limits_in_any_order, "holds/exclusion.cc",                                                               \
    "of holds that begin together the first of the file is looked at first")                                 \
  X(only_the_last_end_counts, "holds/exclusion.cc", "the latest end among other owners is forgotten")        \
  X(changes_of_any_key, "checks/check_exclusion.cc", "a change of permits is of all keys")                   \
  X(limit_at_the_grant_alone, "checks/check_exclusion.cc",                                                   \
    "a grant may not use the permits of the time at which it was asked for")                                 \
  X(expired_grants_compete, "checks/check_exclusion.cc",                                                     \
    "grants that were over when they came are compared")                                                     \
  X(silent_grants_hold, "checks/check_exclusion.cc", "grants without valid_until are passed over")           \
  X(later_change_closes_the_unknown, "checks/check_exclusion.cc",                                            \
    "a known change ends one of unknown outcome")                                                            \
  X(equal_tokens_pass, "checks/check_fencing_monotonic.cc", "a token may be repeated")                       \
  X(who_reads_wants_a_token, "checks/check_fencing_monotonic.cc", "a writer that reads needs another token") \
  X(tokens_of_readers_rise, "checks/check_fencing_monotonic.cc", "readers may not share a token")            \
  X(tokens_by_holds, "checks/check_fencing_monotonic.cc",                                                    \
    "tokens are ordered by the ends of holds, not of claims")                                                \
  X(permits_are_exclusive, "checks/check_fencing_monotonic.cc",                                              \
    "two holders of a semaphore exclude each other, whatever its permits")                                   \
  X(token_ties_are_ordered, "checks/check_fencing_monotonic.cc",                                             \
    "a grant comes before what is asked for at its time")                                                    \
  X(nothing_told_holds, "checks/check_told_in_time.cc", "told-in-time holds without a grant")                \
  X(never_told_holds, "checks/check_told_in_time.cc", "who is never told is told in time")                   \
  X(failed_acquire_may_be, "linearizability/operations.cc", "an acquire that failed may have happened")      \
  X(unknown_never_happened, "linearizability/operations.cc", "what is of unknown outcome never happened")    \
  X(ends_are_forgotten, "linearizability/operations.cc", "losses and deaths end no hold of the model")       \
  X(ends_of_jepsen_are_forgotten, "linearizability/operations.cc",                                           \
    "in EDN losses and deaths end no hold of the model")                                                     \
  X(unknown_ends_no_session, "linearizability/operations.cc", "in EDN an `info` ends no session")            \
  X(queue_by_info_is_forgotten, "linearizability/operations.cc", "`queue` `info` is nothing")                \
  X(a_failed_wait_makes_any, "linearizability/operations.cc", "an acquire that failed may have any id")      \
  X(times_rule_in_jepsen, "linearizability/operations.cc", "in EDN times rule, not the order of lines")      \
  X(owners_do_not_begin_anew, "linearizability/operations.cc",                                               \
    "what a client was told lost may end what it acquires later")                                            \
  X(a_lost_hold_is_one_entry, "linearizability/operations.cc", "a loss takes one entry of several")          \
  X(leases_do_not_end, "linearizability/operations.cc", "a leased hold lasts until it is released")          \
  X(changes_lose_their_order, "linearizability/operations.cc",                                               \
    "changes of permits by one process have no order")                                                       \
  X(ties_are_ordered, "linearizability/operations.cc",                                                       \
    "an operation that ends when another begins comes before it")                                            \
  X(processes_have_no_order, "linearizability/operations.cc", "operations of one process may change places") \
  X(pass_overlooks_ends, "linearizability/lock_pass.cc", "the one pass ignores losses and deaths")           \
  X(pass_trusts_ties, "linearizability/lock_pass.cc",                                                        \
    "the one pass believes the order of lines at one time")                                                  \
  X(pass_counts_no_entries, "linearizability/lock_pass.cc",                                                  \
    "the one pass frees a lock with the first of several releases")                                          \
  X(pass_lets_anyone_release, "linearizability/lock_pass.cc", "the one pass lets any owner release")         \
  X(pass_takes_equal_tokens, "linearizability/lock_pass.cc", "the one pass lets a token repeat")             \
  X(pass_takes_one_entry_for_all, "linearizability/lock_pass.cc",                                            \
    "the one pass counts not-owner as one entry")                                                            \
  X(late_release_is_free, "linearizability/linear.cc", "a release after a loss says nothing of the hold")    \
  X(owners_are_always_in_turn, "linearizability/linear.cc",                                                  \
    "the linear engine takes owners that overlap with themselves")                                           \
  X(one_entry_too_many, "linearizability/linear.cc", "an owner may enter once more than is allowed")         \
  X(a_reader_may_write, "linearizability/linear.cc", "the linear engine lets a reader become a writer")      \
  X(linear_takes_equal_tokens, "linearizability/linear.cc", "the linear engine lets a token repeat")         \
  X(permits_from_nobody, "linearizability/linear_semaphore.cc",                                              \
    "a semaphore takes back more than an owner has")                                                         \
  X(permits_back_with_the_answer, "linearizability/linear_semaphore.cc",                                     \
    "permits come back when the release returns")                                                            \
  X(depth_forgets_the_state, "linearizability/depth_search.cc",                                              \
    "the depth search takes configurations of other states for known")                                       \
  X(acquires_are_forced, "linearizability/forced.cc", "a search takes any legal acquire at once")            \
  X(unknown_releases_are_left_out, "linearizability/forced.cc",                                              \
    "a search leaves out every operation of unknown outcome")                                                \
  X(kinds_without_mode, "linearizability/state_graph.cc", "a search takes readers for writers")              \
  X(kinds_without_token, "linearizability/state_graph.cc", "a search takes grants of any token for equal")   \
  X(breadth_stops_at_dead_ends, "linearizability/breadth_search.cc",                                         \
    "the breadth search takes every state for a dead end")                                                   \
  X(makes_no_room, "linearizability/permit_limits.cc", "a change of unknown outcome never makes room")

namespace holdfast::checker::planted {

enum class Defect : std::uint16_t {
  none,
#define HOLDFAST_X(name, file, what) name,
  HOLDFAST_PLANTED_DEFECTS(HOLDFAST_X)
#undef HOLDFAST_X
};
inline Defect now = Defect::none;  // the one that is switched on; not thread-safe

}  // namespace holdfast::checker::planted

#define HOLDFAST_PLANTED(name) \
  (::holdfast::checker::planted::now == ::holdfast::checker::planted::Defect::name)
#else
#define HOLDFAST_PLANTED(name) false
#endif
