#include "admin/decision_stream.h"

#include "admin/decision_json.h"

namespace weir::admin {

void DecisionStream::start(const http::StreamWriter& writer) {
  writer_ = writer;
  writer_->write(": decisions\n\n");
  look_later();
}

void DecisionStream::look_later() {
  writer_->after(kPeriod, [weak = weak_from_this()] {
    if (const std::shared_ptr<DecisionStream> self = weak.lock()) self->look();
  });
}

void DecisionStream::look() {
  const observe::Journal::News news = follower_.next(filter_, kMaxEntries);
  dropped_ += news.lost;
  std::string text;
  if (writer_->congested()) {
    dropped_ += news.entries.size();
  } else {
    if (dropped_ > 0) text += "event: dropped\ndata: {\"n\":" + std::to_string(std::exchange(dropped_, 0)) + "}\n\n";
    for (const observe::JournalEntry& each : news.entries) {
      JsonWriter out;
      write_entry(out, each, node_);
      text += "event: decision\ndata: " + out.take() + "\n\n";
    }
    if (text.empty() && ++quiet_ >= kAlivePeriods) text = ": alive\n\n";
    if (!text.empty()) {
      quiet_ = 0;
      writer_->write(text);
    }
  }
  look_later();
}

}  // namespace weir::admin
