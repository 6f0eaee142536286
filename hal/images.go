package hal

import "strings"

// Images is the OCI images that lie on the node, where somebody has put them. Of class helper.
type Images interface {
	// Unpack makes the directory dir, below the agent's root directory, of the image that reference names: its files
	// in dir/[ImageFiles], its digest in dir/[ImageDigest]. Each part of the image is compared with its digest, and no
	// name of it leads out of dir. dir is there only once all is, durably; until then it is made at [Unpacking], and
	// what an earlier call has left there goes first. The parent of dir exists. ENOENT: no image has that name; EEXIST:
	// dir is there; EBADMSG: the image is damaged, or nothing that can be unpacked; EOPNOTSUPP: the agent knows of no
	// images; EPERM: others than root can put images there.
	Unpack(c Call, reference, dir string) error
}

// What is in a directory that an image was unpacked to.
const (
	ImageFiles  = "rootfs"
	ImageDigest = "digest" // of the image's manifest: "sha256:" and hexadecimal digits
)

const unpackingSuffix = ".unpacking"

// Unpacking is where an image is unpacked that comes to dir: beside it.
func Unpacking(dir string) string {
	at := strings.LastIndexByte(dir, '/') + 1
	return dir[:at] + "." + dir[at:] + unpackingSuffix
}

// Unpacked is the name that a directory gets, or has, that Unpack makes.
func Unpacked(name string) string {
	if inner, ok := strings.CutPrefix(name, "."); ok {
		if name, ok := strings.CutSuffix(inner, unpackingSuffix); ok {
			return name
		}
	}
	return name
}
