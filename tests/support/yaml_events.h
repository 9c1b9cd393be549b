// What a YAML parser reports, as one text that can be compared. For tests.
#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>
#include <string>

#include "base/yaml_plain_reader.h"

namespace weir::base {

class RecordedEvents final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override { ++documents_; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, anchor) << "null\n"; }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, anchor) << "alias\n"; }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    add(mark, anchor) << tag << " '" << value << "'\n";
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    add(mark, anchor) << tag << " [\n";
  }
  void OnSequenceEnd() override { out_ << "]\n"; }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    add(mark, anchor) << tag << " {\n";
  }
  void OnMapEnd() override { out_ << "}\n"; }

  int documents() const { return documents_; }
  std::string text() const { return out_.str(); }

 private:
  std::ostream& add(const YAML::Mark& mark, YAML::anchor_t anchor) {
    return out_ << mark.line << ':' << mark.column << ' ' << anchor << ' ';
  }
  std::ostringstream out_;
  int documents_ = 0;
};

// None: the reader declines the text.
inline std::optional<std::string> plain_events(const std::string& text) {
  RecordedEvents events;
  if (!PlainYamlReader(text, events).read()) return std::nullopt;
  return events.text();
}

// None: not one valid document.
inline std::optional<std::string> yaml_cpp_events(const std::string& text) {
  RecordedEvents events;
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const YAML::Exception&) {
    return std::nullopt;
  }
  if (events.documents() != 1) return std::nullopt;
  return events.text();
}

}  // namespace weir::base
