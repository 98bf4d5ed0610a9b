#include "checker/story/story.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "checker/history/effects.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"
#include "checker/story/story_canvas.h"
#include "checker/story/story_lines.h"
#include "checker/story/text_layout.h"

namespace holdfast::checker {

namespace {

constexpr std::size_t kMostShown = 1200;  // bytes of one text
constexpr std::size_t kMostLanes = 8, kMostFaults = 8;
constexpr std::size_t kFewestColumns = 34;  // of time, beside captions

// One row of a client: a hold of the witness, or a process of it that has none.
struct Lane {
  const Hold* hold = nullptr;
  Symbol process = 0;
  char letter = ' ';
};

struct FaultAct {
  Symbol id = 0;
  std::int64_t begin_ns = 0, end_ns = kForever;           // kForever: nobody told of its healing
  std::vector<std::int64_t> kills = {}, promotions = {};  // when
};

struct FaultLane {
  std::string name, kind;
  std::vector<FaultAct> acts;
};

class Teller {
 public:
  Teller(const History& history, const Witness& witness, const StoryOptions& options)
      : history_(history),
        events_(history.events()),
        witness_(witness),
        options_(options),
        style_(options.style),
        words_(history),
        holds_(build_holds(history, options.reentrant)) {
    last_ns_ = words_.start_ns();
    for (const Event& event : events_) last_ns_ = std::max(last_ns_, event.time_ns);
    find_lanes();
    find_window();
    find_faults();
  }

  std::string tell() {
    std::string out = title();
    if (!lanes_.empty() && from_ns_ < to_ns_) out += "\n" + timeline();
    if (const std::string told = lines(); !told.empty()) out += "\n" + told;
    out += "\n" + inked("why", Ink::alarm, style_.color) + "  " +
           wrap(safe(witness_.why), style_.columns() - 5, 5) + "\n";
    return out;
  }

 private:
  std::string glyph(Glyph which) const { return std::string(glyph_text(which, style_.unicode)); }
  std::string safe(std::string_view text) const {
    return printable(shortened(text, kMostShown), style_.unicode);
  }
  std::string short_name(std::string_view text) const {
    return elided(safe(text), style_.columns() / 5, style_.unicode);
  }
  static Ink ink_of(char letter) {
    return letter == 'A' ? Ink::first : letter == 'B' ? Ink::second : letter == ' ' ? Ink::plain : Ink::more;
  }
  bool two_owners() const { return witness_.acquires.has_value() && witness_.from_ns < witness_.to_ns; }

  void find_lanes() {
    std::map<std::size_t, const Hold*> by_acquired;
    for (const Hold& hold : holds_) by_acquired[hold.acquired] = &hold;
    std::set<Symbol> covered;
    for (const std::size_t position : witness_.events) {
      const auto found = by_acquired.find(position);
      if (found == by_acquired.end() || lanes_.size() >= kMostLanes) continue;
      lanes_.push_back({found->second, found->second->process, letter_of(lanes_.size())});
      covered.insert(found->second->process);
    }
    std::set<std::string_view> clients;
    for (const Lane& lane : lanes_) clients.insert(lane.hold->client);
    for (const std::size_t position : witness_.events) {
      const Event& event = events_[position];
      if (event.process == 0 || covered.contains(event.process) || lanes_.size() >= kMostLanes) continue;
      const std::string_view name = history_.text(event.process);
      if (name == "nemesis") continue;
      if (name.ends_with("/watchdog") && clients.contains(client_of(name))) continue;
      lanes_.push_back({nullptr, event.process, letter_of(lanes_.size())});
      covered.insert(event.process);
    }
  }
  static char letter_of(std::size_t number) { return static_cast<char>('A' + number); }

  // From a little before the first grant to a little after the overlap; holds that reach farther are cut.
  void find_window() {
    std::int64_t first = kForever, last = kAbsent;
    const auto take = [&](std::int64_t time_ns) {
      if (time_ns == kForever || time_ns == kAbsent) return;
      first = std::min(first, time_ns);
      last = std::max(last, time_ns);
    };
    for (const std::size_t position : witness_.events) {
      const Event& event = events_[position];
      if (event.type == EventType::invoke && event.f == Function::acquire) continue;
      if (two_owners() && event.f == Function::release) continue;
      take(event.time_ns);
    }
    if (witness_.from_ns != 0 || witness_.to_ns != 0) {
      take(witness_.from_ns);
      take(std::min(witness_.to_ns, last_ns_));
    }
    if (first > last) return;
    const std::int64_t margin = std::max<std::int64_t>((last - first) / 8, 1000);
    from_ns_ = std::max(words_.start_ns(), first - margin);
    to_ns_ = last + margin;
  }

