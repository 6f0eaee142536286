package haltest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// sequenceLength is the number of operations of a random script.
const sequenceLength = 20

// Sequence returns the random script of a seed: operations on a few names, so that they meet.
func Sequence(seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 0x766f6c6e6f6465))
	paths := []string{"a", "b", "c", "a/x", "a/y", "b/x", "a/x/z", "b/x/z"}
	var total int
	for _, k := range kinds {
		total += k.weight
	}
	// Without a few directories most operations would find nothing.
	script := []string{"mkdir a", "mkdir b", "mkdir a/x"}
	for len(script) < sequenceLength {
		pick := r.IntN(total)
		for _, k := range kinds {
			if pick -= k.weight; pick < 0 {
				path := func() string { return paths[r.IntN(len(paths))] }
				line := k.line(r, path)
				switch r.IntN(8) { // some go into a mount
				case 0:
					line = fmt.Sprintf("in %s %s", path(), line)
				case 1:
					line = fmt.Sprintf("in %s bottom %s", path(), line)
				}
				script = append(script, line)
				break
			}
		}
	}
	return script
}

// kinds are the operations of a random script. They draw what they need in the order in which it is written.
var kinds = []struct {
	weight int
	line   func(r *rand.Rand, path func() string) string
}{
	{12, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("mkdir %s %#o", path(), []int{0o755, 0o700, 0o2770, 0o1777}[r.IntN(4)])
	}},
	{8, words("rm", 1)},
	{4, words("rmtree", 1)},
	{10, words("mv", 2)},
	{4, words("ls", 1)},
	{6, words("stat", 1)},
	{8, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("write %s %s %#o", path(), strings.Repeat("w", 1+r.IntN(5)), []int{0o600, 0o644}[r.IntN(2)])
	}},
	{3, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("writeat %s %d at", path(), r.IntN(9))
	}},
	{2, func(r *rand.Rand, path func() string) string { return fmt.Sprintf("alloc %s %d", path(), 1+r.IntN(9)) }},
	{3, func(r *rand.Rand, path func() string) string { return fmt.Sprintf("read %s %d", path(), r.IntN(9)) }},
	{2, words("sync", 1)},
	{3, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("link %s %s", []string{"a", "b/x", "nowhere"}[r.IntN(3)], path())
	}},
	{3, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("symlink %s %s", []string{"a", "../b", "nowhere"}[r.IntN(3)], path())
	}},
	{2, words("readlink", 1)},
	{3, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("chmod %s %#o", path(), []int{0o755, 0o2775, 0o700}[r.IntN(3)])
	}},
	{4, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("chown %s %d %d", path(), r.IntN(3)-1, r.IntN(4)-1)
	}},
	{12, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("mount tmpfs %s src %s", path(), []string{"-", "nodev,nosuid", "ro", "noexec"}[r.IntN(4)])
	}},
	{12, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("bind %s %s %s", path(), path(), []string{"-", "ro"}[r.IntN(2)])
	}},
	{16, func(r *rand.Rand, path func() string) string {
		return fmt.Sprintf("umount %s %s", path(), []string{"-", "-", "-", "-", "bottom", "wrong"}[r.IntN(6)])
	}},
	{2, words("count", 1)},
	{3, words("at", 1)},
	{6, words("within", 1)},
	{3, words("hold", 1)},
	{3, words("release", 1)},
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
