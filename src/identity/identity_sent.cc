// Identity for requests whose attributes the caller sent.
#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.h"
#include "identity/credentials.h"
#include "identity/identity.h"

namespace weir::identity {
namespace {

constexpr std::string_view kIp = "ip";
constexpr std::string_view kSentApiKey = "api_key";
constexpr std::string_view kSentAuthorization = "authorization";

Failure invalid_sent(std::string message) { return {Code::invalid_argument, std::move(message)}; }

SentRefusal malformed(std::string_view attribute, std::string_view text, const char* cause) {
  return {Refusal::Kind::malformed, attribute, text, cause};
}
SentRefusal two_values(const Attribute& attribute) {
  return malformed(attribute.name, "is sent with different values, perhaps under another name too", "repeated_field");
}
SentRefusal malformed_credentials(std::string_view attribute) {
  return malformed(attribute, "can be read in two ways, expected one scheme, one space and one token", "credentials");
}
SentRefusal not_accepted(Refusal::Kind kind, std::string cause) {
  return {kind, {}, "the credentials were not accepted", std::move(cause)};
}

bool has_control_characters(std::string_view text) { return std::any_of(text.begin(), text.end(), base::is_control); }
bool is_authorization(std::string_view name) { return base::same_ignoring_case(name, kSentAuthorization); }

bool has_name(std::span<const Attribute> attributes, std::string_view name) {
  return std::any_of(attributes.begin(), attributes.end(), [&](const Attribute& each) { return each.name == name; });
}

}  // namespace

Status Identity::prepare_sent_names() {
  const SentNameLists& names = options_.names;
  for (const AddressTier& tier : options_.tiers) {
    if (!names.ip.empty()) sent_names_.add(tier.attribute, SentRole::made);
  }
  for (const Source& source : sources_) {
    if (source.field.kind != FieldSource::Kind::jwt || names.token.empty()) continue;
    sent_names_.add(source.attribute, SentRole::made);
    api_key_is_claim_ |= source.attribute == kSentApiKey;
  }
  if (Status status = add_sent_names(names.ip, SentRole::ip, "names.ip"); !status.ok()) return status;
  if (Status status = add_sent_names(names.api_key, SentRole::api_key, "names.api_key"); !status.ok()) return status;
  if (Status status = add_sent_names(names.token, SentRole::token, "names.token"); !status.ok()) return status;
  for (const std::string& name : options_.hashed) sent_names_.add(name, SentRole::hashed);
  sent_names_.add(kSentAuthorization, SentRole::hashed);  // if a token is sent elsewhere: always a secret
  // Unless these are names that the address or the key is sent under.
  if (!names.ip.empty()) sent_names_.add(kIp, SentRole::made);
  if (!names.api_key.empty()) sent_names_.add(kSentApiKey, SentRole::made);
  return success();
}

Status Identity::add_sent_names(std::span<const std::string> names, SentRole role, const std::string& option) {
  for (const std::string& name : names) {
    const auto wrong = [&](std::string_view what) {
      return invalid_sent(option + ": has the name \"" + name + "\", " + std::string(what));
    };
    if (name.empty() || name.size() + kPreviousSuffix.size() > kMaxAttributeName) {
      return invalid_sent(option + ": has a name that is empty or too long");
    }
    if (name.find_first_of(" ,") != std::string::npos || has_control_characters(name)) {
      return wrong("expected names such as api_key|x-api-key");
    }
    if (name.ends_with(kPreviousSuffix)) return wrong("which is reserved");
    if (sent_names_.add(name, role)) continue;
    // An API key that is a claim is made, also where the default names have api_key.
    if (name == kSentApiKey && api_key_is_claim_) continue;
    const bool made = sent_names_.find(name) == SentRole::made;
    return wrong(made ? "which is an attribute that Weir makes" : "which is there twice, or also among the others");
  }
  return success();
}

// One request, in two passes: what the attributes say, then what becomes of them.
class Identity::SentReader {
 public:
  SentReader(const Identity& identity, TimePoint now, SentRequests& out)
      : identity_(identity), now_(now), out_(out), first_(out.attributes_.size()) {
    out_.derived_.clear();
    out_.previous_.clear();
  }