  void find_faults() {
    std::vector<FaultLane> all;
    std::map<std::string, std::size_t> lane_of;
    for (const Event& event : events_) {
      Effect effect{};
      if (event.f != Function::fault && !effect_of(history_, event, effect)) continue;
      const std::string kind(history_.text(event.error));
      const std::string name = event.key != 0 ? std::string(history_.text(event.key)) : kind;
      const auto [at, fresh] = lane_of.try_emplace(name, all.size());
      if (fresh) all.push_back({name, kind, {}});
      std::vector<FaultAct>& acts = all[at->second].acts;
      if (event.f == Function::fault && event.value != 0) {
        acts.push_back({.id = event.id, .begin_ns = event.time_ns});
        continue;
      }
      const auto act = std::find_if(acts.rbegin(), acts.rend(), [&](const FaultAct& one) {
        return one.id == event.id && one.end_ns == kForever;
      });
      if (act == acts.rend()) continue;
      if (event.f == Function::fault) act->end_ns = event.time_ns;
      if (event.f == Function::effect && effect == Effect::crashed) act->kills.push_back(event.time_ns);
      if (event.f == Function::effect && effect == Effect::promoted) act->promotions.push_back(event.time_ns);
    }
    for (FaultLane& lane : all) {
      const bool seen = std::any_of(lane.acts.begin(), lane.acts.end(), [&](const auto& act) {
        const std::int64_t end_ns = act.end_ns == kForever ? act.begin_ns : act.end_ns;
        return act.begin_ns <= to_ns_ && end_ns >= from_ns_;
      });
      if (seen && faults_.size() < kMostFaults) faults_.push_back(std::move(lane));
    }
  }

  std::string title() const {
    std::string kind = witness_.kind;
    for (char& c : kind) c = c == '-' ? ' ' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    std::string rest;
    if (two_owners()) {
      const std::size_t owners = static_cast<std::size_t>(
          std::count_if(lanes_.begin(), lanes_.end(), [](const Lane& l) { return l.hold; }));
      rest = fmt::format("{} has {} owners from {} to {}",
                         witness_.key.empty() ? "the lock" : safe(witness_.key),
                         owners == 2 ? "two" : std::to_string(owners), words_.time(witness_.from_ns),
                         words_.time(witness_.to_ns));
      if (witness_.to_ns != kForever)
        rest += fmt::format(" ({} ms)", format_ms(witness_.to_ns - witness_.from_ns));
    } else if (!witness_.key.empty()) {
      rest = safe(witness_.key);
    }
    const std::size_t indent = kind.size() + 2;
    std::string line = inked(kind, Ink::alarm, style_.color);
    if (!rest.empty())
      line += "  " + wrap(rest, style_.columns() - std::min(indent, style_.columns() / 2), indent);
    return line + "\n";
  }

  std::string timeline() {
    std::vector<std::string> labels;
    std::size_t owner_width = 0;
    for (const Lane& lane : lanes_) owner_width = std::max(owner_width, columns_of(name_of(lane)));
    std::size_t width = two_owners() ? 13 : 0, caption = 0;
    for (const Lane& lane : lanes_) {
      std::string label = fmt::format("{} {}", lane.letter, padded(name_of(lane), owner_width));
      if (lane.hold != nullptr && lane.hold->node != 0)
        label += "  " + short_name(history_.text(lane.hold->node));
      width = std::max(width, columns_of(label));
      labels.push_back(std::move(label));
    }
    for (const FaultLane& fault : faults_) {
      width = std::max(width, columns_of(short_name(fault.name)) + 2);
      if (fault.kind != fault.name) caption = std::max(caption, columns_of(short_name(fault.kind)) + 2);
    }
    // Where captions would leave too little room for the picture: the lines below it tell the kinds as well.
    if (style_.columns() < width + 2 + caption + kFewestColumns) caption = 0;
    const int columns = static_cast<int>(style_.columns() - width - 2 - caption);
    Canvas canvas(from_ns_, to_ns_, columns, words_.start_ns());
    for (const FaultLane& fault : faults_) {
      canvas.row("  " + short_name(fault.name), Ink::fault,
                 caption == 0 || fault.kind == fault.name ? "" : short_name(fault.kind));
      draw_fault(canvas, fault);
    }
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      canvas.row(labels[i], ink_of(lanes_[i].letter));
      draw_lane(canvas, lanes_[i]);
    }
    if (two_owners()) {
      canvas.row(lanes_.size() == 2 ? "  both own it" : "  too many", Ink::alarm);
      canvas.bar(witness_.from_ns, std::min(witness_.to_ns, last_ns_), Glyph::both, Ink::alarm);
    }
    return canvas.render(style_.unicode, style_.color) + legend();
  }

