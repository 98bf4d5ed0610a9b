// EdnValue: the `:value` of an operation in Jepsen's formats, and what it means for an event.
//
// A value is a scalar, a list, or a map. What a list of two means depends on the function: of a
// compare-and-set it is the expected and the new value; with independent keys it is a key and a value. Any
// other list, map, set or tagged value is a structure, which is compared as a whole.
#pragma once

#include <string>
#include <vector>

#include "checker/history/edn_scanner.h"
#include "checker/history/history.h"

namespace holdfast::checker {

class EdnValue {
 public:
  // Reads the next value of any kind. Throws EdnProblem.
  void read(EdnScanner& scan, History& history);
  void clear();
  bool empty() const { return !list_ && scalar_.empty(); }

  // Sets value, token and key of `event`, whose function is known. `keyed`: values are [key value]. Returns
  // what is wrong, in words; "": nothing.
  std::string apply(bool keyed, Event& event, History& history) const;

 private:
  Value whole(History& history) const;

  bool list_ = false, tuple_ = false;  // tuple: Jepsen's own tag says that it is [key value]
  Value scalar_;                       // not a list
  Value fence_;                        // of a map: the value of :fence or :token
  std::vector<Value> items_, inner_;   // inner_: items_[1], if that is a list
  bool has_inner_ = false;
};

// Any value as a Value: nil, a number, a text, or a structure in canonical form.
Value read_edn_datum(EdnScanner& scan, History& history, int depth = 0);

// Appends the text as a string of EDN, with its quotes.
void append_edn_text(std::string_view text, std::string& out);

// A name: the digits of a number, a text, a keyword without its colon. 0: nil.
Symbol name_of(Value value, History& history);

}  // namespace holdfast::checker
