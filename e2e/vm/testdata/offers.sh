# What a host may lack, and tests find in the machine. Any command that fails ends it.
set -eux

# not COMMAND…: it fails. (Behind ! nothing ends the script.)
not() { ! "$@"; }

modprobe -a scsi_debug iscsi_tcp iscsi_target_mod tcm_fc fcoe dm_multipath dm_flakey nbd sch_netem veth

mkdir -p /srv/share /mnt/v3 /mnt/v4
mount -t tmpfs share /srv/share
echo '/srv/share *(rw,no_root_squash,fsid=0,insecure,no_subtree_check)' >/etc/exports
mount -t nfsd nfsd /proc/fs/nfsd
rpcbind -w
rpc.statd
exportfs -a
rpc.nfsd 4
rpc.mountd
mount -t nfs -o vers=4.2 127.0.0.1:/ /mnt/v4
mount -t nfs -o vers=3,nolock 127.0.0.1:/srv/share /mnt/v3
echo content >/mnt/v4/file
test "$(cat /mnt/v3/file)" = content
umount /mnt/v3 /mnt/v4

for type in ext4 xfs; do
	truncate -s 320M "/tmp/$type"
	case $type in
	ext4) mkfs.ext4 -q -O project,quota "/tmp/$type" ;;
	xfs) mkfs.xfs -q "/tmp/$type" ;;
	esac
	mkdir "/mnt/$type"
	mount -o loop,prjquota "/tmp/$type" "/mnt/$type"
	mkdir "/mnt/$type/dir"
	chattr -p 7 "/mnt/$type/dir"
	chattr +P "/mnt/$type/dir"
	setquota -P 7 0 1024 0 0 "/mnt/$type"
	dd if=/dev/zero of="/mnt/$type/dir/fits" bs=1k count=512
	chmod 777 "/mnt/$type/dir"
	not setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all \
		dd if=/dev/zero of="/mnt/$type/dir/large" bs=1k count=1024 # root is held to nothing on an ext4
	umount "/mnt/$type"
done