  std::string name_of(const Lane& lane) const {
    return short_name(lane.hold != nullptr ? words_.owner(*lane.hold) : words_.text(lane.process));
  }

  void draw_fault(Canvas& canvas, const FaultLane& fault) {
    for (const FaultAct& act : fault.acts) {
      if (act.end_ns != kForever) {
        canvas.bar(act.begin_ns, act.end_ns, Glyph::band, Ink::fault);
        bands_ = true;
      }
      if (act.end_ns == kForever && act.kills.empty() && act.promotions.empty())
        canvas.mark(act.begin_ns, Glyph::spot, Ink::fault);
      for (const std::int64_t time_ns : act.kills) canvas.mark(time_ns, Glyph::strike, Ink::fault);
      for (const std::int64_t time_ns : act.promotions) canvas.mark(time_ns, Glyph::rise, Ink::fault);
      strikes_ = strikes_ || !act.kills.empty();
      rises_ = rises_ || !act.promotions.empty();
    }
  }

  void draw_lane(Canvas& canvas, const Lane& lane) {
    const Ink ink = ink_of(lane.letter);
    if (lane.hold != nullptr) {
      const Hold& hold = *lane.hold;
      if (hold.invoked != kNowhere) {
        canvas.bar(events_[hold.invoked].time_ns, hold.from_ns, Glyph::waits, Ink::dim);
        waits_ = true;
      }
      const std::int64_t to_ns = std::min(hold.to_ns, std::max(last_ns_, to_ns_ + 1));
      const std::int64_t claim_ns =
          hold.has_claim() ? std::max(hold.from_ns, std::min(hold.claim_to_ns(), to_ns)) : to_ns;
      if (claim_ns < to_ns) {
        canvas.bar(claim_ns, to_ns, Glyph::outlives, ink);
        outlives_ = true;
      }
      if (claim_ns > hold.from_ns || !hold.has_claim()) {
        canvas.bar(hold.from_ns, claim_ns, Glyph::holds, ink);
      }
    } else {
      for (const Hold& hold : holds_) {
        if (hold.process == lane.process) {
          canvas.bar(hold.from_ns, std::min(hold.to_ns, std::max(last_ns_, to_ns_ + 1)), Glyph::holds, ink);
        }
      }
      for (const std::size_t position : witness_.events) {
        if (events_[position].process != lane.process) continue;
        canvas.mark(events_[position].time_ns, Glyph::spot, Ink::alarm);
        spots_ = true;
      }
    }
  }

  // Pairs of a sign and its meaning, as many a line as fit.
  std::string legend() const {
    std::string out = "\n";
    std::size_t used = 0;
    const auto add = [&](bool shown, Glyph which, Ink ink, std::string_view meaning) {
      if (!shown) return;
      const std::size_t columns = 2 + meaning.size();  // the sign, a space
      const bool fits = used > 0 && used + 3 + columns <= style_.columns();
      if (used > 0 && !fits) out += '\n';
      out += fits ? "   " : "  ";
      used = fits ? used + 3 + columns : 2 + columns;
      out += inked(glyph(which), ink, style_.color) + " " + std::string(meaning);
    };
    add(waits_, Glyph::waits, Ink::dim, "waits");
    add(true, Glyph::holds, Ink::plain, outlives_ ? "holds, lease runs" : "holds");
    add(outlives_, Glyph::outlives, Ink::plain, "believes, lease over");
    add(two_owners(), Glyph::both, Ink::alarm, "more than one owner");
    add(spots_, Glyph::spot, Ink::alarm, "see below");
    add(strikes_, Glyph::strike, Ink::fault, "crash");
    add(rises_, Glyph::rise, Ink::fault, "promotion");
    add(bands_, Glyph::band, Ink::fault, "fault acts");
    return out + "\n";
  }

