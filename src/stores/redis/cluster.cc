#include "stores/redis/cluster.h"

#include <algorithm>

#include "stores/redis/jitter.h"

namespace weir::redis {

using std::chrono::steady_clock;

namespace {

// Goes through a flat reply in order; past its end it gives nil items.
class Cursor {
 public:
  explicit Cursor(Reply reply) : reply_(reply) {}
  const ReplyItem& next() {
    static constexpr ReplyItem kNil{};
    return at_ < reply_.size() ? reply_[at_++] : kNil;
  }
  void skip() {
    std::int64_t left = 1;
    while (left > 0 && at_ < reply_.size()) {
      const ReplyItem& item = next();
      left += (item.kind == ReplyKind::array ? item.number : 0) - 1;
    }
  }

 private:
  Reply reply_;
  std::size_t at_ = 0;
};

}  // namespace

Cluster::Cluster(NodeContext& context) : context_(context), refresh_timer_(context.loop, [this] { refresh(); }) {}

void Cluster::open() {
  for (const Address& seed : context_.options.seeds) find_or_add(seed, 0);
  refresh();
}

Node* Cluster::find_or_add(const Address& address, std::uint16_t slot) {
  const std::string name = to_text(address);
  if (const auto found = nodes_.find(name); found != nodes_.end()) return found->second.get();
  if (nodes_.size() >= kMaxNodes) return nullptr;
  NodeWatcher& watcher = *this;
  auto node = std::make_unique<Node>(context_, watcher, slot);
  node->open(address);
  return nodes_.emplace(name, std::move(node)).first->second.get();
}

Node* Cluster::any_connected() {
  // Another one each time, so that a node with a stale map does not decide alone.
  const std::size_t size = nodes_.size();
  if (size == 0) return nullptr;
  ++asked_;
  Node* fallback = nullptr;
  std::size_t index = 0;
  for (auto& [name, node] : nodes_) {
    const bool turn = index++ >= asked_ % size;
    if (!node->connected()) continue;
    if (turn) return node.get();
    fallback = node.get();
  }
  return fallback;
}

Node* Cluster::node_for(std::uint16_t slot) {
  if (slots_[slot] != nullptr) return slots_[slot];
  if (Node* node = any_connected()) return node;
  return nodes_.empty() ? nullptr : nodes_.begin()->second.get();
}

Node* Cluster::node_at(const Address& address) { return find_or_add(address, 0); }

void Cluster::moved(std::uint16_t slot, const Address& address) {
  if (Node* node = find_or_add(address, slot)) slots_[slot] = node;
  refresh_after(kSoon);
}

void Cluster::doubt(Node&) { refresh_after(kSoon); }

void Cluster::on_node_up(Node&) {
  if (!mapped_) refresh_after(std::chrono::microseconds(0));
}

void Cluster::on_node_down(Node&) { refresh_after(kSoon); }

void Cluster::refresh_after(std::chrono::microseconds delay) {
  if (asking_) return;
  const SteadyTime at = steady_clock::now() + jittered(delay, context_.random);
  if (!refresh_timer_.armed() || at < refresh_timer_.at()) refresh_timer_.arm(at);
}

void Cluster::refresh() {
  if (asking_) return;
  // Here and not where the map arrives, which is inside a node's own callback.
  forget_unused();
  Node* const node = any_connected();
  Connection* const connection = node != nullptr ? node->pick() : nullptr;
  if (connection == nullptr) return refresh_after(kTroubled);
  asking_ = true;
  asked_host_ = node->address().host;
  CommandWriter(connection->start(), 2).word("CLUSTER").word("SLOTS");
  const SteadyTime now = steady_clock::now();
  connection->finish(*this, {.now = now, .deadline = now + context_.options.connect_timeout});
}

void Cluster::on_reply(Reply reply, SteadyTime) {
  asking_ = false;
  if (!read_map(reply)) return refresh_after(kTroubled);
  mapped_ = true;
  const bool calm =
      std::all_of(nodes_.begin(), nodes_.end(), [](const auto& each) { return each.second->connected(); });
  refresh_after(calm ? std::chrono::milliseconds(kRegularly) : kTroubled);
}

void Cluster::on_lost(FailureKind, SteadyTime) {
  asking_ = false;
  refresh_after(kTroubled);
}

// [[first slot, last slot, [host, port, id, …], replica…], …]
bool Cluster::read_map(Reply reply) {
  Cursor cursor(reply);
  const ReplyItem& ranges = cursor.next();
  if (ranges.kind != ReplyKind::array || ranges.number == 0) return false;
  for (std::int64_t i = 0; i < ranges.number; ++i) {
    const std::int64_t parts = cursor.next().number;
    const std::int64_t first = cursor.next().number;
    const std::int64_t last = cursor.next().number;
    const std::int64_t fields = cursor.next().number;
    const std::string_view host = cursor.next().text;
    const std::int64_t port = cursor.next().number;
    if (parts < 3 || fields < 2 || first < 0 || last < first || last >= kSlotCount || port < 1 || port > 65535) {
      return false;
    }
    for (std::int64_t k = 2; k < fields; ++k) cursor.skip();
    for (std::int64_t k = 3; k < parts; ++k) cursor.skip();
    const Address address{host.empty() ? asked_host_ : std::string(host), static_cast<std::uint16_t>(port)};
    Node* const node = find_or_add(address, static_cast<std::uint16_t>(first));
    for (std::int64_t slot = first; slot <= last; ++slot) slots_[static_cast<std::size_t>(slot)] = node;
  }
  return true;
}

// Nodes that have neither slots nor calls under way, unless they are seeds, from which a way back may lead.
void Cluster::forget_unused() {
  std::erase_if(nodes_, [this](const auto& entry) {
    Node* const node = entry.second.get();
    const auto& seeds = context_.options.seeds;
    return !node->busy() && std::find(slots_.begin(), slots_.end(), node) == slots_.end() &&
           std::find(seeds.begin(), seeds.end(), node->address()) == seeds.end();
  });
}

}  // namespace weir::redis
