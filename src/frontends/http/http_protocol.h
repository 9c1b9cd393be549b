// HttpProtocol: HTTP/1.1 on one connection: finds messages, calls handlers, keeps answers in the order of the requests.
//
// Runs on its connection's loop. An answer that is ready in time goes straight into the link's output; one that comes
// later, and all behind it, wait in a queue of at most kMaxInFlight.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "frontends/http/date_field.h"
#include "frontends/http/request_parser.h"
#include "frontends/http/router.h"
#include "frontends/http/status_counts.h"
#include "frontends/transport/protocol.h"

namespace weir::http {

// Requests of one connection that wait for their answer. More stay unread.
inline constexpr std::size_t kMaxInFlight = 64;

class HttpProtocol final : public transport::Protocol {
 public:
  // `date` and `counts` are the loop's and may be null; without a date the answers carry none.
  HttpProtocol(transport::Link& link, std::shared_ptr<const Router> router, const HttpLimits& limits,
               std::shared_ptr<DateField> date, std::shared_ptr<StatusCounts> counts);

  std::size_t on_bytes(std::string_view bytes) override;
  bool idle() const override { return waiting_.empty() && !parser_.begun(); }
  bool waiting() const override { return !waiting_.empty(); }
  void on_timeout() override;
  void on_shortage() override;
  bool on_drain_soon() override;
  void on_drain() override;

  // For ResponseWriter and LaterResponse.
  void answer(const Response& response, const ResponseForm& form);
  LaterResponse defer(const ResponseForm& form);
  void finish(std::uint64_t number, const Response& response);
  void stream(const Response& response, const ResponseForm& form, std::shared_ptr<StreamSource> source);
  // For StreamWriter. They do nothing once the stream has ended.
  bool stream_congested(std::uint64_t number) const;
  void write_stream(std::uint64_t number, std::string_view bytes);
  void end_stream(std::uint64_t number);
  const transport::Peer& peer() const { return link_.peer(); }

 private:
  struct Waiting {
    ResponseForm form;
    bool ready = false;
    std::string bytes;
    std::shared_ptr<StreamSource> source = nullptr;  // of a stream that goes on
  };

  RequestParser::State on_head(std::string_view bytes);
  void wait_for_rest(std::size_t arrived);
  bool have_room(std::size_t arrived);
  void say_continue();
  void handle(const HttpRequest& request);
  void handle_routed(const HttpRequest& request, ResponseWriter& writer);
  void refuse(int status, std::string_view detail, std::string_view fields = {});
  void release_ready();
  void end_streams();
  bool is_first(std::uint64_t number) const { return number == first_number_; }
  Waiting* stream_of(std::uint64_t number);
  void end_after(bool keep_alive);
  void look_at_clock();
  void write(std::string& out, const Response& response, const ResponseForm& form);

  transport::Link& link_;
  const std::shared_ptr<const Router> router_;
  const HttpLimits limits_;
  const std::shared_ptr<DateField> date_;
  const std::shared_ptr<StatusCounts> counts_;
  RequestParser parser_;
  const Route* route_ = nullptr;  // of the message under way
  std::string allow_;             // when route_ is null
  std::vector<PathParameter> parameters_;
  std::deque<Waiting> waiting_;
  std::uint64_t first_number_ = 0;  // of waiting_.front()
  bool continue_owed_ = false;
  bool continue_said_ = false;  // or owed, for the message under way
  bool reserved_ = false;       // memory for the message under way
  bool paused_ = false;
  bool draining_ = false;
  bool ending_ = false;  // no further message is read
};

// Protocols that share `router` and live on one loop, which dates its answers by `clock` and counts them in `counts`,
// if these are given.
transport::ProtocolFactory http_protocols(std::shared_ptr<const Router> router, const HttpLimits& limits = {},
                                          std::shared_ptr<Clock> clock = {}, std::shared_ptr<StatusCounts> counts = {});

}  // namespace weir::http
