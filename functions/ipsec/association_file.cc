#include "functions/ipsec/association_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <iterator>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/mistakes.h"
#include "core/text_file.h"
#include "functions/ipsec/association_words.h"
#include "functions/ipsec/keys.h"

namespace heddle::ipsec {
namespace {

constexpr size_t kMaxFileBytes = size_t{256} << 20, kNonceBytes = 4;

/** What begins a line that says nothing of packets here. */
constexpr std::string_view kIgnored[] = {"coa", "crypto", "dir", "if_id", "lastused", "lifetime", "output-mark"};

/** A word that is refused, for it would make the association another one, and why. */
struct Refused {
  std::string_view word;
  const char* why;
};
constexpr Refused kRefusedLines[] = {
    {"mark", "packets have no marks here; take the line out, and have IPsecSequence choose by SPI or BY"},
    {"tfcpad", "packets are not padded against traffic analysis (RFC 4303, 2.7)"},
    {"comp", "packets are not compressed"},
    {"security", "packets have no security context here"},
};
constexpr Refused kRefusedFlags[] = {
    {"decap-dscp", "IPsecDecap leaves the inner header's DSCP as it is"},
    {"icmp", "the sel line judges ICMP errors as it does other packets"},
    {"oseq-may-wrap", "sequence numbers do not begin again (RFC 4303, 3.3.3)"},
};

void refuse(std::string_view word, std::span<const Refused> list) {
  const auto found = std::ranges::find(list, word, &Refused::word);
  if (found != list.end()) throw Mistake{format("'%s' is not supported: %s", std::string(word).c_str(), found->why)};
}

class Parser {
 public:
  Parser(const std::string& path, std::vector<std::string>& errors) : mistakes_(path, errors) {}