  // The witness' events, faults of that time, and what the owners did to the resource meanwhile.
  std::vector<std::size_t> chosen(std::size_t& left_out) const {
    const auto most = static_cast<std::size_t>(std::max(options_.lines, 4));
    std::set<std::size_t> told(witness_.events.begin(), witness_.events.end());
    left_out = 0;
    if (told.size() > most) {  // the first and the last ones tell most
      std::vector<std::size_t> all(told.begin(), told.end());
      left_out = all.size() - most;
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(most / 2),
                all.begin() + static_cast<std::ptrdiff_t>(most / 2 + left_out));
      return all;
    }
    if (lanes_.empty()) return {told.begin(), told.end()};
    const auto offer = [&](const std::vector<std::size_t>& more) {
      if (told.size() + more.size() <= most) told.insert(more.begin(), more.end());
    };
    std::vector<std::size_t> faults, ends, effects;
    std::set<Symbol> processes, ids;
    std::int64_t effects_to_ns = to_ns_;  // what each owner did until its own hold was over
    for (const Lane& lane : lanes_) {
      processes.insert(lane.process);
      if (lane.hold == nullptr) continue;
      effects_to_ns = std::max(effects_to_ns, std::min(lane.hold->to_ns, last_ns_));
      if (lane.hold->id != 0) ids.insert(lane.hold->id);
      if (!lane.hold->renewals.empty()) ends.push_back(lane.hold->renewals.back());
    }
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      if (event.time_ns < from_ns_ || event.time_ns > effects_to_ns) continue;
      if (event.f == Function::fault && event.time_ns <= to_ns_) faults.push_back(i);
      if (event.f == Function::lost && ids.contains(event.id) && event.time_ns <= to_ns_) ends.push_back(i);
      if (event.type == EventType::ok && processes.contains(event.process) &&
          (event.f == Function::read || event.f == Function::write || event.f == Function::cas ||
           event.f == Function::sell)) {
        effects.push_back(i);
      }
    }
    offer(faults);
    offer(ends);
    offer(effects);
    return {told.begin(), told.end()};
  }

  std::string lines() const {
    std::size_t left_out = 0;
    const std::vector<std::size_t> told = chosen(left_out);
    std::size_t time_width = 0, process_width = 0;
    for (const std::size_t position : told) {
      time_width = std::max(time_width, words_.time(events_[position].time_ns).size());
      process_width = std::max(process_width, columns_of(who(events_[position])));
    }
    const std::size_t indent = 2 + time_width + 4 + process_width + 2;
    std::string out;
    for (std::size_t i = 0; i < told.size(); ++i) {
      const Event& event = events_[told[i]];
      if (left_out > 0 && i == told.size() / 2) out += fmt::format("  ... {} more events ...\n", left_out);
      const char letter = letter_of_event(event);
      const bool fault = event.f == Function::fault;
      const Ink ink = fault ? Ink::fault : ink_of(letter);
      std::string line = fmt::format("  {:>{}}  ", words_.time(event.time_ns), time_width);
      line +=
          inked(fmt::format("{} {}", letter, padded(who(event), process_width)), ink, style_.color) + "  ";
      const std::vector<std::string> what =
          wrapped(safe(describe_event(history_, event, words_)), style_.columns() - indent);
      for (std::size_t k = 0; k < what.size(); ++k) {
        if (k > 0) line += "\n" + std::string(indent, ' ');
        line += inked(what[k], fault ? ink : Ink::plain, style_.color);
      }
      if (two_owners() && told[i] == witness_.acquires->second) {
        const std::string tells =
            glyph(Glyph::arrow) + " now it has " + (lanes_.size() == 2 ? "two owners" : "too many");
        const bool fits = indent + columns_of(what.back()) + 2 + columns_of(tells) <= style_.columns();
        line += (fits ? "  " : "\n" + std::string(indent, ' ')) + inked(tells, Ink::alarm, style_.color);
      }
      while (!line.empty() && line.back() == ' ') line.pop_back();
      out += line + "\n";
    }
    return out;
  }

  std::string who(const Event& event) const {
    return of_harness(event.f) ? "" : short_name(history_.text(event.process));
  }
  char letter_of_event(const Event& event) const {
    for (const Lane& lane : lanes_) {
      if (lane.hold != nullptr && event.id != 0 && event.id == lane.hold->id) return lane.letter;
    }
    for (const Lane& lane : lanes_) {
      if (event.process == lane.process) return lane.letter;
    }
    return ' ';
  }

  const History& history_;
  const std::vector<Event>& events_;
  const Witness& witness_;
  const StoryOptions& options_;
  const PictureStyle style_;
  const Wording words_;
  const std::vector<Hold> holds_;
  std::vector<Lane> lanes_;
  std::vector<FaultLane> faults_;
  std::int64_t from_ns_ = 0, to_ns_ = 0, last_ns_ = 0;
  bool waits_ = false, outlives_ = false, bands_ = false, strikes_ = false, rises_ = false, spots_ = false;
};

}  // namespace

std::string tell_story(const History& history, const Witness& witness, const StoryOptions& options) {
  return Teller(history, witness, options).tell();
}

}  // namespace holdfast::checker
