"""Files whose headers, and other functions, say what gopt does not understand: that is none of its business."""

from pathlib import Path

import pytest
import support
from gopt.errors import Refusal
from gopt.profile import propose
from gopt.transform import transform

LOOKUP = """\
#include "gopt.h"
void look(const uint32_t* t, uint32_t* out, int n) {
  foreach (i, n) {
    g_expensive(&t[i]);
    out[i] = t[i];
  }
}
"""
DPDK = Path("/usr/include/dpdk")
PACKETS = """\
#include <rte_ether.h>
#include <rte_hash.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include "gopt.h"
uint64_t count(struct rte_mbuf** packets, const uint16_t* ports, uint16_t* out, int n);
uint64_t count(struct rte_mbuf** packets, const uint16_t* ports, uint16_t* out, int n) {
  uint64_t bytes = 0;
  foreach (i, n) {
    const struct rte_mbuf* packet = packets[i];
    g_expensive(packet);
    const struct rte_ether_hdr* ether = rte_pktmbuf_mtod(packet, const struct rte_ether_hdr*);
    g_expensive(ether);
    if (ether->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)) continue;
    const struct rte_ipv4_hdr* ip = (const struct rte_ipv4_hdr*)(ether + 1);
    const uint16_t* port = &ports[rte_be_to_cpu_32(ip->dst_addr) >> 8];
    g_expensive(port);
    out[i] = *port;
    bytes += packet->pkt_len;
  }
  return bytes;
}
"""
ELSEWHERE = {
    "assembler": 'static inline void q(void) { asm volatile("nop" ::: "memory"); __asm__ __volatile__("nop"); }',
    "typeof": "static inline int q(int k) { typeof(k) a = k; __typeof__(a) b = a; __auto_type c = b; return c; }",
    "a statement in an expression": "static inline int q(int k) { return ({ int z = k; z + 1; }); }",
    "a conditional without its middle": "static inline int q(int k) { return k ?: 1; }",
    "a range of cases": "static inline int q(int k) { switch (k) { case 1 ... 5: return 3; default: return 1; } }",
    "thread-local": "static __thread int local; static inline int q(int k) { static __thread int more; return k + local + more; }",
    "a generic selection": "static inline int q(int k) { return _Generic(k, int: 1, default: 2); }",
    "variable arguments": "#include <stdarg.h>\nstatic inline int q(int k, ...) {\n  va_list a;\n  va_start(a, k);\n"
    "  k = va_arg(a,\n int);\n  va_end(a);\n  return k;\n}",
    "typeof at file scope": "extern __typeof__(unsigned int) shared; static __typeof(1 + 1) own __attribute__((unused));",
    "assembler at file scope": '__asm__(".globl some_name");',
}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_headers_of_the_compiler_and_its_library(tmp_path, monkeypatch, compiler):
    monkeypatch.setenv("CC", compiler)
    names = ("complex", "immintrin", "math", "stdint", "stdio", "stdlib", "string", "x86intrin")
    (tmp_path / "in.c").write_text("".join(f"#include <{name}.h>\n" for name in names) + LOOKUP)
    (tmp_path / "made.c").write_text(transform(str(tmp_path / "in.c")))
    support.compile_c(tmp_path, "made.c", "-O2", *support.WARNINGS, compiler=compiler)


def test_vectors_and_small_floats_within_lookups_are_refused(tmp_path):
    text = "#include <stdint.h>\n" + LOOKUP.replace("    out", "    _Float64x x = 0.5;\n    out")
    (tmp_path / "in.c").write_text(text)
    with pytest.raises(Refusal, match=r"in.c:6: a type that gopt does not know"):
        transform(str(tmp_path / "in.c"))


@pytest.mark.skipif(not DPDK.exists(), reason="no DPDK")
def test_a_lookup_over_dpdks_packets(tmp_path):
    flags = [f"-isystem{DPDK}", f"-isystem/usr/include/x86_64-linux-gnu/{DPDK.name}", "-mssse3"]
    (tmp_path / "in.c").write_text(PACKETS)
    (tmp_path / "made.c").write_text(transform(str(tmp_path / "in.c"), [f.replace("-isystem", "-I") for f in flags]))
    support.compile_c(tmp_path, "made.c", "-O2", *flags, *support.WARNINGS)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_functions_that_lookups_do_not_need(tmp_path, name):
    (tmp_path / "in.c").write_text("#include <stdint.h>\n" + ELSEWHERE[name] + "\n" + LOOKUP)
    made = transform(str(tmp_path / "in.c"))
    assert ELSEWHERE[name] in made
    (tmp_path / "made.c").write_text(made)
    support.compile_c(tmp_path, "made.c", "-O2", *support.WARNINGS)


def test_marks_are_proposed_beside_such_functions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "#include <stdint.h>\n" + ELSEWHERE["typeof"] + "\n" + LOOKUP.replace("    g_expensive(&t[i]);\n", "")
    Path("in.c").write_text(text)
    Path("perf.txt").write_text("  100.00 :   1233:   mov    (%rax),%edx // in.c:6\n")
    assert "+    g_expensive(&t[i]);" in propose("in.c", [], "perf.txt")
