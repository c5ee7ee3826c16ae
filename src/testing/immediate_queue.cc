#include "testing/immediate_queue.h"

namespace zenfs {

void ImmediateQueue::Submit(IoRequest* request) {
  switch (request->kind) {
    case IoRequest::Kind::kRead: request->status = device_.Read(request->offset, request->read_into); break;
    case IoRequest::Kind::kWrite:
      request->status = device_.Write(request->offset, request->write_from);
      break;
    case IoRequest::Kind::kAppend: {
      const auto place = device_.Append(device_.geometry().ZoneOf(request->offset), request->write_from);
      request->status = place ? Status{} : Fail(place.error());
      if (place) request->placed_at = *place;
      break;
    }
  }
  finished_.push_back(request);
}

void ImmediateQueue::Reap(std::size_t, std::vector<IoRequest*>& done) {
  done.insert(done.end(), finished_.begin(), finished_.end());
  finished_.clear();
}

}  // namespace zenfs
