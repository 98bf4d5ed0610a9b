#include "sim/replay/write_tree.h"

#include <fmt/format.h>

#include <map>
#include <ostream>
#include <sstream>
#include <string_view>

#include "generated/replay_branches.h"
#include "generated/replay_paths.h"
#include "generated/replay_picture.h"
#include "generated/replay_tree.h"
#include "generated/replay_walk.h"
#include "sim/replay/page_parts.h"
#include "sim/replay/write_page.h"

namespace holdfast::sim {
namespace {

// Texts by number, each once.
class Numbered {
 public:
  std::size_t number(const std::string& text) {
    const auto [at, fresh] = numbers_.try_emplace(text, texts_.size());
    if (fresh) texts_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, std::size_t> numbers_;
};

template <typename T, typename F>
std::string listed(const std::vector<T>& all, F&& one) {
  std::string text = "[";
  for (std::size_t i = 0; i < all.size(); ++i) text += (i > 0 ? "," : "") + one(all[i]);
  return text + "]";
}

class TreeWriter {
 public:
  TreeWriter(const ExploreTree& tree, const ExploreState& state, const TreePage& page, std::ostream& out)
      : tree_(tree), state_(state), page_(page), out_(out) {}

  void write() {
    const SearchState& search = state_.search;
    out_ << fmt::format(
        "{{\"title\":{},\"about\":{},\"lock\":{},\"reproduce\":{},\"bound\":{},\"completeFor\":{},"
        "\"complete\":{},\"explored\":{},\"joined\":{},\"states\":{},\"histories\":{},\"opened\":{},"
        "\"violation\":{},\"shown\":{}",
        json_text(page_.title), json_text(page_.about), json_text(page_.lock), json_text(page_.reproduce),
        json_text(page_.bound), listed(page_.complete_for, json_text), search.complete, tree_.explored,
        search.joined, search.states, state_.histories, tree_.opened,
        state_.violation ? fmt::format("[{},{}]", json_text(state_.violation->failure.name()),
                                       json_text(state_.violation->failure.why))
                         : "null",
        listed(page_.shown, [](const auto& one) { return std::to_string(one.first); }));
    out_ << ",\n\"runs\":[";
    for (std::size_t i = 0; i < tree_.runs.size(); ++i) out_ << (i > 0 ? ",\n" : "") << run(tree_.runs[i]);
    out_ << "],\n\"strings\":" << listed(strings_.texts(), json_text);
    out_ << ",\n\"options\":" << listed(options_.texts(), [](const std::string& one) { return one; }) << "}";
  }

 private:
  std::string run(const ExploreTree::Run& run) {
    const std::string decisions =
        listed(run.decisions, [this](const ExploreTree::Decision& one) { return decision(one); });
    const std::string from = run.same_from == UINT32_MAX ? "null" : std::to_string(run.same_from);
    return fmt::format("[{},{},{},{},{},{},{},{},{},{},{}]", run.number, run.parent, run.last.point,
                       run.last.choice, run.points, static_cast<int>(run.end), run.same_as, run.below,
                       run.broke_below, run.open ? decisions : "null", from);
  }

  std::string decision(const ExploreTree::Decision& one) {
    std::string branches;
    for (const ExploreTree::Branch branch : one.branches) branches += "rcsabe"[static_cast<int>(branch)];
    const std::string options =
        one.what.kind == Noted::Kind::order
            ? listed(one.what.tasks, json_text)
            : listed(one.what.values, [](std::uint64_t value) { return json_exact(value); });
    return fmt::format("[{},{},{},{},{},{}]", json_time(one.what.at_ns), static_cast<int>(one.what.kind),
                       strings_.number(one.what.stream), one.what.number, options_.number(options),
                       strings_.number(branches));
  }

  const ExploreTree& tree_;
  const ExploreState& state_;
  const TreePage& page_;
  std::ostream& out_;
  Numbered strings_, options_;
};

// An element that no browser runs: its text is kept for the page's scripts.
void write_kept(const std::string& id, std::string_view text, std::ostream& out) {
  out << "<script id=\"" << id << "\" type=\"application/json\">" << text << "</script>\n";
}

}  // namespace

void write_tree_page(const ExploreTree& tree, const ExploreState& state, const TreePage& page,
                     std::ostream& out) {
  std::ostringstream empty;
  write_empty_page(empty);
  const auto data = [&](std::ostream& into) {
    into << "<script id=\"data\" type=\"application/json\">";
    TreeWriter(tree, state, page, into).write();
    into << "</script>\n";
    write_kept("page", json_text(empty.str()), into);
    for (const auto& [number, replay] : page.shown) {
      std::ostringstream text;
      write_data(replay, page.reproduce, text);
      write_kept(fmt::format("run-{}", number), text.str(), into);
    }
  };
  write_parts({.body = kReplayTree,
               .styles = {kReplayBranches},
               .scripts = {kReplayPaths, kReplayPicture, kReplayWalk}},
              data, out);
}

}  // namespace holdfast::sim
