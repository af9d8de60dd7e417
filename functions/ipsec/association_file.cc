#include "functions/ipsec/association_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "click/values.h"
#include "core/error.h"
#include "functions/ipsec/keys.h"

namespace heddle::ipsec {
namespace {

constexpr size_t kMaxErrors = 100, kMaxFileBytes = size_t{256} << 20, kNonceBytes = 4;

/** The words of a line, one after the other. */
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line.substr(0, line.find('#'))) {}
  /** The next one, "" at the end. */
  std::string_view take() {
    const size_t begin = std::min(rest_.find_first_not_of(" \t\r"), rest_.size());
    const size_t end = std::min(rest_.find_first_of(" \t\r", begin), rest_.size());
    const std::string_view word = rest_.substr(begin, end - begin);
    rest_.remove_prefix(end);
    return word;
  }

 private:
  std::string_view rest_;
};

/** What is wrong with a line. */
struct Mistake {
  std::string why;
};

uint32_t number_of(std::string_view word, const char* name) {
  while (word.ends_with(',')) word.remove_suffix(1);
  const bool hexadecimal = word.starts_with("0x");
  if (hexadecimal) word.remove_prefix(2);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != word.data() + word.size())
    throw Mistake{format("%s is followed by no number of 32 bits", name)};
  return value;
}

uint32_t address_of(std::string_view word, const char* name) {
  click::Ipv4Address address;
  if (!click::parse(word, address)) throw Mistake{format("%s is followed by no IPv4 address", name)};
  return address.value;
}

void read_prefix(std::string_view word, const char* name, uint32_t& address, uint8_t& length) {
  click::Ipv4Prefix prefix;
  if (!click::parse(word, prefix)) throw Mistake{format("%s is followed by no IPv4 prefix", name)};
  address = prefix.address, length = static_cast<uint8_t>(prefix.length);
}

/** Key bytes, which are wiped when nobody needs them any more. */
struct Key {
  uint8_t bytes[64];
  size_t count = 0;
  /** `sizes`: how many it may be. */
  Key(std::string_view word, std::initializer_list<size_t> sizes, const char* what) {
    if (word.starts_with("0x")) word.remove_prefix(2);
    const bool digits = std::ranges::all_of(word, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)); });
    std::string wanted;
    for (const size_t size : sizes) wanted += (wanted.empty() ? "" : " or ") + std::to_string(2 * size);
    if (!digits || word.size() % 2 != 0 || std::ranges::find(sizes, word.size() / 2) == sizes.end())
      throw Mistake{format("%s must be 0x and %s hexadecimal digits", what, wanted.c_str())};
    for (; count < word.size() / 2; ++count) {
      const char* at = word.data() + 2 * count;
      std::from_chars(at, at + 2, bytes[count], 16);
    }
  }
  ~Key() { explicit_bzero(bytes, sizeof bytes); }
};

class Parser {
 public:
  Parser(const std::string& path, std::vector<std::string>& errors) : path_(path), errors_(errors) {}

