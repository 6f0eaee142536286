# volnode serves NFS volumes of a real server: NFS 3 and 4, one that is missing, one that hangs. Any command that fails
# ends it.
set -eux
cp volnode /usr/bin # /w is slow

# not COMMAND…: it fails. (Behind ! nothing ends the script.)
not() { ! "$@"; }

mkdir -p /srv/share/home
mount -t tmpfs share /srv/share
mkdir /srv/share/home
echo '/srv/share *(rw,no_root_squash,fsid=0,insecure,no_subtree_check)' >/etc/exports
mount -t nfsd nfsd /proc/fs/nfsd
rpcbind -w
rpc.statd
exportfs -a
rpc.nfsd 4
rpc.mountd

root=/var/lib/volnode
mkdir -p "$root" /etc/volnode/manifests /run/volnode
mount -t tmpfs root "$root"
mount --make-shared "$root"
chmod 700 "$root" /run/volnode

start() {
	volnode run --node-name vm >>/w/volnode.log 2>&1 &
	agent=$!
	for try in $(seq 50); do
		! volnode status >/dev/null 2>&1 || return 0
		sleep 0.2
	done
	cat /w/volnode.log
	return 1
}

# pod NAME UID-END SOURCE
pod() {
	cat >/etc/volnode/manifests/.new <<EOF
apiVersion: v1
kind: Pod
metadata: {name: $1, uid: 3f0e1d5c-0000-4000-8000-00000000000$2}
spec:
  containers: [{name: app, image: none, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes:
  - name: v
    $3
EOF
	mv /etc/volnode/manifests/.new "/etc/volnode/manifests/$1.yaml"
}
at() { echo "$root/pods/3f0e1d5c-0000-4000-8000-00000000000$1/volumes/kubernetes.io~nfs/$2"; }
ready() { volnode wait "pod/default/$1" --for=ready --timeout="$2"; }
gone() { volnode wait "pod/default/$1" --for=gone --timeout="$2"; }

cat >/etc/volnode/manifests/home.yaml <<EOF
apiVersion: v1
kind: PersistentVolume
metadata: {name: home}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
  claimRef: {namespace: default, name: home}
  mountOptions: [vers=3, nolock, hard, noexec]
  nfs: {server: 127.0.0.1, path: /srv/share}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: home}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}, volumeName: home}
EOF
pod four 1 'nfs: {server: 127.0.0.1, path: /}'
pod three 2 'persistentVolumeClaim: {claimName: home}'
pod read 3 'nfs: {server: 127.0.0.1, path: /home, readOnly: true}'
start
ready four 60s
ready three 60s
ready read 60s

# What one pod writes, another reads, be it by another version. Nothing gives rights on the node.
echo content >"$(at 1 v)/home/file"
test "$(cat "$(at 2 home)/home/file")" = content
test "$(cat "$(at 3 v)/file")" = content
not touch "$(at 3 v)/other"
grep " $(at 1 v) nfs4 [^ ]*nosuid,nodev" /proc/mounts
grep " $(at 2 home) nfs [^ ]*nosuid,nodev,noexec.*vers=3" /proc/mounts

# An export that is missing: the status says what the server says.
pod missing 4 'nfs: {server: 127.0.0.1, path: /missing}'
not ready missing 10s
volnode status | grep 'access denied by server'
rm /etc/volnode/manifests/missing.yaml
gone missing 60s

# volnode is killed, and takes over what is mounted.
before="$(grep /pods/ /proc/self/mountinfo)"
kill -9 "$agent"
start
ready four 60s
ready three 60s
test "$(grep /pods/ /proc/self/mountinfo)" = "$before"

# The server is silent: a pod without it comes, one that needs it waits, and one that goes waits. volnode answers, and
# stops and starts.
tc qdisc add dev lo root netem loss 100%
pod fine 5 'emptyDir: {}'
ready fine 20s
pod late 6 'nfs: {server: 127.0.0.1, path: /home}'
rm /etc/volnode/manifests/three.yaml
not ready late 5s
volnode status
kill "$agent"
wait "$agent" || true
start
ready fine 60s
volnode status
tc qdisc del dev lo root
ready late 300s
test "$(cat "$(at 6 v)/file")" = content
gone three 300s

# The server exports its files again: a new pod has a mount that works.
exportfs -ua
exportfs -a
pod next 7 'nfs: {server: 127.0.0.1, path: /home}'
ready next 60s
test "$(cat "$(at 7 v)/file")" = content

rm /etc/volnode/manifests/[flnr]*.yaml
volnode wait all --for=gone --timeout=120s
not grep /pods/ /proc/mounts
test -z "$(ls "$root/pods")"
test "$(cat /srv/share/home/file)" = content
kill "$agent"
