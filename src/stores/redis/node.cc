#include "stores/redis/node.h"

#include <algorithm>
#include <utility>

#include "stores/redis/jitter.h"

namespace weir::redis {

using std::chrono::steady_clock;

Node::Node(NodeContext& context, NodeWatcher& watcher, std::string probe_tag)
    : context_(context),
      watcher_(watcher),
      probe_key_("w1:{" + std::move(probe_tag) + "}:probe"),
      breaker_(context.options.breaker, next_random(context.random), [this](BreakerState state) { on_breaker(state); }),
      probe_timer_(context.loop, [this] { probe(); }) {
  ConnectionOwner& owner = *this;
  for (std::size_t i = 0; i < context.options.connections; ++i) {
    connections_.push_back(std::make_unique<Connection>(context.loop, context.tls, context.greeting,
                                                        context.options.connect_timeout, next_random(context.random),
                                                        owner));
  }
}

Node::~Node() {
  closing_ = true;
  set_probing(false);
  if (!breaker_.closed()) context_.stats.breaker_changed(false, steady_clock::now());
}

void Node::open(const Address& address) {
  address_ = address;
  for (auto& connection : connections_) connection->open(address);
}

void Node::reopen() {
  for (auto& connection : connections_) connection->reopen();
}

bool Node::connected() const {
  return std::any_of(connections_.begin(), connections_.end(), [](const auto& each) { return each->ready(); });
}

std::size_t Node::waiting() const {
  std::size_t sum = 0;
  for (const auto& connection : connections_) sum += connection->waiting();
  return sum;
}

Connection* Node::pick() {
  if (closing_) return nullptr;
  Connection* opening = nullptr;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    next_ = next_ + 1 < connections_.size() ? next_ + 1 : 0;
    Connection& connection = *connections_[next_];
    if (!connection.accepts()) continue;
    if (connection.ready()) return &connection;
    opening = &connection;
  }
  return opening;
}

void Node::call_failed(FailureKind kind, SteadyTime now) {
  if (closing_) return;
  last_failure_ = failure_kind_name(kind);
  breaker_.call_failed(now);
}

void Node::on_ready() {
  StoreStats::add(context_.stats.connects);
  // A new connection is news worth a probe: it may have been all that was missing.
  breaker_.hurry(steady_clock::now());
  await_probe();
  watcher_.on_node_up(*this);
}

void Node::on_down(std::string_view why) {
  last_failure_ = why;
  watcher_.on_node_down(*this);
}

void Node::on_breaker(BreakerState state) {
  context_.stats.breaker_changed(state != BreakerState::closed, steady_clock::now());
  await_probe();
  if (context_.listener) context_.listener({to_text(address_), state, last_failure_});
}

void Node::await_probe() {
  if (const auto at = breaker_.probe_at()) probe_timer_.arm(*at);
}

void Node::set_probing(bool under_way) {
  if (probing_ == under_way) return;
  probing_ = under_way;
  context_.stats.probe_changed(under_way);
}

// A write, because a server that only reads (a replica, or one without memory) is of no use here.
void Node::probe() {
  const SteadyTime now = steady_clock::now();
  if (!breaker_.start_probe(now)) return await_probe();
  set_probing(true);
  Connection* const connection = pick();
  if (connection == nullptr) {
    set_probing(false);
    breaker_.probe_failed(now);
    return await_probe();
  }
  CommandWriter(connection->start(), 5).word("SET").word(probe_key_).word("1").word("PX").word("1000");
  connection->finish(*this, now + context_.options.deadline);
}

void Node::on_reply(Reply reply, SteadyTime now) {
  set_probing(false);
  const ReplyItem& answer = reply[0];
  // A node that sends the key elsewhere works; it just has other slots by now.
  if (answer.kind == ReplyKind::text || is_error(answer, "MOVED") || is_error(answer, "ASK")) {
    breaker_.probe_succeeded();
  } else {
    last_failure_ = answer.text;
    breaker_.probe_failed(now);
    await_probe();
  }
}

void Node::on_lost(FailureKind kind, SteadyTime now) {
  if (closing_) return;
  set_probing(false);
  last_failure_ = failure_kind_name(kind);
  breaker_.probe_failed(now);
  await_probe();
}

}  // namespace weir::redis