  std::vector<FileAssociation> run(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      try {
        read_line(Words(text.substr(0, end)));
      } catch (const Mistake& mistake) {
        report(line_, mistake.why);
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    finish();
    if (bad_ > kMaxErrors) errors_.push_back(format("%s: ... and %zu more", path_.c_str(), bad_ - kMaxErrors));
    return std::move(list_);
  }

 private:
  void report(size_t line, const std::string& why) {
    if (++bad_ <= kMaxErrors) errors_.push_back(format("%s:%zu: %s", path_.c_str(), line, why.c_str()));
  }

  /** The association that lines speak of is complete. */
  void finish() {
    if (begun_ == 0) return;
    const char* missing = !has_spi_    ? "'proto esp spi NUMBER mode tunnel'"
                          : !has_enc_  ? "'enc rfc3686(ctr(aes)) KEY'"
                          : !has_auth_ ? "'auth-trunc hmac(sha1) KEY 96'"
                                       : nullptr;
    if (missing != nullptr)
      report(begun_, format("this association has no line %s", missing));
    else if (!spis_.insert(now_.sa.spi).second)
      report(begun_, "another association before it has the same SPI");
    else if (list_.size() == kMostAssociations)
      report(begun_, format("there are more than %zu associations", kMostAssociations));
    else
      list_.push_back(now_);
    explicit_bzero(&now_, sizeof now_);
    begun_ = 0;
  }

  void read_line(Words words) {
    const std::string_view first = words.take();
    if (first.empty()) return;
    if (first == "src") {
      finish();
      now_ = {};
      begun_ = line_;
      has_spi_ = has_enc_ = has_auth_ = false;
      now_.sa.source = __builtin_bswap32(address_of(words.take(), "src"));
      if (words.take() != "dst") throw Mistake{"expected 'src ADDRESS dst ADDRESS'"};
      now_.sa.destination = __builtin_bswap32(address_of(words.take(), "dst"));
      expect_end(words);
      return;
    }
    if (begun_ == 0) throw Mistake{"expected 'src ADDRESS dst ADDRESS', which begins an association"};
    if (first == "proto") {
      protocol(words);
    } else if (first == "replay-window") {
      const uint32_t window = number_of(words.take(), "replay-window");
      if (window > kLargestWindow) throw Mistake{format("replay-window must be 0 to %zu", kLargestWindow)};
      now_.window = window;
      flags(words);
    } else if (first == "auth-trunc" || first == "auth") {
      authentication(words, first == "auth-trunc");
    } else if (first == "enc") {
      if (words.take() != "rfc3686(ctr(aes))") throw Mistake{"the only cipher that is supported is rfc3686(ctr(aes))"};
      const Key key(words.take(), {20, 28, 36}, "the key of rfc3686(ctr(aes)), AES and nonce,");
      expand_key({key.bytes, key.count - kNonceBytes}, now_.sa);
      memcpy(&now_.sa.nonce, key.bytes + key.count - kNonceBytes, kNonceBytes);
      has_enc_ = true;
      expect_end(words);
    } else if (first == "anti-replay") {
      if (words.take() != "context:") throw Mistake{"extended sequence numbers are not supported"};
      for (std::string_view word; !(word = words.take()).empty();) {
        if (word == "seq")
          now_.seen = number_of(words.take(), "seq");
        else if (word == "oseq")
          now_.sent = number_of(words.take(), "oseq");
        else if (word == "bitmap")
          number_of(words.take(), "bitmap");
        else
          throw Mistake{"expected 'anti-replay context: seq NUMBER, oseq NUMBER, bitmap NUMBER'"};
      }
    } else if (first == "sel") {
      selector(words);
    } else if (first != "lastused" && first != "dir" && first != "if_id") {
      throw Mistake{
          "it begins with no word that is supported here: src, proto, replay-window, auth-trunc, auth, enc, "
          "anti-replay, sel"};
    }
  }

  void protocol(Words& words) {
    if (words.take() != "esp") throw Mistake{"the only protocol that is supported is esp"};
    bool tunnel = false;
    for (std::string_view word; !(word = words.take()).empty();) {
      if (word == "spi") {
        const uint32_t spi = number_of(words.take(), "spi");
        if (spi < 256) throw Mistake{"spi must be 256 or more (RFC 4303, 2.1)"};
        now_.sa.spi = __builtin_bswap32(spi);
        has_spi_ = true;
      } else if (word == "reqid") {
        number_of(words.take(), "reqid");
      } else if (word == "mode") {
        if (words.take() != "tunnel") throw Mistake{"the only mode that is supported is tunnel"};
        tunnel = true;
      } else {
        throw Mistake{"expected 'proto esp spi NUMBER [reqid NUMBER] mode tunnel'"};
      }
    }
    if (!tunnel) throw Mistake{"expected 'mode tunnel'"};
  }

  void flags(Words& words) {
    for (std::string_view word; !(word = words.take()).empty();) {
      if (word == "seq")
        number_of(words.take(), "seq");
      else if (word == "noecn")
        now_.sa.flags |= kNoEcn;
      else if (word == "nopmtudisc")
        now_.sa.flags |= kNoPmtuDisc;
      else if (word == "dont-encap-dscp")
        now_.sa.flags |= kDontEncapDscp;
      else if (word != "flag" && word != "extra-flag" && word != "af-unspec")
        throw Mistake{"the flags that are supported are noecn, nopmtudisc, af-unspec and dont-encap-dscp"};
    }
  }

  void authentication(Words& words, bool truncated) {
    if (words.take() != "hmac(sha1)") throw Mistake{"the only authentication that is supported is hmac(sha1)"};
    const Key key(words.take(), {20}, "the key of hmac(sha1)");
    start_hmac({key.bytes, key.count}, now_.sa);
    if (truncated && number_of(words.take(), "the key") != 8 * kIcvBytes)
      throw Mistake{"hmac(sha1) must be truncated to 96 bits"};
    has_auth_ = true;
    expect_end(words);
  }

  void selector(Words& words) {
    Selector& s = now_.selector;
    if (words.take() != "src") throw Mistake{"expected 'sel src PREFIX dst PREFIX'"};
    read_prefix(words.take(), "src", s.source, s.source_length);
    if (words.take() != "dst") throw Mistake{"expected 'sel src PREFIX dst PREFIX'"};
    read_prefix(words.take(), "dst", s.destination, s.destination_length);
    expect_end(words);
  }

  static void expect_end(Words& words) {
    if (!words.take().empty()) throw Mistake{"something is left over at the end of the line"};
  }

  const std::string& path_;
  std::vector<std::string>& errors_;
  std::vector<FileAssociation> list_;
  std::unordered_set<uint32_t> spis_;
  FileAssociation now_;
  size_t line_ = 0, begun_ = 0, bad_ = 0;  // begun_: line of the association that lines belong to, 0: none
  bool has_spi_ = false, has_enc_ = false, has_auth_ = false;
};

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

std::vector<FileAssociation> parse_associations(std::string_view text, const std::string& path,
                                                std::vector<std::string>& errors) {
  return Parser(path, errors).run(text);
}

std::vector<FileAssociation> read_association_file(const std::string& path, std::vector<std::string>& errors) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status;
  if (file.number < 0 || ::fstat(file.number, &status) != 0)
    throw Error(format("cannot read the associations in '%s': %s; give the path of a readable file", path.c_str(),
                       strerror(errno)));
  if (!S_ISREG(status.st_mode))
    throw Error(format("cannot read the associations in '%s': it is no ordinary file", path.c_str()));
  if ((status.st_mode & 077) != 0)
    throw Error(format("'%s' holds keys and has mode %04o, so that others than its owner may use it; chmod 0600 it",
                       path.c_str(), static_cast<unsigned>(status.st_mode & 07777)));
  if (static_cast<size_t>(status.st_size) > kMaxFileBytes)
    throw Error(format("'%s' has more than %zu bytes", path.c_str(), kMaxFileBytes));
  std::string text(static_cast<size_t>(status.st_size), '\0');
  size_t size = 0;
  for (ssize_t got; size < text.size(); size += static_cast<size_t>(got)) {
    got = ::read(file.number, text.data() + size, text.size() - size);
    if (got < 0) throw Error(format("cannot read the associations in '%s': %s", path.c_str(), strerror(errno)));
    if (got == 0) break;
  }
  auto list = parse_associations(std::string_view(text).substr(0, size), path, errors);
  explicit_bzero(text.data(), text.size());
  return list;
}

}  // namespace heddle::ipsec
