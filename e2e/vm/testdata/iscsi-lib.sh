# For the scripts of iSCSI volumes: targets of the machine's own kernel, in a namespace behind two cables; an initiator;
# and volnode, which is told all by manifests.
PS4='+ $SECONDS '
set -eux

cp volnode /usr/bin # /w is slow

# not COMMAND…: it fails. (Behind ! nothing ends the script.)
not() { ! "$@"; }

config=/sys/kernel/config/target
initiator=iqn.2026-01.example:node
root=/var/lib/volnode
database=/etc/iscsi
test ! -d /var/lib/iscsi || database=/var/lib/iscsi

modprobe -a sd_mod veth iscsi_tcp target_core_mod target_core_file iscsi_target_mod
ip netns add targets
for n in 1 2; do
	ip link add "i$n" type veth peer name "t$n" netns targets
	ip addr add "10.77.$n.1/24" dev "i$n"
	ip -n targets addr add "10.77.$n.2/24" dev "t$n"
	ip link set "i$n" up
	ip -n targets link set "t$n" up
done
unplug() { ip -n targets link set "t$1" down; }
plug() { ip -n targets link set "t$1" up; }

echo "InitiatorName=$initiator" >/etc/iscsi/initiatorname.iscsi
# settings REPLACEMENT-TIMEOUT: of iscsid.conf(5), with which a session that fails is noticed soon
settings() {
	cat >/etc/iscsi/iscsid.conf <<EOF
node.session.timeo.replacement_timeout = $1
node.conn[0].timeo.noop_out_interval = 2
node.conn[0].timeo.noop_out_timeout = 3
EOF
}
settings 120
setsid iscsid -f >>/w/iscsid.log 2>&1 &

# disk NAME MIB: a blank one
disk() {
	truncate -s "$2M" "/tmp/disk-$1"
	mkdir -p "$config/core/fileio_0/$1"
	echo -n "fd_dev_name=/tmp/disk-$1,fd_dev_size=$(($2 << 20)),fd_buffered_io=1" >"$config/core/fileio_0/$1/control"
	echo 1 >"$config/core/fileio_0/$1/enable"
	serial "$1" >"$config/core/fileio_0/$1/wwn/vpd_unit_serial"
}
serial() { echo -n "$1" | sha256sum | head -c 25; }
wwid() { echo "naa.6001405$(serial "$1")"; }
# target NAME CABLE…: at the portal of each cable, with no disk, for this node
of() { echo "$config/iscsi/iqn.2026-01.example:$1/tpgt_1"; }
target() {
	local name=$1
	shift
	mkdir -p "$(of "$name")"
	for n in "$@"; do
		nsenter --net=/run/netns/targets mkdir "$(of "$name")/np/10.77.$n.2:3260"
	done
	echo 0 >"$(of "$name")/attrib/authentication"
	mkdir "$(of "$name")/acls/$initiator"
	echo 1 >"$(of "$name")/enable"
}
# lun TARGET NUMBER DISK: in place of what it has; '' for none
lun() {
	local at=$(of "$1")
	local mapped="$at/acls/$initiator/lun_$2"
	for dir in "$mapped" "$at/lun/lun_$2"; do
		test ! -d "$dir" || { rm "$dir/link" && rmdir "$dir"; }
	done
	test -n "$3" || return 0
	mkdir "$at/lun/lun_$2"
	ln -s "$config/core/fileio_0/$3" "$at/lun/lun_$2/link"
	test -d "$mapped" || mkdir "$mapped"
	test -L "$mapped/link" || ln -s "$at/lun/lun_$2" "$mapped/link"
}

mkdir -p "$root" /etc/volnode/manifests /run/volnode
test -v from || from=(-t tmpfs root)
mount "${from[@]}" "$root"
mount --make-shared "$root"
chmod 700 "$root" /run/volnode

cat >/etc/volnode/config.yaml <<EOF
apiVersion: volnode.dev/v1alpha1
kind: NodeConfiguration
nodeName: vm
volumeStatsPeriod: 1s
EOF
chmod 600 /etc/volnode/config.yaml

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
is_dead() { ! kill -0 "$agent" 2>/dev/null || grep -q '^State:.Z' "/proc/$agent/status"; }

# manifest NAME: what it reads is one, which only root may read
manifest() {
	(umask 077 && cat >/etc/volnode/manifests/.new)
	mv /etc/volnode/manifests/.new "/etc/volnode/manifests/$1.yaml"
}
# volume NAME TARGET LUN [FIELDS]: a PersistentVolume with its claim
volume() {
	manifest "volume-$1" <<EOF
apiVersion: v1
kind: PersistentVolume
metadata: {name: $1}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  claimRef: {namespace: default, name: $1}
  iscsi: {targetPortal: 10.77.1.2, iqn: iqn.2026-01.example:$2, lun: $3${4:+, $4}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $1}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeName: $1}
EOF
}
# pod NAME UID-END VOLUME
pod() {
	manifest "$1" <<EOF
apiVersion: v1
kind: Pod
metadata: {name: $1, uid: 3f0e1d5c-0000-4000-8000-00000000000$2}
spec:
  containers: [{name: app, image: none, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: $3}}]
EOF
}
at() { echo "$root/pods/3f0e1d5c-0000-4000-8000-00000000000$1/volumes/kubernetes.io~iscsi/$2"; }
ready() { volnode wait "pod/default/$1" --for=ready --timeout="${2:-180s}"; }
gone() { volnode wait "pod/default/$1" --for=gone --timeout="${2:-180s}"; }
remove() { rm "/etc/volnode/manifests/$1.yaml"; }
# says POD TEXT…: its status has each of them by and by
says() {
	local name=$1
	shift
	for text in "$@"; do
		soon status_has "$name" "$text" || { volnode status; volnode describe pod "default/$name"; return 1; }
	done
}
status_has() { volnode describe pod "default/$1" | tr -s ' \n' ' ' | grep -F -e "$2"; }
soon() { for try in $(seq 300); do
	! "$@" || return 0
	sleep 0.2
done; return 1; }

sessions() { iscsiadm -m session 2>/dev/null | grep -c "example:$1" || true; }
has_sessions() { test "$(sessions "$1")" = "$2"; }
sum() { sha256sum <"$1" | head -c 64; }
no_record_of() { test -z "$(find "$database/nodes" -path "*$1*" -name '*volnode*' -print)"; }
# clean: nothing is left of volnode
clean() {
	soon has_sessions '' 0
	test -z "$(ls /sys/class/scsi_disk)"
	test -z "$(find "$database" -path '*volnode*' -print)"
	not grep -e /pods/ -e "$root/plugins" /proc/mounts
	test -z "$(ls "$root/pods")"
	test -z "$(ls "$root/plugins/kubernetes.io/iscsi")"
}

# multipathd_takes HOW: it runs, with that as find_multipaths of multipath.conf(5)
multipathd_takes() {
	modprobe -a dm_multipath dm_service_time scsi_dh_alua
	test ! -v maps || { kill "$maps" && wait "$maps" || true; }
	cat >/etc/multipath.conf <<EOF
defaults {
	user_friendly_names no
	find_multipaths $1
	polling_interval 1
	max_polling_interval 1
	uxsock_timeout 60000
	no_path_retry queue
}
blacklist {
	devnode "^(loop|vd|ram|nbd|zram)"
}
EOF
	setsid multipathd -d >>/w/multipathd.log 2>&1 &
	maps=$!
	soon is_idle
}
is_idle() { multipathd show daemon | grep idle; }
no_maps() { ! ls /sys/block | grep ^dm- && ! grep -v '^#' /etc/multipath/wwids; }
