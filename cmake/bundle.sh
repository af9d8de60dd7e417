#!/bin/sh
# Usage: bundle.sh BUILD_FOLDER OUTPUT_FOLDER COMMIT
# Puts programs, tests and the shared libraries that they need into one folder, which runs on any x86-64 Linux with
# glibc 2.36 or later; the GPU's driver is the only thing that it takes from there.
set -eu
build=$1 out=$2 commit=$3

rm -rf "$out"
mkdir -p "$out/lib"
cp "$build/heddle" "$build/bench/heddle_bench" "$build/tests/heddle_test" "$build/tests/libfake_nvml.so" "$out/"
strip --strip-debug "$out"/heddle*
cp -r chains "$out/"
echo "$commit" > "$out/COMMIT"
# python3 figures run: measures the papers' figures there; they are drawn elsewhere.
mkdir -p "$out/figures/chains"; cp bench/figures/*.py "$out/figures/"; cp bench/figures/chains/* "$out/figures/chains/"
# python3 soak/soak.py ./heddle: changes under load, for as long as one likes.
mkdir -p "$out/soak/whole"; cp tests/soak.py "$out/soak/"; cp tests/whole/program.py tests/whole/control.py tests/whole/memif.py "$out/soak/whole/"

# Everything but glibc itself, which belongs to the machine. The programs look into lib/ first (their RPATH).
for program in "$out"/heddle*; do ldd "$program"; done |
  awk '$3 ~ /^\// {print $3}' | sort -u |
  grep -Ev '/(libc|libm|libdl|librt|libpthread|libresolv|libnss_[a-z]*|ld-linux[^/]*)\.so' |
  while read -r library; do cp -L "$library" "$out/lib/"; done

cat > "$out/gpu-test" <<'TEST'
#!/bin/sh
# All tests, on every backend; a GPU that cannot be used is a failure. Then the demo chain on CPU and GPU: same bytes?
#
# Usage: gpu-test [--sanitize] [OPTION OF GTEST...]
# --sanitize: before that, the tests in launch mode sync under compute-sanitizer's memcheck, and all but the
# longest under racecheck; an error if there is no compute-sanitizer.
set -eu
cd "$(dirname "$0")"
if [ "${1:-}" = --sanitize ]; then
  shift
  PATH=$PATH:/usr/local/cuda/bin
  command -v compute-sanitizer >/dev/null || {
    echo "gpu-test: --sanitize needs compute-sanitizer, which comes with the CUDA toolkit" >&2
    exit 1
  }
  sanitized='*gpu_sync*-*GpuLoss*' # whose kernels trap
  slow='*EveryPlace*:*AtAnyLengthAndAddress*:*WhatWaitsOutlives*'
  # A filter that finds nothing would pass.
  ./heddle_test --gtest_list_tests --gtest_filter="$sanitized:$slow" | grep -q '^  ' || {
    echo "gpu-test: no test is named $sanitized" >&2
    exit 1
  }
  for tool in memcheck racecheck; do
    [ "$tool" = memcheck ] || sanitized=$sanitized:$slow
    HEDDLE_REQUIRE_GPU=1 compute-sanitizer --tool "$tool" --error-exitcode 1 \
      ./heddle_test --gtest_brief=1 --gtest_filter="$sanitized"
    echo "compute-sanitizer $tool: no errors"
  done
fi
HEDDLE_REQUIRE_GPU=1 HEDDLE_STRESS=1 ./heddle_test "$@"  # names each test as it begins: one that hangs is the last
work=$(mktemp -d)
nic=
trap 'rm -rf "$work"; [ -z "$nic" ] || kill $nic' EXIT
for device in cpu gpu; do
  for launch in sync persistent; do
    mkdir "$work/$device-$launch"
    ./heddle run --quiet --device "$device" --launch "$launch" chains/demo.click OUT="$work/$device-$launch/out"
    [ -s "$work/$device-$launch/out_inside.pcap" ]
    diff -r "$work/cpu-sync" "$work/$device-$launch"
  done
done
echo "same: the demo chain's outputs are identical on CPU and GPU, sync and persistent"
for device in cpu gpu; do
  ./heddle run --quiet --device "$device" chains/transports.click OUT="$work/ways-$device"
  cmp "$work/ways-cpu.pcap" "$work/ways-$device.pcap"
done
echo "same: so are those of transports.click, each function with a way of its own"
# These run until they are interrupted: when the output has not grown for three seconds.
for chain in gpu_router gpu_nids; do
  for device in simt gpu; do
    out=$work/$chain-${device}_out.pcap size=0 before=-1
    ./heddle run --quiet --device "$device" "chains/$chain.click" OUT="$work/$chain-$device" &
    while kill -0 $! && { [ "$size" = 0 ] || [ "$size" != "$before" ]; }; do
      sleep 3
      before=$size size=$(stat -c %s "$out" 2>/dev/null || echo 0)
    done
    kill -INT $!
    wait $!
  done
  for device in simt gpu; do  # whenever they left
    ./heddle run --quiet -e "FromDump($work/$chain-${device}_out.pcap) -> SetTimestamp(0) -> ToDump($work/$device.pcap)"
  done
  cmp "$work/simt.pcap" "$work/gpu.pcap"
done
echo "same: so are those of the router and the NIDS between GPU ports, on simt and the GPU"
for device in simt gpu; do
  out=$work/nic-$device.pcap size=0 before=-1
  ./heddle softnic "$work/nic-$device" "net_pcap0,rx_pcap=chains/traffic.pcap,tx_pcap=$out" --device "$device" >/dev/null &
  nic=$!
  ./heddle run --quiet --device "$device" \
    -e "FromGPUPort(wire, NIC_SOCKET $work/nic-$device) -> EtherMirror -> ToGPUPort(wire)" &
  while kill -0 $! && kill -0 $nic && { [ "$size" -le 24 ] || [ "$size" != "$before" ]; }; do
    sleep 3
    before=$size size=$(stat -c %s "$out" 2>/dev/null || echo 0)
  done
  kill -INT $!
  wait $!
  kill -TERM $nic
  wait $nic
  nic=
  ./heddle run --quiet -e "FromDump($out) -> SetTimestamp(0) -> ToDump($work/$device.pcap)"
done
cmp "$work/simt.pcap" "$work/gpu.pcap"
echo "same: so are those of a soft NIC in a process of its own"
TEST
cat > "$out/gpu-bench" <<'BENCH'
#!/bin/sh
# The benchmarks that need a GPU, or those named. Results also go to $HEDDLE_BENCH_JSON if that is set.
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- --gpu
[ -z "${HEDDLE_BENCH_JSON:-}" ] || set -- --json "$HEDDLE_BENCH_JSON" "$@"
exec ./heddle_bench --commit "$(cat COMMIT)" "$@"
BENCH
chmod +x "$out/gpu-test" "$out/gpu-bench"
du -sh "$out"
