// A program that needs running_library.cc, and names it as its auditor (ld.so(8)).
namespace rocksdb {

class Env {
 public:
  static Env* Default();
};

}  // namespace rocksdb

int main() { return rocksdb::Env::Default() == nullptr ? 0 : 1; }
