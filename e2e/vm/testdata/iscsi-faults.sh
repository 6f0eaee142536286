# What happens to disks of a real target under pods, and while those are away: the portal and the target go and come,
# the number of a disk is given to another one, the kernel loses a disk. A session of somebody else, with the same
# target, is left alone. Any command that fails ends it.
. ./iscsi-lib.sh

target plain 1
disk data 32
disk theirs 32
disk tenant 32
lun plain 0 data
lun plain 1 theirs
volume data plain 0

# The session of an administrator, who uses a disk of the target.
iscsiadm -m discovery -t st -p 10.77.1.2
iscsiadm -m node -T iqn.2026-01.example:plain -p 10.77.1.2 --login
theirs=$(iscsiadm -m session)
theirs_disk() { readlink -f /dev/disk/by-path/ip-10.77.1.2:3260-iscsi-iqn.2026-01.example:plain-lun-1; }
soon test -b /dev/disk/by-path/ip-10.77.1.2:3260-iscsi-iqn.2026-01.example:plain-lun-1
mkfs.ext4 -q "$(theirs_disk)"
mount "$(theirs_disk)" /mnt
echo theirs >/mnt/file
theirs_is_there() {
	iscsiadm -m session | grep -x -F "$theirs"
	echo 3 >/proc/sys/vm/drop_caches
	test "$(cat /mnt/file)" = theirs
}
own_sessions() { grep -l -x volnode /sys/class/iscsi_session/session*/ifacename | wc -l; }
has_own() { test "$(own_sessions)" = "$1"; }
# own_disk: where sysfs has the disk of volnode's session
own_disk() {
	local file=$(grep -l -x volnode /sys/class/iscsi_session/session*/ifacename)
	echo "$(readlink -f "$(dirname "$file")/device")"/target*/*:0/delete
}

start
pod web 1 data
ready web
# A pod that writes, and says how far it is.
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
mounts() { grep -e /pods/ -e "$root/plugins" /proc/self/mountinfo; }
mounted=$(mounts)

# The portal is away for a while.
unplug 1
says web 'the portal 10.77.1.2:3260 does not answer' 'look at the network and the target'
volnode status | grep 'Ready.*INACCESSIBLE PortalSilent'
test "$(mounts)" = "$mounted"
plug 1
goes_on
ready web
says web 'state Ready'
test "$(mounts)" = "$mounted"

# The target stops, and starts.
echo 0 >"$(of plain)/enable"
says web 'the portal 10.77.1.2:3260 does not answer'
echo 1 >"$(of plain)/enable"
goes_on
ready web
test "$(mounts)" = "$mounted"
rm /tmp/writes
wait "$writer"
not grep . /tmp/complaints
test "$(wc -l <"$(at 1 data)/lines")" = "$(written)"
before=$(sum "$(at 1 data)/lines")
theirs_is_there

# While the pod is away, its number is given to the disk of another tenant.
remove web
gone web
soon has_own 0
mkfs.ext4 -q /tmp/disk-tenant
tenant=$(sum /tmp/disk-tenant)
lun plain 0 tenant
pod web 2 data
says web "$(wwid data)" "$(wwid tenant)"
volnode status
not ready web 5s
test "$(sum /tmp/disk-tenant)" = "$tenant"
lun plain 0 data
ready web
test "$(sum "$(at 2 data)/lines")" = "$before"
test "$(sum /tmp/disk-tenant)" = "$tenant"

# The kernel loses the disk under the pod.
echo 1 >"$(own_disk)"
says web 'its device gone' 'the filesystem has failed, but containers may still use it' 'delete the pods that use it'
volnode status
remove web
pod web 3 data
ready web
test "$(sum "$(at 3 data)/lines")" = "$before"
echo more >>"$(at 3 data)/lines"
remove web
gone web
soon has_own 0

# The portal is away for longer than what is written waits: the filesystem fails, and the next pod has all that was
# synced.
settings 5
pod web 4 data
ready web
sync "$(at 4 data)/lines"
before=$(sum "$(at 4 data)/lines")
unplug 1
not dd if=/dev/zero of="$(at 4 data)/lost" bs=4k count=1 conv=fsync
says web 'the filesystem has failed, but containers may still use it' 'delete the pods that use it'
remove web
pod web 5 data
not ready web 5s
volnode status
plug 1
ready web
test "$(sum "$(at 5 data)/lines")" = "$before"
echo more >>"$(at 5 data)/lines"
remove web
gone web
soon has_own 0
not mounts
test -z "$(find "$database" -path '*volnode*' -print)"
theirs_is_there
umount /mnt
iscsiadm -m node -T iqn.2026-01.example:plain --logout
kill "$agent"
wait "$agent"
