// Short names for Clang's thread-safety attributes; empty for other compilers. The Clang preset makes violations errors.
#pragma once

#if defined(__clang__)
#define ZENFS_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define ZENFS_THREAD_ATTRIBUTE(x)
#endif

#define CAPABILITY(x) ZENFS_THREAD_ATTRIBUTE(capability(x))
#define SCOPED_CAPABILITY ZENFS_THREAD_ATTRIBUTE(scoped_lockable)
#define GUARDED_BY(x) ZENFS_THREAD_ATTRIBUTE(guarded_by(x))
#define PT_GUARDED_BY(x) ZENFS_THREAD_ATTRIBUTE(pt_guarded_by(x))
#define REQUIRES(...) ZENFS_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) ZENFS_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RELEASE(...) ZENFS_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) ZENFS_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define EXCLUDES(...) ZENFS_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define ASSERT_CAPABILITY(x) ZENFS_THREAD_ATTRIBUTE(assert_capability(x))
#define RETURN_CAPABILITY(x) ZENFS_THREAD_ATTRIBUTE(lock_returned(x))
#define NO_THREAD_SAFETY_ANALYSIS ZENFS_THREAD_ATTRIBUTE(no_thread_safety_analysis)