  std::optional<SentRefusal> read(std::span<const Attribute> sent, SentPart part) {
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (auto refusal = see(sent, i)) return refusal;
    }
    if (auto refusal = check_credentials(part)) return refusal;
    derive_from_address();
    if (api_key_ && !identity_.api_key_is_claim_) derive(kSentApiKey, api_key_->hash);
    if (auto refusal = derive_from_token()) return refusal;
    write(sent);
    return finish();
  }

 private:
  struct Hash {
    BucketKey key;
    std::string_view current;   // as an attribute's value
    std::string_view previous;  // empty: the hash key is not being rotated
  };
  struct Secret {
    std::string_view name;
    std::string_view value;
    Hash hash;
  };

  std::optional<SentRefusal> see(std::span<const Attribute> sent, std::size_t i);
  std::optional<SentRefusal> see_address(const Attribute& attribute);
  std::optional<SentRefusal> see_secret(const Attribute& attribute, std::optional<Secret>& secret);
  std::optional<SentRefusal> check_credentials(SentPart part);
  std::optional<SentRefusal> verify(std::string_view token);

  void bind_key();
  void derive_from_address();
  std::optional<SentRefusal> derive_from_token();
  void derive(std::string_view name, const Hash& hash);
  bool is_revoked(std::string_view value, const Hash& hash) const {
    return identity_.api_keys_.is_revoked(value, hash.key);
  }
  Hash hash_of(std::string_view value);
  std::string_view text_of(const BucketKey& hash);

  void write(std::span<const Attribute> sent);
  void write_sent(const Attribute& attribute);
  void write_made(std::string_view name);
  void put(std::string_view name, std::string_view value) { out_.attributes_.push_back({name, value}); }
  void put_hashed(std::string_view name, const Hash& hash);
  std::span<const Attribute> written() const { return std::span(out_.attributes_).subspan(first_); }
  std::optional<SentRefusal> finish();

  const Identity& identity_;
  const TimePoint now_;
  SentRequests& out_;
  const std::size_t first_;          // of this request's attributes
  std::size_t without_derived_ = 0;  // how many they are

  std::optional<base::IpAddress> address_;
  std::string_view address_text_;
  std::optional<Secret> api_key_;
  std::optional<Secret> token_;
  std::optional<KnownKey> key_;
  std::vector<Attribute> bound_;  // what the key is bound to; in place of what was sent
  const std::vector<std::optional<std::string>>* claims_ = nullptr;  // null: there is no token
};

std::optional<SentRefusal> Identity::identify_sent(std::span<const Attribute> sent, SentPart part, TimePoint now,
                                                   SentRequests& out) const {
  return SentReader(*this, now, out).read(sent, part);
}

std::optional<SentRefusal> Identity::check_descriptors(const SentRequests& descriptors) const {
  if (!options_.jwt_required || descriptors.has_token()) return std::nullopt;
  return not_accepted(Refusal::Kind::unauthenticated, "no_token");
}

std::optional<SentRefusal> Identity::SentReader::see(std::span<const Attribute> sent, std::size_t i) {
  const Attribute& attribute = sent[i];
  if (attribute.name.ends_with(kPreviousSuffix)) {
    return malformed(attribute.name, "is a reserved name", "reserved_name");
  }
  const SentRole role = identity_.sent_names_.find(attribute.name);
  if (role != SentRole::none && role != SentRole::made && has_name(sent.first(i), attribute.name)) {
    // Rules count all values of a name: a repeated one would be another subject.
    return malformed(attribute.name, "is sent more than once, expected one value", "repeated_field");
  }
  switch (role) {
    case SentRole::ip:
      return see_address(attribute);
    case SentRole::api_key:
      return see_secret(attribute, api_key_);
    case SentRole::token:
      return see_secret(attribute, token_);
    default:
      return std::nullopt;
  }
}

