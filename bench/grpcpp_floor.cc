// What grpc++ takes for a constant: a completion-queue server with one thread that answers ShouldRateLimit with OK.
// `grpcpp_floor PORT`, until a signal.
#include <grpcpp/grpcpp.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "envoy/service/ratelimit/v3/rls.grpc.pb.h"

namespace {

namespace pb = ::envoy::service::ratelimit::v3;

// Calls that wait for a request, so that no request waits for a call.
constexpr int kWaitingCalls = 512;

pb::RateLimitResponse constant_answer() {
  pb::RateLimitResponse response;
  response.set_overall_code(pb::RateLimitResponse::OK);
  auto& status = *response.add_statuses();
  status.set_code(pb::RateLimitResponse::OK);
  status.mutable_current_limit()->set_requests_per_unit(1'000'000'000);
  status.mutable_current_limit()->set_unit(pb::RateLimitResponse::RateLimit::SECOND);
  status.set_limit_remaining(999'999'999);
  return response;
}

class Call {
 public:
  Call(pb::RateLimitService::AsyncService& service, grpc::ServerCompletionQueue& queue)
      : service_(service), queue_(queue), writer_(&context_) {
    service_.RequestShouldRateLimit(&context_, &request_, &writer_, &queue_, &queue_, this);
  }
  void proceed(bool ok, const pb::RateLimitResponse& answer) {
    if (!ok || answered_) {
      delete this;
      return;
    }
    new Call(service_, queue_);
    answered_ = true;
    writer_.Finish(answer, grpc::Status::OK, this);
  }

 private:
  pb::RateLimitService::AsyncService& service_;
  grpc::ServerCompletionQueue& queue_;
  grpc::ServerContext context_;
  pb::RateLimitRequest request_;
  grpc::ServerAsyncResponseWriter<pb::RateLimitResponse> writer_;
  bool answered_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: grpcpp_floor PORT\n";
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  pb::RateLimitService::AsyncService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(std::string("127.0.0.1:") + argv[1], grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  std::thread worker([&] {
    const pb::RateLimitResponse answer = constant_answer();
    for (int i = 0; i < kWaitingCalls; ++i) new Call(service, *queue);
    void* tag = nullptr;
    bool ok = false;
    while (queue->Next(&tag, &ok)) static_cast<Call*>(tag)->proceed(ok, answer);
  });
  int signal = 0;
  sigwait(&signals, &signal);
  server->Shutdown(std::chrono::system_clock::now());
  queue->Shutdown();
  worker.join();
  return 0;
}
