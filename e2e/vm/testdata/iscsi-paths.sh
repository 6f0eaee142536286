# volnode serves disks of a real target with two portals, by the maps that multipathd makes: paths are lost under a pod
# that writes, one by one and all, a person ends a session, volnode is killed, pods have a disk as it is. Then multipathd
# takes each disk, also of one portal. Any command that fails ends it.
. ./iscsi-lib.sh

multipathd_takes strict

target twin 1 2
target plain 1
disk data 32
disk raw 16
disk alone 32
lun twin 0 data
lun twin 1 raw
lun plain 0 alone
volume data twin 0 'portals: [10.77.2.2]'
volume alone plain 0
mounts() { grep -e /pods/ -e "$root/plugins" /proc/self/mountinfo; }

start
pod web 1 data
ready web
has_sessions twin 2
grep " $root/plugins/kubernetes.io/iscsi/[^ ]* ext4" /proc/mounts | grep ^/dev/
has_paths() { test "$(cat /sys/block/dm-*/slaves/*/device/state | grep -c running)" = "$1"; }
has_paths 2
write() { while test -e /tmp/writes; do
	echo line >>"$(at "$1" data)/lines"
	sync "$(at "$1" data)/lines"
	echo . >>/tmp/written
	sleep 0.1
done; }
touch /tmp/writes /tmp/written
({ set +x; } 2>/dev/null; write 1) 2>/tmp/complaints &
writer=$!
written() { wc -l </tmp/written; }
wrote() { test "$(written)" -gt $((before + 5)); }
goes_on() { before=$(written) && soon wrote; }
goes_on
mounted=$(mounts)

# One path after the other is lost, and comes back.
for cable in 2 1; do
	unplug "$cable"
	says web 'has 1 of 2 paths' "the portal 10.77.$cable.2:3260 does not answer"
	volnode status | grep 'PathLost'
	goes_on
	plug "$cable"
	soon has_paths 2
	says web 'state Ready'
done
test "$(mounts)" = "$mounted"

# All are lost. What the pod writes waits, nothing is detached, and it goes on.
unplug 1
unplug 2
says web 'no path to LUN 0 of iqn.2026-01.example:twin is left'
volnode status | grep 'INACCESSIBLE NoPath'
test "$(mounts)" = "$mounted"
plug 1
plug 2
goes_on
says web 'state Ready'
test "$(mounts)" = "$mounted"

# A person ends a session: volnode makes it again under the pod.
iscsiadm -m node -T iqn.2026-01.example:twin -p 10.77.2.2 --logout
goes_on
for minute in 1 2 3; do
	! soon has_sessions twin 2 || break
done
has_sessions twin 2
soon has_paths 2
goes_on

# volnode is killed, with a path lost meanwhile.
stop
unplug 2
start
ready web
goes_on
plug 2
soon has_paths 2
test "$(mounts)" = "$mounted"
rm /tmp/writes
wait "$writer"
not grep . /tmp/complaints
test "$(wc -l <"$(at 1 data)/lines")" = "$(written)"
before=$(sum "$(at 1 data)/lines")
remove web
gone web
clean
no_maps

# The next pod comes while a portal is away, and has all that was written.
unplug 1
pod web 2 data
ready web 240s
test "$(sum "$(at 2 data)/lines")" = "$before"
plug 1
soon has_paths 2 || soon has_paths 2
remove web
gone web
clean
no_maps

# Two pods have a disk as it is.
manifest volume-raw <<EOF
apiVersion: v1
kind: PersistentVolume
metadata: {name: raw}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  volumeMode: Block
  claimRef: {namespace: default, name: raw}
  iscsi: {targetPortal: 10.77.1.2, portals: [10.77.2.2], iqn: iqn.2026-01.example:twin, lun: 1}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: raw}
spec: {accessModes: [ReadWriteOnce], volumeMode: Block, resources: {requests: {storage: 1Gi}}, volumeName: raw}
EOF
raw_pod() { manifest "$1" <<EOF
apiVersion: v1
kind: Pod
metadata: {name: $1, uid: 3f0e1d5c-0000-4000-8000-00000000000$2}
spec:
  containers: [{name: app, image: none, volumeDevices: [{name: v, devicePath: /dev/x}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: raw}}]
EOF
}
raw_at() { echo "$root/pods/3f0e1d5c-0000-4000-8000-00000000000$1/volumeDevices/kubernetes.io~iscsi/raw"; }
holds_bytes() { test "$(head -c 4M "$1" | sha256sum)" = "$(head -c 4M /tmp/bytes | sha256sum)"; }
raw_pod one 3
raw_pod two 4
ready one
ready two
dd if=/dev/urandom of=/tmp/bytes bs=1M count=4
dd if=/tmp/bytes of="$(raw_at 3)" bs=1M conv=fsync
echo 3 >/proc/sys/vm/drop_caches
holds_bytes "$(raw_at 4)"
remove one
gone one
unplug 2
holds_bytes "$(raw_at 4)"
plug 2
remove two
gone two
clean
no_maps
holds_bytes /tmp/disk-raw

# multipathd takes each disk, also one that has a single path. Whoever is the first has it, multipathd or volnode: its map
# is used, or there is none, and it goes with the pod.
multipathd_takes greedy
pod web 5 alone
ready web
echo kept >"$(at 5 alone)/file"
stop
start
ready web
remove web
gone web
clean
not ls /sys/block/dm-0
pod web 6 alone
ready web
test "$(cat "$(at 6 alone)/file")" = kept
remove web
gone web
clean
not ls /sys/block/dm-0
kill "$agent"
wait "$agent"
