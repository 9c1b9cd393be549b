// The floor under gRPC: nghttp2 on the same loops and transport, answering every request with the same bytes. Nothing
// is parsed and nothing decided. `grpc_floor PORT LOOPS`, until a signal.
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "frontends/transport/loops.h"

namespace {

using weir::transport::Link;
using weir::transport::Protocol;

// As large as a real answer with one status and its header fields.
const std::string& constant_answer() {
  static const std::string answer = std::string("\0\0\0\0\x80", 5) + std::string(128, 'a');
  return answer;
}

nghttp2_nv field(const char* name, std::size_t name_size, const char* value, std::size_t value_size) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name)),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value)), name_size, value_size,
          NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

class FloorProtocol final : public Protocol {
 public:
  explicit FloorProtocol(Link& link) : link_(link) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_option* option = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_option_new(&option);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_server_new2(&session_, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~FloorProtocol() override { nghttp2_session_del(session_); }

  std::size_t on_bytes(std::string_view bytes) override {
    const ssize_t taken =
        nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (taken < 0) link_.close();
    const std::uint8_t* data = nullptr;
    ssize_t size = 0;
    while ((size = nghttp2_session_mem_send(session_, &data)) > 0) {
      link_.output().append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
    return bytes.size();
  }
  bool idle() const override { return true; }
  void on_drain() override { link_.close(); }

 private:
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void*) {
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) return 0;
    const nghttp2_nv head[] = {field(":status", 7, "200", 3), field("content-type", 12, "application/grpc", 16)};
    nghttp2_data_provider provider{};
    provider.read_callback = read_body;
    nghttp2_submit_response(session, frame->hd.stream_id, head, 2, &provider);
    return 0;
  }
  static ssize_t read_body(nghttp2_session* session, std::int32_t id, std::uint8_t* room, std::size_t,
                           std::uint32_t* flags, nghttp2_data_source*, void*) {
    const std::string& answer = constant_answer();
    std::copy(answer.begin(), answer.end(), room);
    *flags = NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const nghttp2_nv trailer = field("grpc-status", 11, "0", 1);
    nghttp2_submit_trailer(session, id, &trailer, 1);
    return static_cast<ssize_t>(answer.size());
  }

  Link& link_;
  nghttp2_session* session_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: grpc_floor PORT LOOPS\n";
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  auto endpoint = weir::transport::parse_endpoint(std::string("127.0.0.1:") + argv[1]);
  if (!endpoint.ok()) {
    std::cerr << endpoint.failure().message << '\n';
    return 1;
  }
  weir::transport::Loops loops(static_cast<std::size_t>(std::atoi(argv[2])));
  weir::transport::ListenOptions listen;
  listen.endpoint = endpoint.value();
  listen.protocols = [](std::size_t) {
    return [](Link& link) -> std::unique_ptr<Protocol> { return std::make_unique<FloorProtocol>(link); };
  };
  const auto bound = loops.listen(listen);
  if (!bound.ok()) {
    std::cerr << bound.failure().message << '\n';
    return 1;
  }
  loops.start();
  int signal = 0;
  sigwait(&signals, &signal);
  loops.stop();
  return 0;
}
