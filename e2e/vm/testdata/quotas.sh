# volnode holds emptyDirs to their limits by project quotas of a real filesystem: quotas.sh ext4|xfs. Any command that fails ends it.
set -eux
cp volnode /usr/bin # /w is slow

# not COMMAND…: it fails. (Behind ! nothing ends the script.)
not() { ! "$@"; }

# start [FAULTS]
start() {
	VOLNODE_FAULT="${1:-}" volnode run --config /etc/volnode/config.yaml >>/w/volnode.log 2>&1 &
	agent=$!
	for try in $(seq 100); do
		! volnode status >/dev/null 2>&1 || return 0
		kill -0 "$agent" 2>/dev/null || return 0 # a fault has killed it
		sleep 0.1
	done
	return 1
}
stop() { kill -9 "$agent" && ! wait "$agent"; }

# pod NAME UID-END EMPTYDIR
pod() {
	cat >/etc/volnode/manifests/.new <<END
apiVersion: v1
kind: Pod
metadata: {name: $1, uid: 3f0e1d5c-0000-4000-8000-00000000000$2}
spec:
  containers: [{name: app, image: none, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, emptyDir: {$3}}]
END
	mv /etc/volnode/manifests/.new "/etc/volnode/manifests/$1.yaml"
}
at() { echo "$root/pods/3f0e1d5c-0000-4000-8000-00000000000$1/volumes/kubernetes.io~empty-dir/v"; }
ready() { volnode wait "pod/default/$1" --for=ready --timeout=60s; }
gone() { volnode wait "pod/default/$1" --for=gone --timeout=60s; }
remove() { rm "/etc/volnode/manifests/$1.yaml"; }

# A container of an ordinary user, in a volume: as_user UID-END COMMAND…, fill UID-END FILE KIB
as_user() (
	cd "$(at "$1")"
	shift
	exec setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all "$@"
)
fill() { as_user "$1" dd if=/dev/zero of="$2" bs=1k count="$3" conv=fsync; }

project() { lsattr -pd "$1" | { read -r number rest; echo "$number"; }; }
# The limits of agents that the filesystem has: PROJECT KIB.
limits() { repquota -v -P -n "$disk" | while read -r number _ used soft hard rest; do
	case $number in
	'#198698'* | '#198699'*) test "$hard" = 0 || echo "${number#?} $hard" ;;
	esac
done; }
count() { test "$(limits | wc -l)" = "$1"; }
soon() { for try in $(seq 50); do
	! "$@" || return 0
	sleep 0.2
done; return 1; }

configure() {
	cat >/etc/volnode/config.yaml <<END
apiVersion: volnode.dev/v1alpha1
kind: NodeConfiguration
nodeName: vm
rootDir: $root
emptyDirQuota: $1
volumeStatsPeriod: 1s
END
	chmod 600 /etc/volnode/config.yaml
}

