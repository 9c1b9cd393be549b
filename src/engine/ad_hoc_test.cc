// Ad-hoc charges: the observer sees each one that takes, once, with its outcome.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

struct Listener final : Observer {
  void on_decision(const Decision&) override { heard.emplace_back("decision"); }
  void on_charge(std::string_view space, const ChargeOutcome& outcome) override {
    const char* what = outcome.status != Code::ok ? " failed" : outcome.admitted ? " admitted" : " denied";
    heard.push_back(std::string(space) + what);
  }
  std::vector<std::string> heard;
};

// A memory store that can claim to answer later, and can be away.
class FickleStore final : public Store {
 public:
  explicit FickleStore(bool immediate) : immediate_(immediate) {}
  bool begin(StoreCall& call) override {
    if (away) {
      call.status = Code::unavailable;
    } else if (!memory_.begin(call)) {
      return false;
    }
    if (immediate_) return true;
    call.complete();
    return false;
  }
  bool immediate() const override { return immediate_; }
  std::string_view name() const override { return "fickle"; }

  bool away = false;

 private:
  const bool immediate_;
  memory::MemoryStore memory_{MemoryOptions{}};
};

class AdHoc : public ::testing::TestWithParam<bool> {
 protected:
  AdHoc() {
    LimiterOptions options;
    options.store = store_;
    options.clock = std::make_shared<ManualClock>();
    options.hash_key = {1, 2, 3};
    options.observers = {observer_};
    engine_ = std::make_unique<Engine>(std::make_shared<rules::RuleBook>(), options,
                                       std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  }

  AdHocCharge charge(Action action = Action::take) const {
    return {.space = "test", .subject = {&subject_, 1}, .allowance = &allowance_, .cost = {1}, .action = action};
  }

  const std::string_view subject_ = "user:42";
  const Allowance allowance_ = make_allowance({.algorithm = Algorithm::gcra, .limit = 1, .window = 1h}).value();
  std::shared_ptr<FickleStore> store_ = std::make_shared<FickleStore>(GetParam());
  std::shared_ptr<Listener> observer_ = std::make_shared<Listener>();
  std::unique_ptr<Engine> engine_;
};

TEST_P(AdHoc, TheObserverSeesEachChargeOnceWithItsOutcome) {
  EXPECT_TRUE(engine_->charge(charge()).admitted);
  int answered = 0;
  engine_->charge(charge(), [&](const ChargeOutcome& outcome) {
    EXPECT_FALSE(outcome.admitted);
    ++answered;
  });
  EXPECT_EQ(answered, 1);
  store_->away = true;
  EXPECT_EQ(engine_->charge(charge()).status, Code::unavailable);
  EXPECT_EQ(observer_->heard, (std::vector<std::string>{"test admitted", "test denied", "test failed"}));
}

TEST_P(AdHoc, ADeniedTakeConsumesWhatIsLeftIfItCountsDenials) {
  const Allowance three = make_allowance({.algorithm = Algorithm::fixed_window, .limit = 3, .window = 1h}).value();
  AdHocCharge large = charge();
  large.allowance = &three;
  large.cost = {4};
  EXPECT_EQ(engine_->charge(large).remaining, 3);
  large.count_denied = true;
  EXPECT_EQ(engine_->charge(large).remaining, 0);
  large.cost = {1};
  EXPECT_FALSE(engine_->charge(large).admitted);
}

TEST_P(AdHoc, ObserversDoNotSeeChargesThatTakeNothing) {
  EXPECT_EQ(engine_->charge(charge(Action::peek)).status, Code::ok);
  EXPECT_EQ(engine_->charge(charge(Action::refund)).status, Code::ok);
  AdHocCharge impossible = charge();
  impossible.cost = {-1};
  EXPECT_EQ(engine_->charge(impossible).status, Code::invalid_argument);
  EXPECT_TRUE(observer_->heard.empty());
}

INSTANTIATE_TEST_SUITE_P(Stores, AdHoc, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "AtOnce" : "Later"; });

}  // namespace
}  // namespace weir::engine
