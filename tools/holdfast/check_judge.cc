#include "tools/holdfast/check_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "checker/history/packed_history.h"
#include "checker/holds/holds.h"
#include "sim/scenario/problem.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/progress.h"

namespace holdfast::tools {

using namespace checker;

namespace {

constexpr std::size_t kHuge = 1'000'000;  // events; beyond it no copy of the whole is made
constexpr std::size_t kMostFindings = 1000;

// A file that tells how far it has been read.
class Watched : public std::streambuf {
 public:
  Watched(std::streambuf& from, Progress& progress, const std::string& file)
      : from_(from), progress_(progress), file_(file) {}

 protected:
  std::streamsize xsgetn(char* to, std::streamsize count) override {
    const std::streamsize got = from_.sgetn(to, count);
    bytes_ += static_cast<std::uint64_t>(got);
    progress_.update(bytes_ >> 20, 0, "reading " + file_);
    return got;
  }
  int_type underflow() override { return from_.sgetc(); }
  int_type uflow() override {
    ++bytes_;
    return from_.sbumpc();
  }

 private:
  std::streambuf& from_;
  Progress& progress_;
  const std::string& file_;
  std::uint64_t bytes_ = 0;
};

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc{} && end.ptr == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

struct Contents {
  bool acquires = false, claims = false, sells = false, cas = false;
};

Contents contents_of(const PackedHistory& history) {
  Contents found;
  const auto look = [&](Function f) {
    found.acquires = found.acquires || f == Function::acquire || f == Function::release;
    found.sells = found.sells || f == Function::sell;
    found.cas = found.cas || f == Function::cas;
  };
  history.for_each([&](std::size_t, const PackedHistory::Fixed& core) { look(core.f()); },
                   [&](std::size_t, const PackedHistory::Fixed& core, const Event& event) {
                     look(core.f());
                     found.claims =
                         found.claims || (core.f() == Function::acquire && event.valid_until_ns != kAbsent);
                   });
  return found;
}

class Judgement {
 public:
  Judgement(const std::string& file, const CheckArguments& arguments) : arguments_(arguments) {
    result_.file = file;
  }

  Checked run() {
    const auto begin = std::chrono::steady_clock::now();
    try {
      read();
      const auto between = std::chrono::steady_clock::now();
      judge();
      result_.read_seconds = std::chrono::duration<double>(between - begin).count();
      result_.judge_seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - between).count();
    } catch (const FormatError& error) {
      result_.error = error.what();
    } catch (const HistoryError& error) {
      result_.error = fmt::format("{}: index {}: {}, expected processes that do one thing after another",
                                  result_.file, index_of(error.position), error.what());
    }
    return std::move(result_);
  }

 private:
  std::uint64_t index_of(std::size_t position) const { return read_.index_of(position); }

  void read() {
    const bool standard = result_.file == "-";
    std::ifstream file;
    std::error_code ignored;
    std::uint64_t bytes = 0;
    if (!standard) {
      file.open(result_.file, std::ios::binary);
      if (!file) throw FormatError(result_.file, 1, 1, "this file cannot be opened");
      bytes = std::filesystem::file_size(result_.file, ignored);
      if (ignored) bytes = 0;
    }
    Progress progress(bytes >> 20, "MB");
    Watched watched(standard ? *std::cin.rdbuf() : *file.rdbuf(), progress, result_.file);
    std::istream in(&watched);
    read_ = read_history(in, {.file = result_.file,
                              .format = arguments_.format,
                              .keyed = arguments_.keyed,
                              .keep_going = arguments_.keep_going,
                              .used = &result_.format,
                              .into = &packed_});
    result_.events = packed_.size();
    result_.skipped = read_.skipped;
    result_.first_skipped = read_.first_skipped;
  }