holds() {
	disk=/mnt/$1 root=/mnt/$1/volnode
	mkdir -p "$root"
	mount --bind "$root" "$root"
	mount --make-shared "$root"
	chmod 700 "$root"
	configure enforce

	# One is full; the other ones go on.
	pod web 1 'sizeLimit: 1Mi'
	pod other 2 'sizeLimit: 1Mi'
	pod free 3 ''
	start
	ready web
	ready other
	ready free
	count 2
	test "$(project "$(at 1)")" != "$(project "$(at 2)")"
	test "$(project "$(at 3)")" = 0
	fill 1 fits 512
	as_user 1 mkdir below
	not fill 1 below/large 1024 2>/w/refused
	grep -E 'Disk quota exceeded|No space left on device' /w/refused
	fill 2 fits 512
	fill 3 large 4096
	test "$(du -sk "$(at 1)" | cut -f1)" -le 1028
	df -k --output=size "$(at 1)" | grep -x ' *1024'
	soon grep_status '"total": 1048576'
	# On an ext4 a process with CAP_SYS_RESOURCE is held to nothing, on an xfs it is.
	if test "$1" = ext4; then
		dd if=/dev/zero of="$(at 1)/root" bs=1k count=2048 conv=fsync
	else
		not dd if=/dev/zero of="$(at 1)/root" bs=1k count=2048 conv=fsync
	fi
	rm -f "$(at 1)/root"
	# Whoever owns a file may give it to another project, outside a user namespace.
	as_user 1 chattr -p 7 fits

	# A restart keeps the limits, and an edit changes one.
	before=$(limits)
	stop
	start
	ready web
	test "$(limits)" = "$before"
	pod other 2 'sizeLimit: 2Mi'
	soon is_limited "$(project "$(at 2)")" 2048
	not fill 2 large 2048
	pod other 2 'sizeLimit: 1Mi'
	soon is_limited "$(project "$(at 2)")" 1024

	# A pod that comes has a project of its own, and none that somebody has named.
	echo "theirs:1986985986" >/etc/projid
	pod next 4 'sizeLimit: 1Mi'
	ready next
	test "$(project "$(at 4)")" = 1986985987
	rm /etc/projid
	remove next
	gone next
	soon count 2

	# Deaths while it is set up, and while it goes: whatever was left, it comes, and goes without a trace.
	for fault in 'quota-limit before kill' 'quota-limit after kill'; do
		stop
		start "$fault"
		pod dies 5 'sizeLimit: 1Mi'
		soon is_dead
		wait "$agent" || true
		start
		ready dies
		count 3
		not fill 5 large 2048
		remove dies
		gone dies
		soon count 2
	done
	for fault in 'quota-lift#2 before kill' 'quota-lift#3 after kill' 'rename@.deleting after kill' \
		'remove-tree#2@.deleting after kill'; do
		pod dies 5 'sizeLimit: 1Mi'
		ready dies
		fill 5 fits 512
		stop
		start "$fault"
		ready dies
		remove dies
		soon is_dead
		wait "$agent" || true
		start
		gone dies
		soon count 2
		test ! -e "$(at 5)"
	done

	# The journal is lost, and somebody removes a directory: a start lifts the limit.
	stop
	rm -r "$root/pods/3f0e1d5c-0000-4000-8000-000000000001" "$root/volnode/journal"
	remove web
	count 2
	start
	ready other
	soon count 1

	# Switched off: the limit of what runs is lifted. Switched on: what has files says that nothing holds it.
	stop
	configure off
	start
	ready other
	soon count 0
	fill 2 large 4096
	stop
	configure enforce
	start
	soon grep_pod 'no quota holds it to its limit'
	count 0
	remove other
	remove free
	gone other
	gone free
	count 0
	stop
	umount "$root"
	umount "$disk"
}
grep_status() { volnode status -o json | grep "$1"; }
grep_pod() { volnode status | grep "$1"; }
is_limited() { limits | grep -x "$1 $2"; }
is_dead() { ! kill -0 "$agent" 2>/dev/null || grep -q '^State:.Z' "/proc/$agent/status"; }

mkdir -p /etc/volnode/manifests /run/volnode
chmod 700 /run/volnode
truncate -s 320M "/tmp/$1"
case $1 in
ext4) mkfs.ext4 -q -O project,quota "/tmp/$1" ;;
xfs) mkfs.xfs -q "/tmp/$1" ;;
esac
mkdir "/mnt/$1"
mount -o loop,prjquota "/tmp/$1" "/mnt/$1"
holds "$1"

# Where there are no project quotas a limit keeps its pod waiting, and says what to do.
for type in tmpfs "$1"; do
	disk=/mnt/without-$type root=/mnt/without-$type/volnode
	mkdir "$disk"
	case $type in
	tmpfs) mount -t tmpfs disk "$disk" ;;
	*) mount -o loop "/tmp/$type" "$disk" ;;
	esac
	rm -rf "$root"
	mkdir "$root"
	mount --bind "$root" "$root"
	mount --make-shared "$root"
	chmod 700 "$root"
	configure enforce
	pod web 1 'sizeLimit: 1Mi'
	pod free 3 ''
	start
	ready free
	not volnode wait pod/default/web --for=ready --timeout=3s
	volnode status | grep 'mount it with the option prjquota'
	remove web
	remove free
	gone web
	gone free
	stop
	umount "$root" "$disk"
done
