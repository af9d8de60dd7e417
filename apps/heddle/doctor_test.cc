#include "apps/heddle/doctor.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace heddle {
namespace {

std::map<std::string, Finding> by_name(const std::vector<Finding>& findings) {
  std::map<std::string, Finding> list;
  for (const Finding& finding : findings) list[finding.what] = finding;
  return list;
}

std::map<std::string, Finding> of_gpu(int major, int minor, const char* architectures,
                                      gpu::ComputeMode mode = gpu::ComputeMode::shared) {
  gpu::DeviceInfo gpu;
  gpu.name = "gpu3", gpu.major = major, gpu.minor = minor;
  return by_name(examine_gpu(gpu, architectures, mode));
}

// Machine code runs on its major number from its minor on, PTX on all that is newer.
TEST(Doctor, KnowsWhereTheKernelsRun) {
  struct Case {
    int major, minor;
    const char* architectures;
    Finding::State state;
  };
  for (const Case& each : {Case{9, 0, "80-real,90", Finding::good},
                           {8, 0, "80-real,90", Finding::good},
                           {8, 9, "80-real,90", Finding::good},
                           {10, 0, "80-real,90", Finding::note},
                           {12, 1, "80-real,90", Finding::note},
                           {7, 5, "80-real,90", Finding::bad},
                           {8, 0, "86-real", Finding::bad},
                           {9, 0, "80-real", Finding::bad},
                           {9, 0, "80-virtual", Finding::note},
                           {9, 0, "90a", Finding::good},
                           {10, 0, "90a", Finding::bad},
                           {10, 3, "100f-real", Finding::bad},
                           {10, 0, "100a-real", Finding::good},
                           {9, 0, "native", Finding::good}}) {
    const auto name = std::to_string(each.major) + "." + std::to_string(each.minor) + " on " + each.architectures;
    const Finding finding = of_gpu(each.major, each.minor, each.architectures).at("gpu3 compute capability");
    EXPECT_EQ(finding.state, each.state) << name << ": " << finding.is;
    EXPECT_NE(finding.is.find(each.architectures), std::string::npos) << finding.is;
    EXPECT_EQ(finding.remedy.empty(), each.state == Finding::good) << finding.remedy;
  }
  EXPECT_NE(of_gpu(7, 5, "80-real,90").at("gpu3 compute capability").remedy.find("CUDAARCHS=75"), std::string::npos);
}

TEST(Doctor, KnowsWhoMayUseAGpu) {
  const auto mode = [](gpu::ComputeMode mode) { return of_gpu(9, 0, "90", mode).at("gpu3 compute mode"); };
  EXPECT_EQ(mode(gpu::ComputeMode::shared).state, Finding::good);
  EXPECT_EQ(mode(gpu::ComputeMode::exclusive).state, Finding::note);
  EXPECT_EQ(mode(gpu::ComputeMode::prohibited).state, Finding::bad);
  for (const auto held : {gpu::ComputeMode::exclusive, gpu::ComputeMode::prohibited})
    EXPECT_NE(mode(held).remedy.find("nvidia-smi -c DEFAULT"), std::string::npos);
}

// A container shows no PCI bus, and perhaps not all of /proc; what it shows is said.
TEST(Doctor, SaysWhatAContainerShows) {
  char folder[] = "/tmp/heddle_doctor_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string root = folder;
  std::filesystem::create_directories(root + "/proc");
  std::ofstream(root + "/proc/modules") << "nvidia_peermem 16384 0 - Live 0x0\n";
  auto found = by_name(examine_machine(root, true));
  EXPECT_EQ(found.at("PCI bus").state, Finding::note);
  EXPECT_EQ(found.at("GPUDirect RDMA").state, Finding::good);
  EXPECT_TRUE(found.contains("NVRTC"));
  EXPECT_FALSE(found.contains("driver")) << "CUDA works, so there is one";
  EXPECT_FALSE(found.contains("device files"));
  std::filesystem::create_directories(root + "/proc/driver/nvidia");
  std::ofstream(root + "/proc/driver/nvidia/version") << "NVRM version: 580.65.06\n";
  found = by_name(examine_machine(root, true));
  EXPECT_EQ(found.at("driver").is, "NVRM version: 580.65.06");
  found = by_name(examine_machine(root, false));
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("GPU").state, Finding::bad);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace heddle
