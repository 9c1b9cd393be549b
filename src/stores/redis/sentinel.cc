#include "stores/redis/sentinel.h"

#include <charconv>
#include <optional>

#include "stores/redis/jitter.h"

namespace weir::redis {
namespace {

using std::chrono::steady_clock;

Greeting sentinel_greeting(const RedisOptions& options) {
  Greeting greeting;
  if (options.sentinel_password.empty()) return greeting;
  greet(greeting, options.sentinel_user, options.sentinel_password, /*database=*/0);
  return greeting;
}

Connection::Timeouts sentinel_timeouts(const RedisOptions& options) {
  return {options.connect_timeout, options.connect_timeout};
}

std::optional<Address> make_address(std::string_view host, std::string_view port) {
  Address address{std::string(host), 0};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc{} || end != port.data() + port.size() || address.port == 0 || host.empty())
    return std::nullopt;
  return address;
}

}  // namespace

// The connection to one sentinel.
class Sentinel::Peer final : private ConnectionOwner, private ReplyHandler {
 public:
  Peer(Sentinel& owner, const Address& address)
      : owner_(owner),
        address_(address),
        connection_(owner.context_.loop, owner.context_.tls, owner.greeting_, sentinel_timeouts(owner.context_.options),
                    next_random(owner.context_.random), *this) {}

  void ask() { connection_.open(address_); }

 private:
  void on_ready() override {
    owner_.context_.listener.connected(address_);
    const SteadyTime now = steady_clock::now();
    const Connection::Sending sending{.now = now, .deadline = now + owner_.context_.options.connect_timeout};
    CommandWriter(connection_.start(), 3)
        .word("SENTINEL")
        .word("get-master-addr-by-name")
        .word(owner_.context_.options.master_name);
    connection_.finish(*this, sending);
    CommandWriter(connection_.start(), 2).word("SUBSCRIBE").word("+switch-master");
    connection_.finish(*this, sending);
  }
  void on_trouble(const Trouble& trouble, bool was_ready) override {
    if (!was_ready) owner_.context_.listener.connect_failed(address_, trouble);
  }
  void on_down() override {}

  // The master's address, or the subscription's confirmation.
  void on_reply(Reply reply, SteadyTime) override {
    if (reply[0].kind == ReplyKind::error) {
      owner_.context_.listener.connect_failed(address_, trouble_of(reply[0]));
    } else if (reply[0].kind == ReplyKind::nil) {
      owner_.context_.listener.connect_failed(
          address_, {Cause::no_master, "the sentinel knows no master named " + owner_.context_.options.master_name});
    }
    if (reply.size() != 3 || reply[0].kind != ReplyKind::array) return;
    if (const auto address = make_address(reply[1].text, reply[2].text)) owner_.on_answer(*address);
  }
  void on_lost(FailureKind, SteadyTime) override {}

  // ["message", "+switch-master", "<name> <old host> <old port> <new host> <new port>"]
  bool on_message(Reply reply) override {
    if (reply.size() != 4 || reply[1].text != "message") return true;
    std::string_view words[5];
    std::string_view rest = reply[3].text;
    for (auto& word : words) {
      const auto space = rest.find(' ');
      word = rest.substr(0, space);
      rest = space == std::string_view::npos ? std::string_view{} : rest.substr(space + 1);
    }
    if (words[0] != owner_.context_.options.master_name) return true;
    if (const auto address = make_address(words[3], words[4])) owner_.on_switch(*address);
    return true;
  }

  Sentinel& owner_;
  const Address address_;
  Connection connection_;
};

Sentinel::Sentinel(NodeContext& context)
    : context_(context),
      greeting_(sentinel_greeting(context.options)),
      ask_timer_(context.loop,
                 [this] {
                   if (!node_.connected()) ask_again();
                 }),
      node_(context, *this, 0) {
  for (const Address& address : context.options.seeds) peers_.push_back(std::make_unique<Peer>(*this, address));
}

Sentinel::~Sentinel() = default;

void Sentinel::open() { ask_again(); }

void Sentinel::ask_again() {
  for (auto& peer : peers_) peer->ask();
  ask_timer_.arm_after(jittered(kAskAgain * 2, context_.random));
}

void Sentinel::doubt(Node& node) {
  node.reopen();
  if (!ask_timer_.armed()) ask_timer_.arm_after(std::chrono::microseconds(0));
}

void Sentinel::on_node_down(Node&) {
  if (!ask_timer_.armed()) ask_timer_.arm_after(jittered(kAskAgain, context_.random));
}

void Sentinel::on_answer(const Address& address) {
  if (node_.connected() || (master_known_ && address == node_.address())) return;
  move_to(address);
}

void Sentinel::on_switch(const Address& address) {
  if (master_known_ && address == node_.address() && node_.connected()) return;
  move_to(address);
}

void Sentinel::move_to(const Address& address) {
  master_known_ = true;
  node_.open(address);
}

}  // namespace weir::redis
