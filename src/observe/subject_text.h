// How log lines describe who was counted: by which attributes, and with which values.
//
// Values of secrets never appear, whatever the caller put into them: in their place there is "#" and the first digits
// of a keyed hash.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keys/key_encoder.h"
#include "weir/options.h"

namespace weir::observe {

// Attributes whose values are secrets. Names are compared without case and with '-' as '_', as identity does.
// `api_key`, `authorization` and other usual ones are always among them.
class SecretNames {
 public:
  SecretNames();
  void add(std::string_view name);
  bool contains(std::string_view name) const;

 private:
  std::vector<std::string> names_;  // folded
};

// The attributes that the decisive rule counts the request by, in the order of `per`; of alternatives the one that the
// request carries. Empty: there are none, or they are not known.
std::vector<std::string_view> subject_names(const RequestContext& context);

// "tenant,ip"; "all" for a rule that has one bucket for all requests; empty if it is not known.
std::string subject_type(const RequestContext& context);

// "tenant=acme,api_key=#3f90aa17c2d4": long values are cut.
std::string subject_values(const RequestContext& context, const SecretNames& secrets, const keys::KeyEncoder& encoder);

// The first digits of the keyed hash of an attribute's value.
SubjectDigits value_digits(std::string_view name, std::string_view value, const keys::KeyEncoder& encoder);

// At most this much of a value is logged.
inline constexpr std::size_t kMaxLoggedValue = 128;
std::string_view cut_value(std::string_view value);

}  // namespace weir::observe
