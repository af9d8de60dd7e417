// DPDK's librte_ipsec as the other end of an IPsecEncap or IPsecDecap, with DPDK's openssl driver: nothing that Heddle
// uses.
//
//     librte_ipsec out|in IN.pcap OUT.pcap WORD=VALUE ...
//
// Protects or takes out the Ethernet frames of IN.pcap. Of the association: spi, cipher (ctr, cbc, gcm), key (hex, with
// nonce or salt), hash (none, sha1, sha256), hash_key (hex), icv (bytes), mode (tunnel, transport), source and
// destination (outer addresses of a tunnel, IPv4 or IPv6), esn (0, 1), next (the next sequence number), window.
// OUT.pcap gets the good packets in their order, from the IP header on behind 14 bytes; standard output a line for each
// frame of IN.pcap: good or bad.

#include <arpa/inet.h>
#include <pcap.h>
#include <rte_cryptodev.h>
#include <rte_eal.h>
#include <rte_ipsec.h>
#include <rte_mbuf.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<uint8_t>;
constexpr uint32_t kLink = 14, kIvAt = sizeof(rte_crypto_op) + sizeof(rte_crypto_sym_op);

void need(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "librte_ipsec: %s\n", what);
  std::exit(1);
}

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (size_t at = 0; at + 1 < text.size(); at += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoul(text.substr(at, 2), nullptr, 16)));
  return bytes;
}

/** The words of the command line. */
class Words {
 public:
  Words(int count, char** words) {
    for (int i = 0; i < count; ++i) {
      const std::string word = words[i];
      const size_t at = word.find('=');
      need(at != std::string::npos, "arguments are WORD=VALUE");
      values_[word.substr(0, at)] = word.substr(at + 1);
    }
  }
  const std::string& operator[](const char* word) const {
    const auto found = values_.find(word);
    need(found != values_.end(), word);
    return found->second;
  }
  uint64_t number(const char* word) const { return std::stoull((*this)[word], nullptr, 0); }

 private:
  std::map<std::string, std::string> values_;
};

/** Header of a tunnel's packets, behind an Ethernet header. */
Bytes outer_header(const Words& words) {
  const bool ip6 = words["source"].find(':') != std::string::npos;
  Bytes header(kLink + (ip6 ? 40 : 20));
  header[12] = ip6 ? 0x86 : 0x08, header[13] = ip6 ? 0xdd : 0x00;
  uint8_t* const ip = &header[kLink];
  ip[0] = ip6 ? 0x60 : 0x45;
  (ip6 ? ip[7] : ip[8]) = 64;
  (ip6 ? ip[6] : ip[9]) = IPPROTO_ESP;
  const int family = ip6 ? AF_INET6 : AF_INET;
  need(inet_pton(family, words["source"].c_str(), ip + (ip6 ? 8 : 12)) == 1, "source");
  need(inet_pton(family, words["destination"].c_str(), ip + (ip6 ? 24 : 16)) == 1, "destination");
  return header;
}

class Judge {
 public:
  Judge(bool out, const Words& words);
  /** A packet with its IP header at kLink: protected or taken out; null if it is not good, and gone. */
  rte_mbuf* judge(const uint8_t* frame, uint32_t bytes);

 private:
  void make_xforms(const Words& words);
  void make_session();
  void make_sa(const Words& words);

  bool out_, tunnel_;
  Bytes key_, hash_key_, header_;
  rte_mempool *packets_, *operations_, *sessions_;
  rte_crypto_sym_xform cipher_{}, auth_{}, *chain_;
  rte_ipsec_session session_{};
};

Judge::Judge(bool out, const Words& words) : out_(out), tunnel_(words["mode"] == "tunnel") {
  packets_ = rte_pktmbuf_pool_create("packets", 255, 0, 0, 10240, SOCKET_ID_ANY);
  operations_ = rte_crypto_op_pool_create("operations", RTE_CRYPTO_OP_TYPE_SYMMETRIC, 255, 0, 64, SOCKET_ID_ANY);
  need(packets_ != nullptr && operations_ != nullptr, "no memory");
  make_xforms(words);
  make_session();
  make_sa(words);
}

