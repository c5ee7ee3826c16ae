#include "backends/nvme/nvme_status.h"

#include <libnvme.h>

#include <cerrno>

namespace zenfs {
namespace {

constexpr int kCodeAndType = 0x7ff;

}  // namespace

int NvmeErrno(int status) {
  switch (status & kCodeAndType) {
    case NVME_SC_SUCCESS: return 0;
    case NVME_SC_LBA_RANGE: return ENOSPC;
    case NVME_SC_NS_NOT_READY: return EAGAIN;
    case (NVME_SCT_CMD_SPECIFIC << 8) | NVME_SC_ZNS_TOO_MANY_ACTIVE: return EOVERFLOW;
    case (NVME_SCT_CMD_SPECIFIC << 8) | NVME_SC_ZNS_TOO_MANY_OPENS: return ETOOMANYREFS;
    // As for the open slots of a drive, waiting helps; the block layer has no such error.
    case (NVME_SCT_CMD_SPECIFIC << 8) | NVME_SC_ZNS_ZRWA_RESOURCES_UNAVAILABLE: return EBUSY;
    case (NVME_SCT_MEDIA << 8) | NVME_SC_READ_ERROR: return ENODATA;
    case (NVME_SCT_MEDIA << 8) | NVME_SC_ACCESS_DENIED: return EACCES;
    default: return EIO;
  }
}

const char* NvmeStatusName(int status) { return nvme_status_to_string(status & kCodeAndType, false); }

CommandResult NvmeResult(int answer) {
  if (answer == 0) return {};
  if (answer < 0) return {.os_errno = errno};
  return {.os_errno = NvmeErrno(answer), .status = NvmeStatusName(answer)};
}

}  // namespace zenfs