std::optional<SentRefusal> Identity::SentReader::see_address(const Attribute& attribute) {
  const std::optional<base::IpAddress> address = parse_node(attribute.value);
  if (!address) return malformed(attribute.name, "is not an IP address", "address");
  if (address_ && *address_ != *address) return two_values(attribute);
  address_ = address;
  return std::nullopt;
}

// In the spelling that the same key or token would have in a header, so that it has the same hash.
std::optional<SentRefusal> Identity::SentReader::see_secret(const Attribute& attribute, std::optional<Secret>& secret) {
  std::string_view value = base::trimmed(attribute.value);
  if (value.empty()) return std::nullopt;  // as good as not there
  if (has_control_characters(value)) return malformed(attribute.name, "has a control character", "malformed_field");
  if (is_authorization(attribute.name)) {
    const std::optional<Credentials> credentials = parse_credentials(value);
    if (!credentials) return malformed_credentials(attribute.name);
    value = out_.keep(canonical_text(*credentials));
  }
  if (secret && secret->value != value) return two_values(attribute);
  if (!secret) secret = Secret{attribute.name, value, hash_of(value)};
  return std::nullopt;
}

std::optional<SentRefusal> Identity::SentReader::check_credentials(SentPart part) {
  if (api_key_ && is_revoked(api_key_->value, api_key_->hash)) {
    return not_accepted(Refusal::Kind::blocked, "revoked_key");
  }
  if (api_key_) {
    std::shared_ptr<const KnownKeys> keys;
    if (!identity_.look_up_key(api_key_->value, now_, key_, keys)) {
      return not_accepted(Refusal::Kind::blocked, "unknown_key");
    }
    if (key_) bind_key();
  }
  if (identity_.jwt_ && token_) {
    const std::optional<Credentials> credentials = parse_credentials(token_->value);
    if (!credentials) return malformed_credentials(token_->name);
    const std::string_view token = token_of(*credentials, !is_authorization(token_->name));
    if (!token.empty()) {
      if (auto refusal = verify(token)) return refusal;
    }
  }
  if (part == SentPart::request && identity_.options_.jwt_required && claims_ == nullptr) {
    return not_accepted(Refusal::Kind::unauthenticated, "no_token");
  }
  return std::nullopt;
}

std::optional<SentRefusal> Identity::SentReader::verify(std::string_view token) {
  std::vector<SentRequests::Token>& known = out_.tokens_;
  auto found = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.text == token; });
  if (found == known.end()) {
    if (known.size() == SentRequests::kMaxTokens) {
      static_assert(SentRequests::kMaxTokens == 64);
      return malformed(token_->name, "is one of more than 64 different tokens in one call", "too_many_tokens");
    }
    known.push_back({token, identity_.jwt_->verify(token, now_, identity_.claim_paths_)});
    found = known.end() - 1;
  }
  if (!found->claims.ok()) return not_accepted(Refusal::Kind::unauthenticated, found->claims.failure().message);
  claims_ = &found->claims.value();
  return std::nullopt;
}

void Identity::SentReader::derive_from_address() {
  if (!address_) return;
  const IdentityOptions& options = identity_.options_;
  const bool v4 = address_->is_v4();
  address_text_ = out_.keep(base::ip_text(base::network_of(*address_, v4 ? options.ipv4_prefix : options.ipv6_prefix)));
  out_.derived_.push_back({kIp, address_text_});
  for (const AddressTier& tier : options.tiers) {
    const std::string network = base::prefix_text(*address_, v4 ? tier.ipv4_prefix : tier.ipv6_prefix);
    out_.derived_.push_back({tier.attribute, out_.keep(network)});
  }
}