  void judge() {
    const Contents contents = contents_of(packed_);
    result_.model = arguments_.model;
    if (result_.model.empty()) {
      result_.model = contents.claims     ? "leased-mutex"
                      : contents.acquires ? "mutex"
                      : contents.cas      ? "cas-register"
                                          : "register";
    }
    const std::string& model = result_.model;
    result_.reentrant = model.rfind("reentrant", 0) == 0 || model == "leased-mutex";
    const bool jsonl = result_.format == Format::jsonl;
    std::vector<std::string> wanted = arguments_.checks;
    const bool usual = wanted.empty();
    if (usual) {
      wanted = {"linearizable"};
      const auto made = find_model(model)->make({});
      if (jsonl && made->locks() && made->owners()) {
        if (model != "leased-mutex") wanted.push_back("mutual-exclusion");
        for (const char* name : {"lease-exclusion", "fencing-monotonic", "no-foreign-release"}) {
          wanted.push_back(name);
        }
        if (model == "fair") wanted.push_back("fair-order");
        wanted.push_back("effects-inside-hold");
      }
      if (jsonl && contents.sells && number_of(arguments_.init)) wanted.push_back("oversell");
    }
    whole_ = packed_.size() <= kHuge;
    if (whole_) unpack();
    for (const std::string& name : wanted) {
      if (name == "linearizable") {
        linearizable();
      } else if (usual && !whole_) {
        result_.lines.push_back({.name = name,
                                 .reason = fmt::format("more than {} events: --check asks for it", kHuge),
                                 .counts = false});
      } else {
        other(*find_check(name), usual);
      }
    }
    result_.whole = whole_;
    result_.outcome = Outcome::holds;
    for (const CheckLine& line : result_.lines) {
      if (line.outcome == Outcome::violated) result_.outcome = Outcome::violated;
      if (line.outcome == Outcome::unknown && line.counts && result_.outcome == Outcome::holds) {
        result_.outcome = Outcome::unknown;
      }
    }
    if (whole_) {
      result_.summary = summarize(result_.history, result_.reentrant);
      if (failed_releases_ > 0) result_.summary.operations["release"]["fail"] = failed_releases_;
      for (const std::size_t position : shown_) result_.index.push_back(index_of(position));
      if (shown_.empty()) result_.index = std::move(read_.index);
    } else {
      result_.summary = counts();
    }
  }

  // Of a huge history: how many operations ended how.
  Summary counts() const {
    constexpr std::array kTypes = {EventType::ok, EventType::fail, EventType::info};
    std::map<Function, std::map<EventType, std::uint64_t>> seen;
    std::int64_t first_ns = kForever, last_ns = kAbsent;
    const auto count = [&](const PackedHistory::Fixed& core) {
      ++seen[core.f()][core.type()];
      first_ns = std::min(first_ns, core.time_ns);
      last_ns = std::max(last_ns, core.time_ns);
    };
    packed_.for_each([&](std::size_t, const PackedHistory::Fixed& core) { count(core); },
                     [&](std::size_t, const PackedHistory::Fixed& core, const Event&) { count(core); });
    Summary summary;
    for (auto& [f, types] : seen) {
      if (f == Function::fault || f == Function::mark) continue;
      auto& outcomes = summary.operations[std::string(to_string(f))];
      std::uint64_t open = types[EventType::invoke];
      for (const EventType type : kTypes) {
        if (types[type] > 0) outcomes[std::string(to_string(type))] = types[type];
        open -= std::min(open, types[type]);
      }
      if (open > 0) outcomes["pending"] = open;
    }
    summary.length_ns = last_ns - first_ns;
    return summary;
  }

