package scenarios

import (
	"cmp"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/workload"
)

// diskContents is what a disk can hold, by the words for it.
var diskContents = map[string]string{
	"nothing": "", "something": sim.Unrecognized, "ext2": "ext2", "ext4": "ext4", "xfs": "xfs",
	"LVM2_member": "LVM2_member", "crypto_LUKS": "crypto_LUKS", "gpt": "gpt",
}

// flaws are what can be wrong with the filesystem on a disk, by the words for it.
var flaws = map[string]sim.Flaw{
	"clean": sim.NoFlaw, "dirty": sim.Dirty, "slightly": sim.Mendable, "beyond-repair": sim.Grave,
}

// otherUUID is that of a filesystem that people make.
const otherUUID = "77777777-1111-4222-8333-444455556666"

func putDisk(t *scene, path, holds, serial string) string {
	if _, there := t.W.Exists(path); there {
		return path + " is there already"
	}
	t.W.AddBlockDevice(path, diskContents[holds], otherUUID)
	t.W.NameBlockDevice(path, serial)
	return ""
}

// serialOf is the serial number of a disk that is put at a path.
func serialOf(path string) string { return "serial number of " + path }

// diskActions are the statements about the disks of the node, and about those of arrays.
func diskActions() []workload.Action {
	return append(append(sanActions(), fcActions()...), []workload.Action{
		on("put disk PATH with CONTENT", func(t *scene, a []string) string { return putDisk(t, a[0], a[1], serialOf(a[0])) }),
		on("put nameless disk PATH with CONTENT", func(t *scene, a []string) string { return putDisk(t, a[0], a[1], "") }),
		on("overwrite disk PATH with CONTENT", func(t *scene, a []string) string {
			if !t.W.WipeBlockDevice(a[0], diskContents[a[1]], otherUUID) {
				return "there is no disk " + a[0] + ", or it is mounted"
			}
			return ""
		}),
		on("damage disk PATH FLAW", func(t *scene, a []string) string {
			if !t.W.DamageBlockDevice(a[0], flaws[a[1]]) {
				return "there is no filesystem on " + a[0]
			}
			return ""
		}),
		on("mount disk PATH at PATH", func(t *scene, a []string) string {
			if errno := t.W.MountBlockDevice(a[0], a[1]); errno != 0 {
				return "the disk " + a[0] + " can't be mounted: " + errno.Error()
			}
			return ""
		}),
		on("mend disk PATH", func(t *scene, a []string) string {
			if !t.W.MendBlockDevice(a[0]) {
				return "there is no disk " + a[0] + ", or it is mounted"
			}
			return ""
		}),
		on("expect disk PATH FLAW", func(t *scene, a []string) string {
			if is := t.W.FlawOf(a[0]); is != flaws[a[1]] {
				return "the filesystem on " + a[0] + " is " + is.String()
			}
			return ""
		}),
		on("swap disks PATH and PATH", func(t *scene, a []string) string {
			if !t.W.SwapBlockDevices(a[0], a[1]) {
				return "one of the disks is not there, or is mounted"
			}
			return ""
		}),
		on("expect disk PATH holds CONTENT", func(t *scene, a []string) string {
			if holds, _ := t.W.BlockDeviceHolds(a[0]); holds != diskContents[a[1]] {
				return "the disk " + a[0] + " holds " + cmp.Or(holds, "nothing")
			}
			return ""
		}),
	}...)
}
