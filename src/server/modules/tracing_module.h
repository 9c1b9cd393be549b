// TracingModule: distributed traces (docs/observability.md): which requests are traced, the spans of their decisions,
// and a thread that sends them to a collector (`tracing.otlp`). Without one there is nothing of it.
#pragma once

#include <memory>
#include <vector>

#include "frontends/transport/tracing.h"
#include "observe/span.h"
#include "server/module.h"
#include "server/modules/admin_tools_module.h"
#include "server/server_context.h"
#include "server/span_exporter.h"
#include "weir/options.h"

namespace weir::server {

class TracingModule final : public Module {
 public:
  TracingModule(ServerContext& context, const AdminToolsModule& tools) : context_(context), tools_(tools) {}

  Status open() override;
  Status start() override;
  void stop() override;

  // Lets this module see what the engine of a loop decides. Before it decides.
  void observe(std::size_t loop, LimiterOptions& options);
  // For the front ends of a loop: one each. Null: there is no tracing.
  std::shared_ptr<transport::Tracing> make_tracing() const;

 private:
  void add_facts(observe::Facts& facts) const;

  ServerContext& context_;
  const AdminToolsModule& tools_;
  std::vector<std::shared_ptr<observe::SpanRing>> rings_;  // one for each loop
  std::unique_ptr<SpanExporter> exporter_;                 // null: no tracing
};

}  // namespace weir::server