  AssociationList run(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      try {
        read_line(Words(text.substr(0, end)));
      } catch (const Mistake& mistake) {
        mistakes_.add(line_, mistake.why);
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    finish();
    return std::move(list_);
  }

 private:
  /** What the lines of the association leave to be desired, or "". */
  std::string missing() {
    if (!has_spi_) return "this association has no line 'proto esp spi NUMBER mode tunnel' (or transport)";
    if (!has_cipher_)
      return "this association has no line 'enc rfc3686(ctr(aes)) KEY', 'enc cbc(aes) KEY' or 'aead rfc4106(gcm(aes)) "
             "KEY 128'";
    const bool gcm = now_.sa.suite.cipher == Cipher::aes_gcm;
    if (!has_hash_ && !gcm)
      return "this association has no line 'auth-trunc hmac(sha1) KEY 96' or 'auth-trunc hmac(sha256) KEY 128'";
    if (has_hash_ && gcm) return "rfc4106(gcm(aes)) authenticates as well: an auth line does not go with it";
    if (now_.sa.in_udp() && now_.sa.transport) return "encap goes with mode tunnel only";
    if (now_.sa.in_udp() && now_.sa.ip6) return "encap goes with IPv4 addresses only";
    if (now_.sa.extended && now_.window == 0)
      return "flag esn needs a window: replay-window, or replay_window of 'anti-replay esn context:' (RFC 4303, A2)";
    if (std::max(now_.sent, now_.seen) > INT64_MAX) return "seq and oseq must be below 2^63";
    if (!now_.sa.extended && std::max(now_.sent, now_.seen) > UINT32_MAX)
      return "seq and oseq have 32 bits without flag esn";
    if (!ends_.emplace(now_.sa.spi, now_.sa.ip6, now_.sa.destination, std::to_array(now_.sa.destination6)).second)
      return "another association before it has the same SPI and destination";
    if (++with_spi_[now_.sa.spi] > kMaxOfSpi)
      return format("more than %u associations have its SPI; give it another", kMaxOfSpi);
    if (list_.size() == kMaxAssociations) return format("there are more than %zu associations", kMaxAssociations);
    return "";
  }

  /** The association that lines speak of is complete. What it misses may be in a line that is wrong. */
  void finish() {
    if (begun_ == 0) return;
    if (mistakes_.count() == mistakes_before_) {
      const std::string why = missing();
      now_.line = begun_;
      if (why.empty())
        list_.push_back(now_);
      else
        mistakes_.add(begun_, why);
    }
    explicit_bzero(static_cast<void*>(&now_), sizeof now_);
    begun_ = 0;
  }

  void begin(Words& words) {
    finish();
    now_ = {};
    begun_ = line_;
    mistakes_before_ = mistakes_.count();
    has_protocol_ = has_spi_ = has_cipher_ = has_hash_ = has_selector_ = in_context_ = in_statistics_ = false;
    uint32_t source = 0, destination = 0;
    const bool source_is6 = read_address(words.take(), "src", source, now_.sa.source6);
    if (words.take() != "dst") throw Mistake{"expected 'src ADDRESS dst ADDRESS'"};
    now_.sa.ip6 = read_address(words.take(), "dst", destination, now_.sa.destination6);
    if (now_.sa.ip6 != source_is6) throw Mistake{"src and dst must both be IPv4, or both IPv6"};
    now_.sa.source = swapped(source), now_.sa.destination = swapped(destination);
    words.expect_end();
  }

  void read_line(Words words) {
    const std::string_view first = words.take();
    if (first.empty()) return;
    if (first == "src") return begin(words);
    if (begun_ == 0) throw Mistake{"expected 'src ADDRESS dst ADDRESS', which begins an association"};
    if (std::exchange(in_statistics_, false) && is_statistics(first, words)) return;
    if (in_context_ && is_bitmap(first)) return;
    if (first == "proto") {
      protocol(words);
    } else if (first == "replay-window") {
      set_window(number_of(words.take(), "replay-window"), "replay-window");
      flags(words);
    } else if (first == "flag" || first == "extra-flag") {
      flags(words);
    } else if (first == "auth-trunc" || first == "auth") {
      authentication(words, first == "auth-trunc");
    } else if (first == "enc") {
      encryption(words);
    } else if (first == "aead") {
      aead(words);
    } else if (first == "encap") {
      encapsulation(words);
    } else if (first == "anti-replay") {
      const std::string_view kind = words.take();
      in_context_ = kind == "esn";
      if ((in_context_ ? words.take() : kind) != "context:") throw Mistake{kContextWanted};
      context(words, words.take());
    } else if (in_context_ && (first == "seq-hi" || first == "oseq-hi" || first == "replay_window")) {
      context(words, first);
    } else if (first == "sel") {
      selector(words);
    } else if (first == "limit:" || first == "limit") {
      limits(words);
    } else if (first == "expire") {
      expiry(words);
    } else if (first.find("(bytes)") != first.npos) {  // lifetime current
      now_.used_bytes = number_of<uint64_t>(first, "lifetime current:");
      now_.used_packets = number_of<uint64_t>(words.take(), "lifetime current:");
    } else if (first == "add") {
      times(words);
    } else if (first == "stats:") {
      in_statistics_ = true;
    } else if (std::ranges::find(kIgnored, first) == std::end(kIgnored)) {
      refuse(first, kRefusedLines);
      const std::string word = may_be_shown(first) ? "'" + std::string(first) + "', " : "";
      throw Mistake{"it begins with " + word +
                    "no word that is supported here: src, proto, replay-window, flag, extra-flag, auth-trunc, auth, "
                    "enc, aead, encap, anti-replay, sel, limit, expire, add, stats; nor with one of a line that "
                    "changes nothing here: coa, crypto, dir, if_id, lastused, lifetime, output-mark"};
    }
  }

  /** A line that an association has once: a second one may be another's, whose 'src' line is missing. */
  static void once(bool& has, const char* what) {
    if (std::exchange(has, true))
      throw Mistake{
          format("this association has %s already; does a line 'src ADDRESS dst ADDRESS' miss before it?", what)};
  }

  void protocol(Words& words) {
    once(has_protocol_, "a line 'proto'");
    if (words.take() != "esp") throw Mistake{"the only protocol that is supported is esp"};
    bool has_mode = false;
    for (std::string_view word; !(word = words.take_plain()).empty();) {
      if (word == "spi") {
        const uint32_t spi = number_of(words.take(), "spi");
        if (spi < 256) throw Mistake{"spi must be 256 or more (RFC 4303, 2.1)"};
        now_.sa.spi = swapped(spi);
        has_spi_ = true;
      } else if (word == "reqid") {
        number_of(words.take(), "reqid");
      } else if (word == "mode") {
        const std::string_view mode = words.take();
        if (mode != "tunnel" && mode != "transport")
          throw Mistake{"the modes that are supported are tunnel and transport"};
        now_.sa.transport = mode == "transport";
        has_mode = true;
      } else {
        throw Mistake{"expected 'proto esp spi NUMBER [reqid NUMBER] mode tunnel' (or transport)"};
      }
    }
    if (!has_mode) throw Mistake{"expected 'mode tunnel' or 'mode transport'"};
  }

  void set_window(uint32_t window, const char* name) {
    if (window > kLargestWindow) throw Mistake{format("%s must be 0 to %zu", name, kLargestWindow)};
    now_.window = std::max(now_.window, window);
  }

  void flags(Words& words) {
    for (std::string_view word; !(word = words.take_plain()).empty();) {
      if (word == "seq")
        number_of(words.take(), "seq");
      else if (word == "noecn")
        now_.sa.flags |= kNoEcn;
      else if (word == "nopmtudisc")
        now_.sa.flags |= kNoPmtuDisc;
      else if (word == "dont-encap-dscp")
        now_.sa.flags |= kDontEncapDscp;
      else if (word == "esn")
        now_.sa.extended = true;
      else if (word != "flag" && word != "extra-flag" && word != "af-unspec" && word != "wildrecv" &&
               word != "align4") {  // the last two are for other protocols than ESP
        refuse(word, kRefusedFlags);
        throw Mistake{
            "the flags that are supported are noecn, nopmtudisc, af-unspec, esn, wildrecv, align4 and "
            "dont-encap-dscp"};
      }
    }
  }

  void encryption(Words& words) {
    const std::string_view name = words.take();
    if (name == "cbc(aes)") {
      const Key key(words.take(), {16, 24, 32}, "the key of cbc(aes)");
      expand_key({key.bytes, key.count}, now_.sa);
      now_.sa.suite.cipher = Cipher::aes_cbc;
    } else if (name == "rfc3686(ctr(aes))") {
      with_nonce(Key(words.take(), {20, 28, 36}, "the key of rfc3686(ctr(aes)), AES and nonce,"));
      now_.sa.suite.cipher = Cipher::aes_ctr;
    } else {
      throw Mistake{"the ciphers that are supported are rfc3686(ctr(aes)), cbc(aes) and, as aead, rfc4106(gcm(aes))"};
    }
    once(has_cipher_, "a cipher");
    words.expect_end();
  }

  void aead(Words& words) {
    if (words.take() != "rfc4106(gcm(aes))") throw Mistake{"the only aead that is supported is rfc4106(gcm(aes))"};
    with_nonce(Key(words.take(), {20, 28, 36}, "the key of rfc4106(gcm(aes)), AES and salt,"));
    const uint32_t bits = number_of(words.take_plain(), "the key");
    if (bits != 64 && bits != 96 && bits != 128)
      throw Mistake{"the ICV of rfc4106(gcm(aes)) must have 64, 96 or 128 bits"};
    now_.sa.suite = {Cipher::aes_gcm, Hash::none, static_cast<uint8_t>(bits / 8)};
    once(has_cipher_, "a cipher");
    words.expect_end();
  }

  void with_nonce(const Key& key) {
    expand_key({key.bytes, key.count - kNonceBytes}, now_.sa);
    memcpy(&now_.sa.nonce, key.bytes + key.count - kNonceBytes, kNonceBytes);
  }

  void authentication(Words& words, bool truncated) {
    const std::string_view name = words.take();
    if (name == "hmac(sha1)") {
      const Key key(words.take(), {20}, "the key of hmac(sha1)");
      start_hmac({key.bytes, key.count}, now_.sa);
      if (truncated && number_of(words.take_plain(), "the key") != 96)
        throw Mistake{"hmac(sha1) must be truncated to 96 bits"};
      now_.sa.suite.hash = Hash::hmac_sha1_96, now_.sa.suite.icv_bytes = 12;
    } else if (name == "hmac(sha256)") {
      const Key key(words.take(), {32}, "the key of hmac(sha256)");
      start_hmac_sha256({key.bytes, key.count}, now_.sa.inner, now_.sa.outer);
      if (!truncated || number_of(words.take_plain(), "the key") != 128)
        throw Mistake{"hmac(sha256) must be truncated to 128 bits, by 'auth-trunc hmac(sha256) KEY 128' (RFC 4868)"};
      now_.sa.suite.hash = Hash::hmac_sha256_128, now_.sa.suite.icv_bytes = 16;
    } else {
      throw Mistake{"the authentications that are supported are hmac(sha1) and hmac(sha256)"};
    }
    once(has_hash_, "an authentication");
    words.expect_end();
  }

  static uint16_t port_of(Words& words, const char* name) {
    return static_cast<uint16_t>(swapped16(number_of<uint16_t>(words.take(), name)));
  }

  void encapsulation(Words& words) {
    for (std::string_view word; !(word = words.take_plain()).empty();) {
      if (word == "type" && words.take() != "espinudp") throw Mistake{"the only encap that is supported is espinudp"};
      if (word == "type") continue;
      if (word == "sport")
        now_.sa.source_port = port_of(words, "sport");
      else if (word == "dport")
        now_.sa.destination_port = port_of(words, "dport");
      else if (word == "addr")
        words.take();
      else
        throw Mistake{"expected 'encap type espinudp sport PORT dport PORT addr ADDRESS'"};
    }
    if (now_.sa.source_port == 0 || now_.sa.destination_port == 0)
      throw Mistake{"encap needs sport and dport, 1 to 65535"};
  }

  static constexpr const char* kContextWanted =
      "expected 'anti-replay context: seq NUMBER, oseq NUMBER, bitmap NUMBER', or 'anti-replay esn context:'";

  void context(Words& words, std::string_view word) {
    constexpr uint64_t kLow = UINT32_MAX;
    for (; !word.empty(); word = words.take()) {
      if (word != "seq" && word != "oseq" && word != "seq-hi" && word != "oseq-hi" && word != "bitmap" &&
          word != "replay_window" && word != "bitmap-length")
        throw Mistake{kContextWanted};
      const uint32_t number = number_of(words.take(), std::string(word).c_str());
      if (word == "seq")
        now_.seen = (now_.seen & ~kLow) | number;
      else if (word == "oseq")
        now_.sent = (now_.sent & ~kLow) | number;
      else if (word == "seq-hi")
        now_.seen = (now_.seen & kLow) | uint64_t{number} << 32;
      else if (word == "oseq-hi")
        now_.sent = (now_.sent & kLow) | uint64_t{number} << 32;
      else if (word == "replay_window")
        set_window(number, "replay_window");
    }
  }

  static bool is_bitmap(std::string_view word) {
    return word.size() == 8 && word.find_first_not_of("0123456789abcdef") == word.npos;
  }

  /** The line behind 'stats:', such as "replay-window 0 replay 0 failed 0". `words`: behind the first. */
  static bool is_statistics(std::string_view first, Words words) {
    words.take();
    return first == "replay-window" && words.take() == "replay";
  }

  void selector(Words& words) {
    once(has_selector_, "a line 'sel'");
    Selector& s = now_.selector;
    if (words.take() != "src") throw Mistake{"expected 'sel src PREFIX dst PREFIX'"};
    const bool source_is6 = read_prefix(words.take(), "src", s.source);
    if (words.take() != "dst") throw Mistake{"expected 'sel src PREFIX dst PREFIX'"};
    const bool is6 = read_prefix(words.take(), "dst", s.destination);
    if (is6 != source_is6) throw Mistake{"the prefixes of a sel line must both be IPv4, or both IPv6"};
    s.family = is6 ? Selector::Family::ip6 : Selector::Family::ip4;
    static constexpr std::string_view kNarrower[] = {"proto", "sport", "dport", "type", "code", "key", "dev"};
    for (std::string_view more; !(more = words.take_plain()).empty(); words.take()) {
      if (std::ranges::find(kNarrower, more) != std::end(kNarrower))
        throw Mistake{
            format("'%s' is not supported in a sel line: an association has all packets between its prefixes; leave "
                   "it out, and have an IPClassifier choose packets",
                   std::string(more).c_str())};
      if (more != "uid") throw Mistake{"something is left over at the end of the line"};
    }
  }

  /** `name`: as `ip` takes it, such as "packet-hard". False: there is no such limit. */
  bool set_limit(const std::string& name, std::string_view value) {
    Limits& l = now_.limits;
    const std::pair<std::string_view, uint64_t*> places[] = {
        {"byte-soft", &l.soft_bytes},           {"byte-hard", &l.hard_bytes},          {"packet-soft", &l.soft_packets},
        {"packet-hard", &l.hard_packets},       {"time-soft", &l.soft_seconds},        {"time-hard", &l.hard_seconds},
        {"time-use-soft", &l.soft_use_seconds}, {"time-use-hard", &l.hard_use_seconds}};
    const auto* const place = std::ranges::find(places, name, &std::pair<std::string_view, uint64_t*>::first);
    if (place == std::end(places)) return false;
    const bool none = value.starts_with("(INF)") || value == "INF";
    uint64_t& to = *place->second;
    to = none ? Limits::kNone : number_of<uint64_t>(value, "limit");
    if (to == 0 && name.starts_with("time-")) to = Limits::kNone;
    return true;
  }

  /** "soft 900(bytes), hard (INF)(bytes)", or, as it is given to `ip`, "packet-hard 1000". */
  void limits(Words& words) {
    for (std::string_view word; !(word = words.take()).empty();) {
      const std::string_view value = words.take();
      const bool whole = word == "soft" || word == "hard";
      const char* const kind = !whole                                  ? ""
                               : value.find("(packets)") != value.npos ? "packet-"
                               : value.find("(bytes)") != value.npos   ? "byte-"
                                                                       : "?";
      if (!set_limit(kind + std::string(word), value))
        throw Mistake{
            "expected 'limit: soft NUMBER(bytes), hard NUMBER(bytes)', or the same of (packets), or 'limit time-soft "
            "NUMBER' and the like"};
    }
  }

  /** "add: soft 2854(sec), hard 3600(sec)", and the same of "use:". */
  void expiry(Words& words) {
    const std::string_view since = words.take();
    bool good = since == "add:" || since == "use:";
    for (std::string_view word; good && !(word = words.take()).empty();)
      good = set_limit((since == "use:" ? "time-use-" : "time-") + std::string(word), words.take());
    if (!good) throw Mistake{"expected 'expire add: soft NUMBER(sec), hard NUMBER(sec)', or the same of use:"};
  }

  static constexpr const char* kTimesWanted =
      "expected 'add YYYY-MM-DD HH:MM:SS use YYYY-MM-DD HH:MM:SS', or - for a time";

  /** "2026-01-01 10:00:00", in local time, or "-": seconds since 1970, or 0. */
  static int64_t time_in(Words& words) {
    const std::string date(words.take());
    if (date == "-") return 0;
    const std::string text = date + " " + std::string(words.take());
    tm time{};
    const char* const end = ::strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &time);
    time.tm_isdst = -1;
    const time_t seconds = end == nullptr || *end != '\0' ? 0 : ::mktime(&time);
    if (seconds <= 0) throw Mistake{kTimesWanted};
    return seconds;
  }

