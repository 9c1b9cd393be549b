// CensusExchange: tells the shared set of a rule's subjects what this node knows of it, and learns how many there are
// (subject_census.h).
//
// The set of a rule is the key `w1:{subjects.rule}:level`, with the namespace like every key: a sorted set of hashes,
// each with the moment at which its bucket is idle, by the clock of Redis. It expires with its last entry.
//
// Belongs to one loop. Borrows everything it is given.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "stores/redis/connection.h"
#include "stores/redis/directory.h"
#include "stores/redis/subject_census.h"

namespace weir::redis {

class CensusExchange {
 public:
  static constexpr std::size_t kSubjectsPerCommand = 256;          // some 100 µs of Redis's time
  static constexpr std::chrono::milliseconds kLeastDeadline{100};  // no decision waits for it

  CensusExchange(SubjectCensus& census, const NodeContext& context) : census_(census), context_(context) {}

  // Precondition: census.look() has said that the rule is due.
  void start(std::uint32_t number, Directory& directory, SteadyTime now);

 private:
  class Telling final : public ReplyHandler {
   public:
    explicit Telling(CensusExchange& owner) : owner_(owner) {}
    void on_reply(Reply reply, SteadyTime now) override;
    void on_lost(FailureKind kind, SteadyTime now) override;

    std::uint32_t number = 0;
    Node* node = nullptr;
    Directory* directory = nullptr;

   private:
    CensusExchange& owner_;
  };
  Telling& acquire();

  SubjectCensus& census_;
  const NodeContext& context_;
  std::vector<std::unique_ptr<Telling>> all_;  // one for each rule at the most
  std::vector<Telling*> idle_;
};

}  // namespace weir::redis