  // Jepsen's failed operations never happened: a failed release ends no hold, neither here nor in pictures.
  void unpack() {
    result_.history = packed_.unpack();
    if (result_.format == Format::jsonl) return;
    const Pairs pairs = pair_events(result_.history);
    const auto& events = result_.history.events();
    const auto failed = [&](std::size_t at) {
      return events[at].f == Function::release &&
             (events[at].type == EventType::fail ||
              (pairs.other[at] != kNowhere && events[pairs.other[at]].type == EventType::fail));
    };
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!failed(i)) {
        shown_.push_back(i);
      } else if (events[i].type == EventType::fail) {
        ++failed_releases_;
      }
    }
    result_.history = result_.history.subset(shown_);
  }
  // From positions of the file to those of what is shown.
  void move_to_shown(Witness& witness) const {
    if (shown_.empty()) return;
    const auto moved = [&](std::size_t& position) {
      const auto place = std::lower_bound(shown_.begin(), shown_.end(), position);
      position = static_cast<std::size_t>(place - shown_.begin());
    };
    for (std::size_t& position : witness.events) moved(position);
    if (witness.acquires) {
      moved(witness.acquires->first);
      moved(witness.acquires->second);
    }
  }

  void linearizable() {
    LinearizabilityOptions options;
    options.model = result_.model;
    options.engine = arguments_.engine;
    options.jepsen = result_.format != Format::jsonl;
    options.model_options.permits = arguments_.permits;
    options.model_options.most_entries = arguments_.entries;
    options.budget.bytes = std::uint64_t{arguments_.memory_mb} << 20;
    if (const auto number = number_of(arguments_.init)) {
      options.model_options.initial = *number;
    } else if (arguments_.init != "nil") {
      options.model_options.initial = text_value(packed_.intern(arguments_.init));
    }
    std::optional<Progress> progress;
    std::uint64_t violated = 0;
    options.progress = [&](std::size_t done, std::size_t all) {
      if (!progress) progress.emplace(all, "keys");
      progress->update(done, violated, "judging " + result_.file);
    };
    const LinearizabilityResult judged = check_linearizable(packed_, options);
    progress.reset();
    result_.keys = judged.keys_checked;
    result_.operations = judged.operations;
    result_.by_linear = judged.by_linear;
    result_.by_search = judged.by_search;
    CheckLine line{.name = "linearizable", .outcome = judged.outcome, .reason = judged.reason};
    for (const KeyVerdict& key : judged.keys) {
      result_.bad_keys.emplace_back(packed_.text(key.key), key.outcome);
      if (key.outcome != Outcome::violated) continue;
      ++line.violations;
      if (result_.findings.size() < kMostFindings) add_finding(key);
    }
    if (!result_.findings.empty()) line.reason = result_.findings.front().witness.why;
    result_.lines.push_back(std::move(line));
  }

  void add_finding(const KeyVerdict& key) {
    Finding finding;
    finding.check = "linearizable";
    finding.at = describe(packed_, key, read_.index);
    finding.index = index_of(key.at);
    const Event at = packed_.event(key.at);
    finding.process = packed_.text(at.process);
    Witness& witness = finding.witness;
    witness.kind = key.kind;
    witness.why = key.reason;
    witness.key = packed_.text(key.key);
    witness.from_ns = witness.to_ns = at.time_ns;
    witness.events = key.witness;
    if (key.holder) {
      finding.holder = index_of(*key.holder);
      finding.holder_process = packed_.text(packed_.event(*key.holder).process);
      // Both must stay in the witness: what is told of it names them.
      for (const std::size_t each : {key.at, *key.holder}) {
        const auto place = std::lower_bound(witness.events.begin(), witness.events.end(), each);
        if (place == witness.events.end() || *place != each) witness.events.insert(place, each);
      }
      witness.acquires = std::pair(*key.holder, key.at);
    }
    keep_smallest(finding);
    if (!whole_ && shown_.empty()) around(key.at, at.key, finding);
    if (whole_ || result_.findings.empty()) {
      move_to_shown(witness);
      if (witness.acquires) witness.to_ns = overlap_end(witness);
    }
    result_.findings.push_back(std::move(finding));
  }

  // When the first of the two holds ends.
  std::int64_t overlap_end(const Witness& witness) {
    if (holds_.empty()) holds_ = build_holds(result_.history, result_.reentrant);
    std::int64_t end = kForever;
    for (const Hold& hold : holds_) {
      if (hold.acquired == witness.acquires->first || hold.acquired == witness.acquires->second)
        end = std::min(end, hold.to_ns);
    }
    return std::max(end, witness.from_ns);
  }

  void keep_smallest(Finding& finding) const {
    for (const std::size_t position : finding.witness.events) finding.indices.push_back(index_of(position));
    finding.smallest.history = packed_.subset(finding.witness.events);
    finding.smallest.index = finding.indices;
  }

  // Of a huge history: the key's events near the first violation, for pictures.
  void around(std::size_t at, Symbol key, const Finding& finding) {
    constexpr std::size_t kNear = 100'000;
    std::vector<std::size_t> before, positions;
    packed_.for_each(
        [&](std::size_t position, const PackedHistory::Fixed& core) {
          if (core.key == key) (position <= at ? before : positions).push_back(position);
        },
        [&](std::size_t position, const PackedHistory::Fixed& core, const Event&) {
          if (core.key == key || core.f() == Function::fault) {
            (position <= at ? before : positions).push_back(position);
          }
        });
    if (positions.size() > kNear) positions.resize(kNear);
    const std::size_t first = before.size() > kNear ? before.size() - kNear : 0;
    positions.insert(positions.begin(), before.begin() + static_cast<std::ptrdiff_t>(first), before.end());
    for (const std::size_t each : finding.witness.events) {
      const auto place = std::lower_bound(positions.begin(), positions.end(), each);
      if (place == positions.end() || *place != each) positions.insert(place, each);
    }
    result_.history = packed_.subset(positions);
    for (const std::size_t position : positions) result_.index.push_back(index_of(position));
    shown_ = std::move(positions);
  }

  void other(const Check& check, bool usual) {
    if (!whole_) {  // asked for by name, however big
      result_.index.clear();
      shown_.clear();
      whole_ = true;
      unpack();
    }
    CheckContext context;
    context.reentrant = result_.reentrant;
    context.permits = result_.model == "semaphore" ? arguments_.permits : 0;
    context.initial_stock = number_of(arguments_.init);
    context.promised_overtakes = arguments_.overtakes;
    context.model = result_.model;
    for (const Event& event : result_.history.events())
      context.end_ns = std::max(context.end_ns, event.time_ns);
    const Verdict verdict = check.run(result_.history, context);
    const auto original = [&](std::size_t position) { return shown_.empty() ? position : shown_[position]; };
    result_.lines.push_back({.name = std::string(check.name()),
                             .outcome = verdict.outcome,
                             .reason = verdict.reason,
                             .violations = verdict.violations,
                             .counts = !(usual && verdict.outcome == Outcome::unknown)});
    for (const Witness& witness : verdict.witnesses) {
      if (verdict.outcome != Outcome::violated || result_.findings.size() >= kMostFindings) break;
      Finding finding;
      finding.check = check.name();
      finding.witness = witness;
      std::size_t at = witness.events.empty() ? 0 : witness.events.back();
      if (witness.acquires) {
        at = std::max(witness.acquires->first, witness.acquires->second);
        const std::size_t holder = std::min(witness.acquires->first, witness.acquires->second);
        finding.holder = index_of(original(holder));
        finding.holder_process = packed_.text(packed_.event(original(holder)).process);
      }
      const Event event = packed_.event(original(at));
      finding.index = index_of(original(at));
      finding.process = packed_.text(event.process);
      finding.at =
          fmt::format("index {}: {} of process {}", finding.index, to_string(event.f), finding.process);
      if (finding.holder) {
        finding.at +=
            fmt::format(", against that of process {}, index {}", finding.holder_process, *finding.holder);
      }
      for (std::size_t& position : finding.witness.events) position = original(position);
      keep_smallest(finding);
      finding.witness.events = witness.events;
      result_.findings.push_back(std::move(finding));
    }
  }

  const CheckArguments& arguments_;
  Checked result_;
  PackedHistory packed_;
  ReadHistory read_;  // strings, indices and what was skipped
  bool whole_ = true;
  std::uint64_t failed_releases_ = 0;
  std::vector<std::size_t> shown_;  // positions of the events of result_.history; empty: all
  std::vector<Hold> holds_;
};

}  // namespace

