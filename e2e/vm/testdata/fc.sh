# volnode serves disks of Fibre Channel, over Ethernet, of ports of the machine's own kernel: by one port and by two, by
# a WWID, with a filesystem and as they are. Ports are lost under a pod that writes, a number is given to another disk,
# volnode is killed. Any command that fails ends it.
. ./iscsi-lib.sh

modprobe -a fcoe tcm_fc
# Two cables, each with a port of the node at one end and one of an array at the other.
node_port() { echo "20:00:02:fc:00:00:00:0$1"; }
array_port() { echo "20:00:02:fc:00:00:0$1:02"; }
wwn() { array_port "$1" | tr -d :; }
group() { echo "$config/fc/$(array_port "$1")/tpgt_1"; }
# fc_lun PORT NUMBER DISK: in place of what it has
fc_lun() {
	local at=$(group "$1")
	local mapped="$at/acls/$(node_port "$1")/lun_$2"
	for dir in "$mapped" "$at/lun/lun_$2"; do
		test ! -d "$dir" || { rm "$dir/link" && rmdir "$dir"; }
	done
	mkdir "$at/lun/lun_$2"
	ln -s "$config/core/fileio_0/$3" "$at/lun/lun_$2/link"
	test -d "$mapped" || mkdir "$mapped"
	test -L "$mapped/link" || ln -s "$at/lun/lun_$2" "$mapped/link"
}
# meets INTERFACE: it becomes a port
meets() {
	echo "$1" >/sys/bus/fcoe/ctlr_create
	local at=$(ls -d /sys/bus/fcoe/devices/ctlr_* | sort -V | tail -n 1)
	echo VN2VN >"$at/mode"
	echo 1 >"$at/enabled"
}
cut_cable() { ip link set "fct$1" down; }
join_cable() { ip link set "fct$1" up; }
sees() { grep -l "0x$(wwn "$1")" /sys/class/fc_remote_ports/*/port_name; }

disk one 32
disk large 320
disk named 16
disk tenant 16
disk two 32
disk raw 16
for n in 1 2; do
	ip link add "fci$n" type veth peer name "fct$n"
	ip link set "fci$n" address "02:fc:00:00:00:0$n" mtu 2500 up
	ip link set "fct$n" address "02:fc:00:00:0$n:02" mtu 2500 up
	mkdir -p "$(group "$n")/acls/$(node_port "$n")"
	fc_lun "$n" 4 two
	fc_lun "$n" 5 raw
done
fc_lun 1 0 one
fc_lun 1 1 large
fc_lun 1 2 named

# fc_volume NAME FIELDS [MORE]: a PersistentVolume with its claim
fc_volume() {
	manifest "volume-$1" <<EOF
apiVersion: v1
kind: PersistentVolume
metadata: {name: $1}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  claimRef: {namespace: default, name: $1}
  fc: {$2}
  volumeMode: ${3:-Filesystem}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $1}
spec: {accessModes: [ReadWriteOnce], volumeMode: ${3:-Filesystem}, resources: {requests: {storage: 1Gi}}, volumeName: $1}
EOF
}
fc_at() { echo "$root/pods/3f0e1d5c-0000-4000-8000-00000000000$1/volumes/kubernetes.io~fc/$2"; }
fc_clean() { soon is_clean; }
is_clean() {
	not grep -e /pods/ -e "$root/plugins" /proc/mounts && test -z "$(ls "$root/pods")" &&
		test -z "$(ls "$root/plugins/kubernetes.io/fc")" && no_maps
}
fc_volume one "targetWWNs: ['$(wwn 1)'], lun: 0"
fc_volume large "targetWWNs: ['$(wwn 1)'], lun: 1, fsType: xfs"
fc_volume named "wwids: ['3$(wwid named | cut -c 5-)']"
fc_volume two "targetWWNs: ['$(wwn 1)', '$(wwn 2)'], lun: 4"
fc_volume raw "targetWWNs: ['$(wwn 1)', '$(wwn 2)'], lun: 5" Block

# Nothing sees the port yet.
start
pod web 1 one
says web 'this node has no Fibre Channel port' "$(wwn 1)"
meets fct1
meets fci1
ready web
remove web
gone web
fc_clean

# Filesystems by a port and by a WWID: the next pod finds what was written.
for name in one large named; do
	pod web 1 "$name"
	ready web
	dd if=/dev/urandom of="$(fc_at 1 "$name")/file" bs=1k count=4096
	before=$(sum "$(fc_at 1 "$name")/file")
	remove web
	gone web
	fc_clean
	pod web 2 "$name"
	ready web
	test "$(sum "$(fc_at 2 "$name")/file")" = "$before"
	remove web
	gone web
	fc_clean
done
blkid -p -o export /tmp/disk-large | grep -x TYPE=xfs

# While the pod is away, its number is given to the disk of another tenant.
mkfs.ext4 -q /tmp/disk-tenant
tenant=$(sum /tmp/disk-tenant)
fc_lun 1 0 tenant
pod web 3 one
says web "$(wwid one)" "$(wwid tenant)"
not ready web 5s
test "$(sum /tmp/disk-tenant)" = "$tenant"
fc_lun 1 0 one
ready web
test "$(sum /tmp/disk-tenant)" = "$tenant"

# A pod that writes, and says how far it is: its port is lost for a while.
write() { while test -e /tmp/writes; do
	echo line >>"$(fc_at "$1" "$2")/lines"
	sync "$(fc_at "$1" "$2")/lines"
	echo . >>/tmp/written
	sleep 0.1
done; }
written() { wc -l </tmp/written; }
wrote() { test "$(written)" -gt $((before + 5)); }
goes_on() { before=$(written) && soon wrote; }
# writes UID-END VOLUME
writes() {
	touch /tmp/writes
	: >/tmp/written
	({ set +x; } 2>/dev/null; write "$1" "$2") 2>/tmp/complaints &
	writer=$!
}
has_written() {
	rm /tmp/writes
	wait "$writer"
	not grep . /tmp/complaints
	test "$(wc -l <"$1/lines")" = "$(written)"
}
mounts() { grep -e /pods/ -e "$root/plugins" /proc/self/mountinfo; }
writes 3 one
goes_on
mounted=$(mounts)
cut_cable 1
says web "the port $(wwn 1) does not answer" 'look at the fabric and the array'
volnode status | grep 'INACCESSIBLE PortSilent'
join_cable 1
goes_on
says web 'state Ready'
stop
start
ready web
goes_on
test "$(mounts)" = "$mounted"
has_written "$(fc_at 3 one)"
remove web
gone web
fc_clean

# Two ports: the map of both paths, of which one after the other is lost.
multipathd_takes strict
meets fct2
meets fci2
soon sees 2
pod web 4 two
ready web
grep " $root/plugins/kubernetes.io/fc/[^ ]* ext4" /proc/mounts
has_paths() { test "$(cat /sys/block/dm-*/slaves/*/device/state | grep -c running)" = "$1"; }
soon has_paths 2
writes 4 two
goes_on
mounted=$(mounts)
for cable in 2 1; do
	cut_cable "$cable"
	says web 'has 1 of 2 paths' "the port $(wwn "$cable") does not answer"
	volnode status | grep PathLost
	goes_on
	join_cable "$cable"
	soon has_paths 2
	says web 'state Ready'
done
stop
start
ready web
goes_on
test "$(mounts)" = "$mounted"
has_written "$(fc_at 4 two)"
before=$(sum "$(fc_at 4 two)/lines")
remove web
gone web
fc_clean
pod web 5 two
ready web
test "$(sum "$(fc_at 5 two)/lines")" = "$before"
remove web
gone web
fc_clean

# A pod has a disk of two ports as it is.
manifest web <<EOF
apiVersion: v1
kind: Pod
metadata: {name: web, uid: 3f0e1d5c-0000-4000-8000-000000000006}
spec:
  containers: [{name: app, image: none, volumeDevices: [{name: v, devicePath: /dev/x}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: raw}}]
EOF
ready web
device="$root/pods/3f0e1d5c-0000-4000-8000-000000000006/volumeDevices/kubernetes.io~fc/raw"
dd if=/dev/urandom of=/tmp/bytes bs=1M count=4
dd if=/tmp/bytes of="$device" bs=1M conv=fsync
holds_bytes() { test "$(head -c 4M "$1" | sha256sum)" = "$(sha256sum </tmp/bytes)"; }
cut_cable 1
echo 3 >/proc/sys/vm/drop_caches
holds_bytes "$device"
join_cable 1
remove web
gone web
fc_clean
holds_bytes /tmp/disk-raw
kill "$agent"
wait "$agent"
