#include "stores/redis/node.h"

#include <algorithm>
#include <utility>

#include "stores/redis/jitter.h"

namespace weir::redis {

using std::chrono::steady_clock;

namespace {

// Calls that wait for too long are looked for no more often than this.
constexpr std::chrono::milliseconds kLineTick{1};

}  // namespace

Node::Node(NodeContext& context, NodeWatcher& watcher, std::uint16_t probe_slot)
    : context_(context),
      watcher_(watcher),
      breaker_(context.options.breaker, next_random(context.random), [this](BreakerState state) { on_breaker(state); }),
      probe_(context.scripts, probe_slot, context.options.time == TimeSource::redis, *this),
      probe_timer_(context.loop, [this] { probe(); }),
      // Half of the calls that a store may hold are left for those that wait their turn.
      window_(context.options.deadline, std::max<std::size_t>(1, context.options.max_in_flight / 2)),
      line_(context.queued),
      line_timer_(context.loop, [this] { look_at_line(); }),
      key_sample_(context.scripts.key_prefix() + "{"),
      info_timer_(context.loop, [this] { ask_info(); }) {
  ConnectionOwner& owner = *this;
  const Connection::Timeouts timeouts{context.options.connect_timeout, context.options.deadline};
  for (std::size_t i = 0; i < context.options.connections; ++i) {
    connections_.push_back(std::make_unique<Connection>(context.loop, context.tls, context.greeting, timeouts,
                                                        next_random(context.random), owner));
  }
}

Node::~Node() {
  closing_ = true;
  set_probing(false);
  if (!breaker_.closed()) context_.stats.breaker_changed(false, steady_clock::now());
  while (!line_.empty()) line_.pop().proceed(steady_clock::now());
}

void Node::open(const Address& address) {
  address_ = address;
  figures_ = &context_.servers.of(to_text(address));
  for (auto& connection : connections_) connection->open(address);
}

void Node::reopen() {
  for (auto& connection : connections_) connection->reopen();
}

bool Node::connected() const {
  return std::any_of(connections_.begin(), connections_.end(), [](const auto& each) { return each->ready(); });
}

std::size_t Node::under_way() const {
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

void Node::join_line(QueuedCall& call) {
  line_.push(call);
  if (!line_timer_.armed()) line_timer_.arm(call.since + window_.patience());
}

// Lets as many of those that wait go on as there is room for. What cannot be served at all goes on too: it finds out.
void Node::serve_line(SteadyTime now) {
  while (!line_.empty() && (has_room() || !answering() || pick() == nullptr)) line_.pop().proceed(now);
}

void Node::look_at_line() {
  const SteadyTime now = steady_clock::now();
  line_.give_up_since(now - window_.patience(), now);
  serve_line(now);
  if (line_.empty() || line_timer_.armed()) return;
  line_timer_.arm(std::max(line_.oldest() + window_.patience(), now + kLineTick));
}

void Node::call_failed(FailureKind kind, std::string_view said, SteadyTime now) {
  if (closing_) return;
  // All that waited on a connection fail together when it breaks: that is one failure and not many.
  const bool with_others = kind == FailureKind::timeout || kind == FailureKind::lost;
  if (with_others && !std::exchange(break_counts_, false)) return;
  // Where nothing was said, the connection has told what is wrong with it.
  if (!said.empty()) note(trouble_of(kind, said));
  breaker_.call_failed(now);
}

void Node::on_ready() {
  StoreStats::add(context_.stats.connects);
  context_.listener.connected(address_);
  // A new connection is news worth a probe: it may have been all that was missing.
  breaker_.hurry(steady_clock::now());
  await_probe();
  if (context_.options.asks_info && !info_timer_.armed()) ask_info();
  watcher_.on_node_up(*this);
}

void Node::ask_info() {
  const auto ready = std::find_if(connections_.begin(), connections_.end(),
                                  [](const auto& each) { return each->ready() && each->accepts(); });
  const SteadyTime now = steady_clock::now();
  if (ready != connections_.end() && answering()) {
    info_.ask(**ready, *figures_, now);
    key_sample_.ask(**ready, *figures_, now);
  }
  info_timer_.arm(now + ServerInfo::kPeriod);
}

void Node::on_trouble(const Trouble& trouble, bool was_ready) {
  note(trouble);
  break_counts_ = was_ready;
  if (!was_ready) context_.listener.connect_failed(address_, trouble);
}

void Node::on_down() {
  // Not now: those that waited on the connection have just been told, and this may be inside one of them.
  if (!line_.empty()) line_timer_.arm(steady_clock::now());
  watcher_.on_node_down(*this);
}

void Node::on_breaker(BreakerState state) {
  context_.stats.breaker_changed(state != BreakerState::closed, steady_clock::now());
  await_probe();
  if (!line_.empty()) line_timer_.arm(steady_clock::now());
  tell(state);
}

void Node::note(Trouble trouble) {
  trouble_ = std::move(trouble);
  if (told_ && *told_ != trouble_.cause) tell(BreakerState::open);
}

void Node::tell(BreakerState state) {
  told_ = state == BreakerState::closed ? std::nullopt : std::optional(trouble_.cause);
  if (context_.listener.on_breaker) context_.listener.on_breaker({to_text(address_), state, trouble_});
}

void Node::await_probe() {
  if (const auto at = breaker_.probe_at()) probe_timer_.arm(*at);
}

void Node::set_probing(bool under_way) {
  if (probing_ == under_way) return;
  probing_ = under_way;
  context_.stats.probe_changed(under_way);
}

void Node::probe() {
  const SteadyTime now = steady_clock::now();
  if (!breaker_.start_probe(now)) return await_probe();
  Connection* const connection = pick();
  if (connection == nullptr) {
    breaker_.probe_failed(now);
    return await_probe();
  }
  set_probing(true);
  probe_.send(*connection, now, context_.options.deadline);
}

void Node::on_probed(const std::optional<Trouble>& trouble, SteadyTime now) {
  if (closing_) return;
  set_probing(false);
  if (!trouble) return breaker_.probe_succeeded(now);
  if (!trouble->said.empty()) note(*trouble);
  breaker_.probe_failed(now);
  await_probe();
}

}  // namespace weir::redis
