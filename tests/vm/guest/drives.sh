# Sourced by the share's file `job`, with the serial numbers of the guest's NVMe drives as arguments: waits until the
# kernel has found them all and puts their names into the environment, LAB_MAIN=nvme0n1 for the serial number main.
for serial in "$@"; do
  name=''
  for _ in $(seq 200); do
    for controller in /sys/class/nvme/*; do
      if [ "$(tr -d ' ' <"$controller/serial" 2>/dev/null)" = "$serial" ]; then
        name=$(basename "$(ls -d "$controller"/nvme*n* 2>/dev/null)")
      fi
    done
    if [ -b "/dev/$name" ]; then break; fi
    sleep 0.05
  done
  if [ ! -b "/dev/$name" ]; then echo "the kernel does not find the drive $serial"; exit 99; fi
  # As packaging/udev does it. With more than one processor a 6.1 kernel gives NVMe drives no scheduler.
  case $(uname -r) in
    6.1.*) if grep -q host-managed "/sys/block/$name/queue/zoned"; then echo mq-deadline >"/sys/block/$name/queue/scheduler"; fi ;;
  esac
  export "LAB_${serial^^}=$name"
done