std::optional<SentRefusal> Identity::SentReader::derive_from_token() {
  if (claims_ == nullptr) return std::nullopt;
  for (const Source& source : identity_.sources_) {
    if (source.field.kind != FieldSource::Kind::jwt) continue;
    const std::optional<std::string>& value = (*claims_)[source.claim];
    if (!value || value->empty()) continue;
    if (value->size() > kMaxAttributeValue || value->find('\0') != std::string::npos) {
      return malformed(token_->name, "has a claim that cannot be an attribute", "attribute");
    }
    if (!source.is_hashed) {
      out_.derived_.push_back({source.attribute, out_.keep(*value)});
      continue;
    }
    const Hash hash = hash_of(*value);
    if (source.attribute == kSentApiKey && is_revoked(*value, hash)) {
      return not_accepted(Refusal::Kind::blocked, "revoked_key");
    }
    derive(source.attribute, hash);
  }
  return std::nullopt;
}

// Copies, because the state of the keys may be replaced before the request is decided.
void Identity::SentReader::bind_key() {
  for_each_bound(*key_, [this](std::string_view name, std::string_view value) {
    bound_.push_back({out_.keep(name), out_.keep(value)});
  });
}

void Identity::SentReader::derive(std::string_view name, const Hash& hash) {
  out_.derived_.push_back({name, hash.current});
  if (!hash.previous.empty()) out_.previous_.push_back({name, hash.previous});
}

Identity::SentReader::Hash Identity::SentReader::hash_of(std::string_view value) {
  Hash hash;
  hash.key = identity_.api_keys_.hash(value);
  hash.current = text_of(hash.key);
  if (const auto previous = identity_.api_keys_.previous_hash(value)) hash.previous = text_of(*previous);
  return hash;
}

std::string_view Identity::SentReader::text_of(const BucketKey& hash) {
  std::array<char, ApiKeys::kTextBytes> text;
  ApiKeys::write_text(text.data(), hash);
  return out_.keep({text.data(), text.size()});
}

void Identity::SentReader::write(std::span<const Attribute> sent) {
  std::erase_if(out_.derived_, [this](const Attribute& each) { return has_name(bound_, each.name); });
  for (const Attribute& attribute : sent) {
    if (!has_name(bound_, attribute.name)) write_sent(attribute);
  }
  out_.derived_.insert(out_.derived_.end(), bound_.begin(), bound_.end());
  without_derived_ = written().size();
  for (const Attribute& attribute : out_.derived_) {
    if (!has_name(written(), attribute.name)) put(attribute.name, attribute.value);
  }
  for (const Attribute& attribute : out_.previous_) {
    put(out_.keep_joined(attribute.name, kPreviousSuffix), attribute.value);
  }
}

void Identity::SentReader::write_sent(const Attribute& attribute) {
  const std::string_view name = attribute.name;
  const bool empty = base::trimmed(attribute.value).empty();
  switch (identity_.sent_names_.find(name)) {
    case SentRole::none:
      return put(name, attribute.value);
    case SentRole::ip:
      return put(name, address_text_);
    case SentRole::api_key:
      return empty ? void() : put_hashed(name, api_key_->hash);
    case SentRole::token:
      return empty ? void() : put_hashed(name, token_->hash);
    case SentRole::hashed:
      return empty ? void() : put_hashed(name, hash_of(base::trimmed(attribute.value)));
    case SentRole::made:
      return write_made(name);
  }
}

// In the place where the caller's was, so that a descriptor keeps its form.
void Identity::SentReader::write_made(std::string_view name) {
  for (const Attribute& attribute : out_.derived_) {
    if (attribute.name == name && !has_name(written(), name)) return put(name, attribute.value);
  }
}

void Identity::SentReader::put_hashed(std::string_view name, const Hash& hash) {
  put(name, hash.current);
  if (!hash.previous.empty() && !has_name(out_.previous_, name)) out_.previous_.push_back({name, hash.previous});
}

std::optional<SentRefusal> Identity::SentReader::finish() {
  const std::size_t size = written().size();
  // Without anything derived the front end has the last word on their number.
  if (size > kMaxAttributes && size > without_derived_) {
    static_assert(kMaxAttributes == 64);
    out_.attributes_.resize(first_);
    return malformed({}, "there are more than 64 attributes, with those that identity adds", "attribute");
  }
  out_.ranges_.push_back({first_, size, size - without_derived_});
  return std::nullopt;
}

}  // namespace weir::identity