  /** "2026-01-01 10:00:00 use -" */
  void times(Words& words) {
    now_.added_s = time_in(words);
    if (words.take() != "use") throw Mistake{kTimesWanted};
    now_.first_packet_s = time_in(words);
    words.expect_end();
  }

  Mistakes mistakes_;
  AssociationList list_;
  std::set<std::tuple<uint32_t, bool, uint32_t, std::array<uint32_t, 4>>> ends_;  // SPIs and destinations
  std::unordered_map<uint32_t, uint32_t> with_spi_;
  FileAssociation now_;
  size_t line_ = 0, begun_ = 0;  // begun_: line of the association that lines belong to, 0: none
  size_t mistakes_before_ = 0;   // that one
  bool has_protocol_ = false, has_spi_ = false, has_cipher_ = false, has_hash_ = false, has_selector_ = false;
  bool in_context_ = false, in_statistics_ = false;  // behind 'anti-replay esn context:', and right behind 'stats:'
};

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

/** Leaves nothing of a text with keys, however its reader ends. */
struct Wiping {
  std::string& text;
  ~Wiping() { explicit_bzero(text.data(), text.size()); }
};

/** What messages call a file. What is given in place of a path may be associations, whose keys nobody may read
 *  there. */
std::string shown(const std::string& path) {
  constexpr size_t kKeyDigits = 16;
  size_t digits = 0;
  for (const char c : path) {
    digits = std::isxdigit(static_cast<unsigned char>(c)) ? digits + 1 : 0;
    if (digits == kKeyDigits || c == '\0' || is_blank(c)) return "FILE (not shown, for it may have keys)";
  }
  return "'" + path + "'";
}

}  // namespace

AssociationList parse_associations(std::string_view text, const std::string& path, std::vector<std::string>& errors) {
  return Parser(path, errors).run(text);
}

AssociationList read_association_file(const std::string& path, std::vector<std::string>& errors) {
  if (path.find('\0') != path.npos) throw Error("cannot read the associations: FILE is no path, for it has zero bytes");
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status;
  if (file.number < 0 || ::fstat(file.number, &status) != 0)
    throw Error(format("cannot read the associations in %s: %s; give the path of a readable file, not associations",
                       shown(path).c_str(), strerror(errno)));
  if (!S_ISREG(status.st_mode))
    throw Error(format("cannot read the associations in '%s': it is no ordinary file", path.c_str()));
  if ((status.st_mode & 077) != 0)
    throw Error(format("'%s' holds keys and has mode %04o, so that others than its owner may use it; chmod 0600 it",
                       path.c_str(), static_cast<unsigned>(status.st_mode & 07777)));
  if (status.st_uid != 0 && status.st_uid != ::geteuid())
    throw Error(
        format("'%s' holds keys and belongs to user %u, who may use it; chown it to user %u, who runs this program",
               path.c_str(), status.st_uid, ::geteuid()));
  if (static_cast<size_t>(status.st_size) > kMaxFileBytes)
    throw Error(format("'%s' has more than %zu bytes", path.c_str(), kMaxFileBytes));
  std::string text(static_cast<size_t>(status.st_size), '\0');
  const Wiping wiping{text};
  size_t size = 0;
  for (ssize_t got; size < text.size(); size += static_cast<size_t>(got)) {
    got = ::read(file.number, text.data() + size, text.size() - size);
    if (got < 0) throw Error(format("cannot read the associations in '%s': %s", path.c_str(), strerror(errno)));
    if (got == 0) break;
  }
  if (::memchr(text.data(), '\0', size) != nullptr)
    throw Error(
        format("'%s' holds no associations, for it has zero bytes; give the path of a text file", path.c_str()));
  return parse_associations(without_byte_order_mark(std::string_view(text).substr(0, size)), path, errors);
}

}  // namespace heddle::ipsec
