// RuleIds: ids for rules from files in which rules need none.
//
// An id is made of words that say where the rule stands, such as a domain, keys and values. What an id may not contain
// is replaced, and where that, the length or a neighbour with the same words would make two rules look alike, a hash
// is added. So a rule keeps its id wherever it is in its file. Used by one thread.
#pragma once

#include <string>
#include <vector>

namespace weir::rules {

class RuleIds {
 public:
  // `identity` differs between any two rules. `name`, if not empty, is what the rule's author calls it: it becomes the
  // id if it can be one and no other rule has it.
  void add(const std::vector<std::string>& words, std::string identity, std::string name);

  // One for each add(), in order; all different.
  std::vector<std::string> assign() const;

 private:
  struct Proposal {
    std::string plain;  // empty: the words alone do not make an id
    std::string start;  // what the hash is added to
    std::string identity;
    std::string name;
  };

  std::vector<Proposal> proposals_;
};

}  // namespace weir::rules
