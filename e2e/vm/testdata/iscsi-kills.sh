# volnode dies at several moments of the life of an iSCSI volume, and starts again: the volume comes, keeps what it has,
# and goes without a trace. Any command that fails ends it.
. ./iscsi-lib.sh

target plain 1
start

# dies FAULT COMMAND…: volnode runs with a fault, is told something, and dies of it
dies() {
	stop
	start "$1"
	shift
	"$@"
	soon is_dead
	wait "$agent" || true
}
sid() { ls -d /sys/class/iscsi_session/session*; }

# While a volume comes up.
lun=0
for fault in 'iscsi-login before kill' 'iscsi-login after kill' 'scsi-scan after kill' 'format before kill' \
	'format after kill' 'mount@kubernetes.io/iscsi after kill' 'bind@/pods/ after kill'; do
	disk "disk$lun" 16
	lun plain "$lun" "disk$lun"
	volume "v$lun" plain "$lun"
	dies "$fault" pod web "$lun" "v$lun"
	start
	ready web
	has_sessions plain 1
	test "$(grep -c "v$lun " /proc/mounts)" = 1
	echo content >"$(at "$lun" "v$lun")/file"
	remove web
	gone web
	clean
	lun=$((lun + 1))
done

# While it is mounted.
pod web 1 v1
ready web
echo more >>"$(at 1 v1)/file"
before="$(sid) $(grep -e /pods/ -e "$root/plugins" /proc/self/mountinfo)"
for kill in 1 2; do
	stop
	start
	ready web
	test "$(sid) $(grep -e /pods/ -e "$root/plugins" /proc/self/mountinfo)" = "$before"
done
test "$(cat "$(at 1 v1)/file")" = $'content\nmore'

# While it goes. A logout without a known end keeps the next login waiting, so each has a target of its own.
for name in before after; do
	target "$name" 1
	disk "$name" 16
	lun "$name" 0 "$name"
	volume "$name" "$name" 0
done
while read -r name fault; do
	pod web 1 "$name"
	ready web
	echo content >"$(at 1 "$name")/file"
	dies "$fault" remove web
	start
	gone web
	clean
done <<EOF
v1 umount@/pods/ after kill
v1 umount@kubernetes.io/iscsi after kill
v1 scsi-remove before kill
v1 scsi-remove after kill
before iscsi-logout before kill
after iscsi-logout after kill
EOF

# The journal is lost, and the pod goes meanwhile: of a volume that is up, and of one that has a session alone.
lose_all() {
	remove web
	rm -r "$root/volnode/journal"
	start
	gone web
	clean
}
pod web 1 v1
ready web
stop
lose_all
dies 'scsi-scan before kill' pod web 1 v1
test -n "$(sid)"
lose_all
kill "$agent"
wait "$agent"