void Judge::make_xforms(const Words& words) {
  const std::string &cipher = words["cipher"], &hash = words["hash"];
  const auto icv = static_cast<uint16_t>(words.number("icv"));
  key_ = from_hex(words["key"]), hash_key_ = from_hex(words["hash_key"]);
  const auto key_bytes = static_cast<uint16_t>(key_.size() - (cipher == "cbc" ? 0 : 4));
  if (cipher == "gcm") {
    cipher_.type = RTE_CRYPTO_SYM_XFORM_AEAD;
    cipher_.aead = {out_ ? RTE_CRYPTO_AEAD_OP_ENCRYPT : RTE_CRYPTO_AEAD_OP_DECRYPT,
                    RTE_CRYPTO_AEAD_AES_GCM,
                    {key_.data(), key_bytes},
                    {kIvAt, 12},
                    icv,
                    static_cast<uint16_t>(words.number("esn") ? 12 : 8)};
    chain_ = &cipher_;
    return;
  }
  cipher_.type = RTE_CRYPTO_SYM_XFORM_CIPHER;
  cipher_.cipher.op = out_ ? RTE_CRYPTO_CIPHER_OP_ENCRYPT : RTE_CRYPTO_CIPHER_OP_DECRYPT;
  cipher_.cipher.algo = cipher == "ctr" ? RTE_CRYPTO_CIPHER_AES_CTR : RTE_CRYPTO_CIPHER_AES_CBC;
  cipher_.cipher.key = {key_.data(), key_bytes};
  cipher_.cipher.iv = {kIvAt, 16};
  auth_.type = RTE_CRYPTO_SYM_XFORM_AUTH;
  auth_.auth.op = out_ ? RTE_CRYPTO_AUTH_OP_GENERATE : RTE_CRYPTO_AUTH_OP_VERIFY;
  auth_.auth.algo = hash == "sha1" ? RTE_CRYPTO_AUTH_SHA1_HMAC : RTE_CRYPTO_AUTH_SHA256_HMAC;
  auth_.auth.key = {hash_key_.data(), static_cast<uint16_t>(hash_key_.size())};
  auth_.auth.digest_length = icv;
  (out_ ? cipher_ : auth_).next = out_ ? &auth_ : &cipher_;
  chain_ = out_ ? &cipher_ : &auth_;
}

void Judge::make_session() {
  rte_cryptodev_config config{};
  config.socket_id = static_cast<int>(rte_socket_id());
  config.nb_queue_pairs = 1;
  need(rte_cryptodev_count() == 1 && rte_cryptodev_configure(0, &config) == 0, "no crypto device");
  sessions_ = rte_cryptodev_sym_session_pool_create("sessions", 16, rte_cryptodev_sym_get_private_session_size(0), 0, 0,
                                                    SOCKET_ID_ANY);
  rte_cryptodev_qp_conf queue{};
  queue.nb_descriptors = 64;
  queue.mp_session = sessions_;
  need(rte_cryptodev_queue_pair_setup(0, 0, &queue, SOCKET_ID_ANY) == 0, "no queue pair");
  need(rte_cryptodev_start(0) == 0, "the crypto device does not start");
  session_.type = RTE_SECURITY_ACTION_TYPE_NONE;
  session_.crypto.dev_id = 0;
  session_.crypto.ses = static_cast<rte_cryptodev_sym_session*>(rte_cryptodev_sym_session_create(0, chain_, sessions_));
  need(session_.crypto.ses != nullptr, "no crypto session");
}

void Judge::make_sa(const Words& words) {
  rte_ipsec_sa_prm prm{};
  rte_security_ipsec_xform& ipsec = prm.ipsec_xform;
  ipsec.spi = static_cast<uint32_t>(words.number("spi"));
  if (words["cipher"] != "cbc") std::memcpy(&ipsec.salt, &key_[key_.size() - 4], 4);
  ipsec.direction = out_ ? RTE_SECURITY_IPSEC_SA_DIR_EGRESS : RTE_SECURITY_IPSEC_SA_DIR_INGRESS;
  ipsec.proto = RTE_SECURITY_IPSEC_SA_PROTO_ESP;
  ipsec.mode = tunnel_ ? RTE_SECURITY_IPSEC_SA_MODE_TUNNEL : RTE_SECURITY_IPSEC_SA_MODE_TRANSPORT;
  ipsec.options.esn = words.number("esn");
  ipsec.esn.value = words.number("next");
  ipsec.replay_win_sz = static_cast<uint32_t>(words.number("window"));
  prm.crypto_xform = chain_;
  if (tunnel_) {
    header_ = outer_header(words);
    const bool ip6 = header_.size() > kLink + 20;
    ipsec.tunnel.type = ip6 ? RTE_SECURITY_IPSEC_TUNNEL_IPV6 : RTE_SECURITY_IPSEC_TUNNEL_IPV4;
    prm.tun.hdr_len = static_cast<uint8_t>(header_.size());
    prm.tun.hdr_l3_off = kLink;
    prm.tun.next_proto = IPPROTO_IPIP;
    prm.tun.hdr = header_.data();
  } else {
    prm.trs.proto = words["source"].find(':') != std::string::npos ? IPPROTO_IPV6 : IPPROTO_IPIP;
  }
  const int size = rte_ipsec_sa_size(&prm);
  need(size > 0, "librte_ipsec takes no such association");
  session_.sa = static_cast<rte_ipsec_sa*>(std::aligned_alloc(64, (static_cast<size_t>(size) + 63) / 64 * 64));
  std::memset(static_cast<void*>(session_.sa), 0, static_cast<size_t>(size));
  need(rte_ipsec_sa_init(session_.sa, &prm, static_cast<uint32_t>(size)) > 0, "the association is not right");
  need(rte_ipsec_session_prepare(&session_) == 0, "the session is not right");
}