void require_sane(const CheckArguments& arguments) {
  if (!arguments.model.empty() && find_model(arguments.model) == nullptr) {
    std::vector<std::string> known;
    for (const ModelKind& model : all_models()) known.emplace_back(model.name);
    throw BadUsage("--model: no model `" + arguments.model + "`, expected " + sim::one_of(known) +
                   sim::did_you_mean(arguments.model, known));
  }
  std::vector<std::string> known;
  for (const Check* check : all_checks()) {
    // These two are questions to a scenario: its bound, its marks.
    if (check->name() != "progress" && check->name() != "reached") known.emplace_back(check->name());
  }
  for (const std::string& check : arguments.checks) {
    if (std::find(known.begin(), known.end(), check) != known.end()) continue;
    if (find_check(check) != nullptr) {
      throw BadUsage("--check: `" + check + "` asks for what only a scenario says, expected " +
                     sim::one_of(known));
    }
    throw BadUsage("--check: no check `" + check + "`, expected " + sim::one_of(known) +
                   sim::did_you_mean(check, known));
  }
  std::size_t standard = 0;
  for (const std::string& file : arguments.files) {
    std::error_code ignored;
    if (file == "-") {
      if (++standard > 1) throw BadUsage("`-` twice: standard input can be read once");
    } else if (std::filesystem::is_directory(file, ignored)) {
      throw BadUsage(file + ": a folder, expected files");
    } else if (!std::filesystem::exists(file, ignored)) {
      throw BadUsage(file + ": no such file");
    }
  }
}

std::vector<const Finding*> pictured(const Checked& checked) {
  std::vector<const Finding*> result;
  const auto better = [&](const Finding& finding) {
    return std::any_of(checked.findings.begin(), checked.findings.end(), [&](const Finding& other) {
      return other.index == finding.index && other.check != "linearizable" && other.witness.acquires;
    });
  };
  for (const Finding& finding : checked.findings) {
    if (finding.check != "linearizable" || !better(finding)) result.push_back(&finding);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Finding* a, const Finding* b) { return a->index < b->index; });
  return result;
}

Checked check_history(const std::string& file, const CheckArguments& arguments) {
  return Judgement(file, arguments).run();
}

}  // namespace holdfast::tools
