# Sourced by the jobs of lab/crash_load.py, in the boot number $turn: makes the file system in the first one, in all later
# ones checks what the crash left; then starts the load, which goes on until it is crashed, but not in the boot $last.
# $device: as in URIs. $trace: a library to be preloaded into all that writes, or nothing.
set -e
uri=zenfs://$device
export ZENFS_DEVICE_TRACE=$LAB_SHARE/trace
traced() { LD_PRELOAD=$trace "$@"; }
step() {  # step NAME: also for the host, which waits for it
  echo "boot $turn, $(cut -d' ' -f1 /proc/uptime) s: $1"
  touch "$LAB_SHARE/$1.$turn"
}

step mounting
if [ "$turn" = 1 ]; then
  traced "$LAB_BINARIES/zenfs" mkfs --uri="$uri"
else
  traced "$LAB_BINARIES/zenfs_crash_load" "$uri" "$LAB_SHARE" verify
  step checking
  "$LAB_BINARIES/zenfs" check --read-data --uri="$uri"
fi
step loading
if [ "$turn" = "$last" ]; then exit 0; fi
traced "$LAB_BINARIES/zenfs_crash_load" "$uri" "$LAB_SHARE" write "$seed" "$acknowledgements"
