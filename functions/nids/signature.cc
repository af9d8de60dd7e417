#include "functions/nids/signature.h"

#include <algorithm>

#include "core/error.h"

namespace heddle::nids {
namespace {

/** Whether it asks where what it looks into ends, which a connection does not know. */
bool asks_for_end(const Content& content) {
  if (content.base64) return std::ranges::any_of(content.base64->contents, asks_for_end);
  if (!content.probe) return content.at_end;
  return (content.probe->kind == Probe::Kind::data_at && content.probe->negated) ||
         content.probe->from == Probe::From::end;
}

/** Whether it must be there; of what is decoded, something must. */
bool is_wanted(const Content& content) {
  return content.base64 ? std::ranges::any_of(content.base64->contents, is_wanted) : !content.negated;
}
bool is_unwanted(const Content& content) {
  return content.base64 ? std::ranges::any_of(content.base64->contents, is_unwanted) : content.negated;
}

/** Whether a field is the same in all packets of a connection. */
bool same_in_all_packets(const FieldTest& test) {
  return test.field == Field::ip_protocol || test.field == Field::version;
}

}  // namespace

std::string Signature::name() const {
  if (sid == 0) return "";
  return generator == 1 ? format("sid %u", sid) : format("gid %u, sid %u", generator, sid);
}

const Content* Signature::fast_content() const {
  if (!parts.empty()) return nullptr;
  const Content* best = nullptr;
  for (const Content& content : contents) {
    if (content.fast) return &content;
    if (!content.negated && content.searches_bytes() && (best == nullptr || content.bytes.size() > best->bytes.size()))
      best = &content;
  }
  return best;
}

std::string_view Signature::fast_pattern() const {
  const Content* content = fast_content();
  if (content == nullptr) return {};
  const std::string_view bytes = content->bytes;
  if (content->chop_length == 0) return bytes;
  return bytes.substr(static_cast<size_t>(content->chop_offset), static_cast<size_t>(content->chop_length));
}

bool SentTest::holds(uint32_t by_client, uint32_t by_server) const {
  const bool client = counts.contains(by_client), server = counts.contains(by_server);
  switch (of) {
    case Of::client:
      return client;
    case Of::server:
      return server;
    case Of::both:
      return client && server;
    case Of::either:
      return client || server;
  }
  return false;
}

int64_t Signature::least_payload() const {
  int64_t least = 0, end = 0;  // end: of the content before, at the earliest
  for (const Content& content : contents) {
    if (content.base64) break;
    if (content.regex || content.probe) {
      const bool leads_elsewhere = content.regex ? !content.negated : content.probe->kind >= Probe::Kind::jump;
      if (leads_elsewhere) end = 0;
      continue;
    }
    if (content.negated) continue;
    const int distance = content.distance_variable < 0 ? content.distance : 0;
    const int offset = content.offset_variable < 0 ? content.offset : 0;
    end = std::max<int64_t>(content.relative ? end + distance : offset, 0) + static_cast<int64_t>(content.bytes.size());
    least = std::max(least, end);
  }
  return least;
}

bool Signature::has_flow_bits() const { return std::ranges::count(bits, BitOption::Of::flow, &BitOption::of) > 0; }

bool Signature::asks_all(Protocol of) const {
  if (application != Application::none && of != Protocol::tcp && of != Protocol::udp) return false;
  if (!asks_flow() || (protocol != Protocol::ip && protocol != of)) return false;
  return of != Protocol::tcp || !sent.empty() ||
         ((flow_has & (kToServer | kToClient)) != 0 && (flow_has & kEstablished) == 0);
}

bool BufferPart::asks_for_end() const { return !sizes.empty() || std::ranges::any_of(contents, nids::asks_for_end); }

bool BufferPart::asks_for_absence() const { return std::ranges::any_of(contents, is_unwanted); }

bool Signature::reads_streams() const {
  return parts.empty() && streams != Streams::never && (protocol == Protocol::tcp || protocol == Protocol::ip) &&
         sizes == Ranges(0, UINT32_MAX) && std::ranges::all_of(fields, same_in_all_packets) && !contents.empty() &&
         !contents[0].relative && std::ranges::any_of(contents, is_wanted) &&
         std::ranges::none_of(contents, [](const Content& c) { return c.base64 && !is_wanted(c); }) &&
         std::ranges::none_of(contents, asks_for_end);
}

}  // namespace heddle::nids
