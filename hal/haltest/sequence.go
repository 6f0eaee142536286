package haltest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// sequenceLength is the number of operations of a random script.
const sequenceLength = 20

// diskEvery is how many scripts there are to one with disks, which costs as much as some of the others.
const diskEvery = 10

// Sequence returns the random script of a seed: operations on a few names, so that they meet.
func Sequence(seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 0x766f6c6e6f6465))
	paths := []string{"a", "b", "c", "a/x", "a/y", "b/x", "a/x/z", "b/x/z"}
	// Without a few directories most operations would find nothing.
	script, kinds := []string{"mkdir a", "mkdir b", "mkdir a/x"}, treeKinds
	if seed%diskEvery == 0 {
		kinds = append(slices.Clone(kinds), diskKinds...)
		script = append(script, "disk p "+contents[r.IntN(len(contents))], "disk q "+contents[r.IntN(len(contents))],
			"probe p", "probe q")
	}
	var total int
	for _, k := range kinds {
		total += k.weight
	}
	for len(script) < sequenceLength+3*(len(kinds)-len(treeKinds)) {
		pick := r.IntN(total)
		for _, k := range kinds {
			if pick -= k.weight; pick < 0 {
				path := func() string { return paths[r.IntN(len(paths))] }
				line := k.line(r, path)
				switch into := r.IntN(8); { // some go into a mount
				case k.isOfDisk:
				case into == 0:
					line = fmt.Sprintf("in %s %s", path(), line)
				case into == 1:
					line = fmt.Sprintf("in %s bottom %s", path(), line)
				}
				script = append(script, line)
				break
			}
		}
	}
	return script
}

// kind is an operation of a random script. It draws what it needs in the order in which it is written.
type kind struct {
	weight   int
	line     func(r *rand.Rand, path func() string) string
	isOfDisk bool // its path is a disk's
}

// contents are what the disks of a script hold at first.
var contents = []string{
	"blank", "blank", "junk", "ext4 " + uuids[0], "ext2 " + uuids[1],
}

var uuids = []string{"0a0b0c0d-1111-4222-8333-444455556666", "1a0b0c0d-1111-4222-8333-444455556666"}

// diskKinds are the operations on disks. A filesystem is mounted, too, so that what it holds meets the operations on
// files.
var diskKinds = []kind{
	{20, func(r *rand.Rand, _ func() string) string { return "probe " + someDisk(r) }, true},
	{10, func(r *rand.Rand, _ func() string) string { return "identify " + someDisk(r) }, true},
	{20, func(r *rand.Rand, _ func() string) string {
		return fmt.Sprintf("format %s %s %s %s", someDisk(r), []string{"ext4", "ext4", "ext3", "vfat"}[r.IntN(4)],
			uuids[r.IntN(len(uuids))], []string{"", "", "begun", "other"}[r.IntN(4)])
	}, true},
	{20, func(r *rand.Rand, _ func() string) string {
		return fmt.Sprintf("check %s %s %s %s", someDisk(r), []string{"ext4", "ext2", "xfs"}[r.IntN(3)],
			uuids[r.IntN(len(uuids))], []string{"", "", "", "other"}[r.IntN(4)])
	}, true},
	{12, func(r *rand.Rand, _ func() string) string {
		return "spoil " + someDisk(r) + " " + []string{"dirty", "mendable", "grave"}[r.IntN(3)]
	}, true},
	{5, func(r *rand.Rand, _ func() string) string { return "mend " + someDisk(r) }, true},
	{30, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("mount %s %s disk:%s %s", []string{"ext4", "ext4", "ext2"}[r.IntN(3)], path(), someDisk(r),
			[]string{"-", "ro", "nodev,nosuid"}[r.IntN(3)])
	}, false},
}

func someDisk(r *rand.Rand) string { return []string{"p", "q"}[r.IntN(2)] }

// treeKinds are the operations on files and mounts.
var treeKinds = []kind{
	{12, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("mkdir %s %#o", path(), []int{0o755, 0o700, 0o2770, 0o1777}[r.IntN(4)])
	}, false},
	{8, words("rm", 1), false},
	{4, words("rmtree", 1), false},
	{10, words("mv", 2), false},
	{4, words("ls", 1), false},
	{6, words("stat", 1), false},
	{8, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("write %s %s %#o", path(), strings.Repeat("w", 1+r.IntN(5)), []int{0o600, 0o644}[r.IntN(2)])
	}, false},
	{3, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("writeat %s %d at", path(), r.IntN(9))
	}, false},
	{2, func(r *rand.Rand, path func() string) string { return fmt.Sprintf("alloc %s %d", path(), 1+r.IntN(9)) }, false},
	{3, func(r *rand.Rand, path func() string) string { return fmt.Sprintf("read %s %d", path(), r.IntN(9)) }, false},
	{2, words("sync", 1), false},
	{3, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("link %s %s", []string{"a", "b/x", "nowhere"}[r.IntN(3)], path())
	}, false},
	{3, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("symlink %s %s", []string{"a", "../b", "nowhere"}[r.IntN(3)], path())
	}, false},
	{2, words("readlink", 1), false},
	{3, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("chmod %s %#o", path(), []int{0o755, 0o2775, 0o700}[r.IntN(3)])
	}, false},
	{4, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("chown %s %d %d", path(), r.IntN(3)-1, r.IntN(4)-1)
	}, false},
	{12, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("mount tmpfs %s src %s", path(), []string{"-", "nodev,nosuid", "ro", "noexec"}[r.IntN(4)])
	}, false},
	{12, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("bind %s %s %s", path(), path(), []string{"-", "ro"}[r.IntN(2)])
	}, false},
	{16, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("umount %s %s", path(), []string{"-", "-", "-", "-", "bottom", "wrong"}[r.IntN(6)])
	}, false},
	{2, words("count", 1), false},
	{3, words("at", 1), false},
	{6, words("within", 1), false},
	{3, words("hold", 1), false},
	{3, words("release", 1), false},
}

func words(verb string, n int) func(*rand.Rand, func() string) string {
	return func(_ *rand.Rand, path func() string) string {
		line := verb
		for range n {
			line += " " + path()
		}
		return line
	}
}