rte_mbuf* Judge::judge(const uint8_t* frame, uint32_t bytes) {
  rte_mbuf* packet = rte_pktmbuf_alloc(packets_);
  need(packet != nullptr, "no packet");
  std::memcpy(rte_pktmbuf_append(packet, static_cast<uint16_t>(bytes)), frame, bytes);
  packet->l2_len = kLink;
  packet->l3_len = frame[kLink] >> 4 == 6 ? 40 : (frame[kLink] & 15) * 4;
  rte_crypto_op* operation = rte_crypto_op_alloc(operations_, RTE_CRYPTO_OP_TYPE_SYMMETRIC);
  bool good = rte_ipsec_pkt_crypto_prepare(&session_, &packet, &operation, 1) == 1;
  if (good) {
    need(rte_cryptodev_enqueue_burst(0, 0, &operation, 1) == 1, "the crypto device takes nothing");
    while (rte_cryptodev_dequeue_burst(0, 0, &operation, 1) == 0) {
    }
    if (operation->status != RTE_CRYPTO_OP_STATUS_SUCCESS) packet->ol_flags |= RTE_MBUF_F_RX_SEC_OFFLOAD_FAILED;
    good = rte_ipsec_pkt_process(&session_, &packet, 1) == 1;
  }
  rte_crypto_op_free(operation);
  if (good) return packet;
  rte_pktmbuf_free(packet);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  need(argc > 4, "usage: librte_ipsec out|in IN.pcap OUT.pcap WORD=VALUE ...");
  const char* eal[] = {"librte_ipsec",
                       "--no-shconf",
                       "--no-huge",
                       "-m",
                       "128",
                       "--no-pci",
                       "--no-telemetry",
                       "--log-level=error",
                       "-l",
                       "0",
                       "--vdev=crypto_openssl0"};
  need(rte_eal_init(std::size(eal), const_cast<char**>(eal)) >= 0, "DPDK does not start");
  Judge judge(std::strcmp(argv[1], "out") == 0, Words(argc - 4, argv + 4));
  char error[PCAP_ERRBUF_SIZE];
  pcap_t* const in = pcap_open_offline(argv[2], error);
  need(in != nullptr, "cannot read the capture");
  pcap_t* const as = pcap_open_dead(DLT_EN10MB, 65535);
  pcap_dumper_t* const to = pcap_dump_open(as, argv[3]);
  need(to != nullptr, "cannot write the capture");
  pcap_pkthdr* record;
  for (const u_char* frame; pcap_next_ex(in, &record, &frame) == 1;) {
    rte_mbuf* const packet = judge.judge(frame, record->caplen);
    std::puts(packet == nullptr ? "bad" : "good");
    if (packet == nullptr) continue;
    // What a tunnel has had before the packet is gone.
    const auto* const ip = rte_pktmbuf_mtod(packet, const uint8_t*) + packet->l2_len;
    const uint32_t bytes = rte_pktmbuf_data_len(packet) - static_cast<uint32_t>(packet->l2_len);
    Bytes whole(kLink + bytes);
    std::memcpy(&whole[kLink], ip, bytes);
    whole[12] = ip[0] >> 4 == 6 ? 0x86 : 0x08, whole[13] = ip[0] >> 4 == 6 ? 0xdd : 0x00;
    pcap_pkthdr head{};
    head.caplen = head.len = static_cast<uint32_t>(whole.size());
    pcap_dump(reinterpret_cast<u_char*>(to), &head, whole.data());
    rte_pktmbuf_free(packet);
  }
  pcap_dump_close(to);
  return 0;
}
