# volnode serves iSCSI volumes of real targets: filesystems, credentials, two disks of one target. Any command that
# fails ends it.
. ./iscsi-lib.sh

target plain 1
disk small 32
disk other 32
disk large 320
disk brim 16
lun plain 0 small
lun plain 1 other
lun plain 2 large
lun plain 3 brim
volume small plain 0 'fsType: ext4'
volume other plain 1
volume large plain 2 'fsType: xfs'
volume brim plain 3 'fsType: btrfs'
start

# A blank disk gets a filesystem, which the next pod finds as it was left, and the session is up for as long as somebody
# uses it.
for name in small large; do
	pod one 1 "$name"
	ready one
	dd if=/dev/urandom of="$(at 1 "$name")/file" bs=1k count=4096
	before=$(sum "$(at 1 "$name")/file")
	has_sessions plain 1
	remove one
	gone one
	clean
	pod two 2 "$name"
	ready two
	test "$(sum "$(at 2 "$name")/file")" = "$before"
	remove two
	gone two
	clean
done
blkid -p -o export /tmp/disk-small | grep -x TYPE=ext4
blkid -p -o export /tmp/disk-large | grep -x TYPE=xfs

# btrfs is refused by name.
pod one 1 brim
says one 'iscsi.fsType: "btrfs" is not served; use one of ext2, ext3, ext4, xfs'
remove one
gone one
clean
test "$(tr -d '\0' </tmp/disk-brim | wc -c)" = 0

# Two disks of one target: the session goes with the last, in either order.
for order in 'one two' 'two one'; do
	pod one 1 small
	pod two 2 other
	ready one
	ready two
	has_sessions plain 1
	for name in $order; do
		has_sessions plain 1
		remove "$name"
		gone "$name"
	done
	clean
done

# Credentials.
target chap 1
lun chap 5 brim
echo 1 >"$(of chap)/attrib/authentication"
echo -n user >"$(of chap)/acls/$initiator/auth/userid"
(umask 077 && tr -dc a-zA-Z0-9 </dev/urandom | head -c 24 >/tmp/secret)
cat /tmp/secret >"$(of chap)/acls/$initiator/auth/password"
volume chap chap 5 'chapAuthSession: true, secretRef: {name: chap, namespace: default}'
# secret SUFFIX: the credentials, of which the last is followed by that
secret() {
	manifest secret <<EOF
apiVersion: v1
kind: Secret
metadata: {name: chap}
stringData: {node.session.auth.username: user, node.session.auth.password: $(cat /tmp/secret)$1}
EOF
}
set +x # it writes secrets
secret wrong
set -x
logins() { cat "$(dirname "$(of chap)")/fabric_statistics/iscsi_login_stats/authenticate_fails"; }
shows() { grep -l -a -F -f /tmp/secret /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null; }
(until test -e /tmp/enough; do ! shows >>/tmp/shown || true; done) 2>/dev/null &
watcher=$!
pod one 1 chap
says one 'the target iqn.2026-01.example:chap refuses the credentials of Secret default/chap'
before=$(logins)
sleep 30
test "$before" -ge 1
test "$(logins)" -le $((before + 10)) # volnode waits 4 s at most for what answers
has_sessions chap 0
soon no_record_of chap # a login has one while it lasts
set +x
secret ''
set -x
ready one
echo content >"$(at 1 chap)/file"
find "$database" -type f ! -perm 600 -path '*/nodes/*' | not grep .
volnode describe pod default/one >/tmp/described
volnode status -o json >>/tmp/described
touch /tmp/enough
wait "$watcher"
test ! -s /tmp/shown
not grep -F -f /tmp/secret /w/volnode.log /w/iscsid.log /tmp/described
dmesg | not grep -F -f /tmp/secret
find /etc /run /var /tmp -type f -perm /044 -size -1024k -exec grep -l -F -f /tmp/secret {} + | not grep .
remove one
gone one
clean
kill "$agent"
wait "$agent"
