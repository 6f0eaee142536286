package journal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// nothing is files that take everything and keep nothing.
type nothing struct{ disk }

func (*nothing) WriteAt(hal.Call, string, int64, []byte) error { return nil }
func (*nothing) Sync(hal.Call, string) error                   { return nil }

func appendOne(tb testing.TB) func() {
	d := newDisk()
	j, _ := openOn(tb, d, 1<<20)
	lines := []core.Line{first(1), put(publish(1, 1))}
	require.NoError(tb, add(j, d, lines...))
	h := &hal.Host{Tree: d, Files: &nothing{}}
	return func() {
		j.end = 4096
		for i := range lines {
			if err := j.Append(h, hal.Call{}, lines[i:i+1]); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

func TestAllocationsOfALine(t *testing.T) {
	two := appendOne(t)
	require.LessOrEqual(t, testing.AllocsPerRun(1000, two), 6.0, "for two lines")
}

func BenchmarkTwoLines(b *testing.B) {
	two := appendOne(b)
	b.ReportAllocs()
	for b.Loop() {
		two()
	}
}

func BenchmarkLoad(b *testing.B) {
	d := newDisk()
	j, _ := openOn(b, d, 64<<10)
	for i := range 25 {
		require.NoError(b, add(j, d, first(i)))
		require.NoError(b, add(j, d, put(publish(i, i))))
	}
	file := testDir + "/" + nameOf(j.generation)
	image := d.names[file].data
	b.ReportAllocs()
	for b.Loop() {
		im, err := parseImage(file, image, int64(len(image)), j.generation, j.boot)
		require.NoError(b, err)
		got, memory := content{}, []core.Line(nil)
		for _, f := range im.frames {
			_ = got.apply(f, &memory)
		}
	}
}
