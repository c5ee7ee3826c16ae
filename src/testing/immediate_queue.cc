#include "testing/immediate_queue.h"

namespace zenfs {

void CarryOut(ZonedDevice& device, IoRequest& request) {
  switch (request.kind) {
    case IoRequest::Kind::kRead: request.status = device.Read(request.offset, request.read_into); return;
    case IoRequest::Kind::kWrite: request.status = device.Write(request.offset, request.write_from); return;
    case IoRequest::Kind::kAppend: {
      const auto place = device.Append(device.geometry().ZoneOf(request.offset), request.write_from);
      request.status = place ? Status{} : Fail(place.error());
      if (place) request.placed_at = *place;
      return;
    }
  }
}

void ImmediateQueue::Submit(IoRequest* request) {
  CarryOut(device_, *request);
  finished_.push_back(request);
}

void ImmediateQueue::Reap(std::size_t, std::vector<IoRequest*>& done) {
  done.insert(done.end(), finished_.begin(), finished_.end());
  finished_.clear();
}

}  // namespace zenfs
