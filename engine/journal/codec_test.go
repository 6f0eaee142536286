package journal

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

const (
	testDir  = "/r/volnode/journal"
	testSize = 16 << 10
)

// aRecord draws any record: by reflection, so that a field that the encoding leaves out is found.
func aRecord(t *rapid.T) core.Record {
	r := rapid.Make[core.Record]().Draw(t, "record")
	r.Phase %= core.Leaving + 1
	for i := range r.Rung.Want {
		r.Rung.Want[i].OnChange %= core.OnChangeVoid + 1
	}
	for i, f := range r.Generation {
		r.Generation[i] = core.Foundation{Key: f.Key, Fingerprint: f.Fingerprint}
	}
	r.Rung.Places = nil                                       // follow from Kind and Want
	r.Rung.Awaits = ""                                        // nothing that was made
	r.Rung.Renew, r.Rung.Looks, r.Rung.Pins = 0, false, false // the next start hears of them again
	r.Rung.Below = orNil(r.Rung.Below)
	r.Rung.Want = orNil(r.Rung.Want)
	r.Facts = orNil(r.Facts)
	r.Generation = orNil(r.Generation)
	return r
}

func orNil[E any](s []E) []E {
	if len(s) == 0 {
		return nil
	}
	return s
}

func encodeBatch(lines []core.Line) []byte {
	var b []byte
	for i := range lines {
		if lines[i].Drop {
			b = appendDrop(b, &lines[i])
			continue
		}
		b = appendRecord(appendPut(b, &lines[i]), &lines[i].Record)
	}
	return b
}

func TestBatchRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines []core.Line
		for range rapid.IntRange(1, 4).Draw(t, "lines") {
			l := core.Line{Sync: rapid.Bool().Draw(t, "sync")}
			if rapid.Bool().Draw(t, "drop") {
				l.Drop, l.Key = true, hal.Key(rapid.String().Draw(t, "key"))
			} else {
				l.Room, l.Record = rapid.IntRange(0, MaxSize).Draw(t, "room"), aRecord(t)
				l.Key = l.Record.Rung.Key
			}
			lines = append(lines, l)
		}
		got, err := decodeBatch(nil, encodeBatch(lines))
		require.NoError(t, err)
		require.Equal(t, lines, got)
	})
}

func TestSnapshotRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfNDistinct(rapid.Custom(aRecord), 0, 5, func(r core.Record) hal.Key { return r.Rung.Key }).
			Draw(t, "records")
		j := &Journal{generation: 7, ledger: newLedger()}
		for i := range want {
			j.ledger.put(&want[i], len(appendRecord(nil, &want[i])), 0)
		}
		snapshot := j.snapshot()
		require.LessOrEqual(t, int64(len(snapshot)), headerSize+j.ledger.used+int64(frameSize(10)))
		appendHeader(snapshot[:0], header{generation: 7})
		im, err := parseImage("f", append(snapshot, make([]byte, 100)...), 1<<20, 7, 1)
		require.NoError(t, err)
		require.Empty(t, im.damages)
		require.True(t, im.whole)
		got, memory := content{}, []core.Line(nil)
		for _, f := range im.frames {
			require.NoError(t, got.apply(f, &memory))
		}
		require.Len(t, got, len(want))
		for _, r := range want {
			require.Equal(t, r, got[r.Rung.Key].record)
		}
	})
}

// A record that the frame's checksum does not vouch for never comes out.
func FuzzDecode(f *testing.F) {
	j := &Journal{generation: 1, ledger: newLedger()}
	for i := range 3 {
		r := stage(i)
		j.ledger.put(&r, len(appendRecord(nil, &r)), int64(i))
	}
	image := j.snapshot()
	appendHeader(image[:0], header{generation: 1, boot: 1, size: 1 << 13})
	j.enter([]core.Line{put(publish(1, 1)), {Key: "stage/v2", Drop: true, Sync: true}})
	f.Add(append(slices.Clone(image), j.buffer...))
	f.Add(image[:headerSize])
	f.Add(encodeBatch([]core.Line{put(stage(1))}))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = decodeBatch(nil, b)
		_, _, _ = decodeRecord(b)
		im, err := parseImage("f", b, int64(len(b)), 1, 1)
		if err != nil {
			return
		}
		got, memory := content{}, []core.Line(nil)
		for _, fr := range im.frames {
			again := appendHead(nil, fr.kind, fr.seq, fr.synced)
			again = sealFrame(append(again, fr.payload...), 0, sealOf(1))
			is, err := parseHeader(b)
			if err == nil && is.generation != 1 {
				again = sealFrame(append(appendHead(nil, fr.kind, fr.seq, fr.synced), fr.payload...), 0,
					sealOf(is.generation))
			}
			require.True(t, bytes.Equal(again[:frameHead], b[fr.at:fr.at+frameHead]), "a frame without a good checksum")
			_ = got.apply(fr, &memory)
		}
		lines, err := decodeBatch(nil, b)
		if err == nil {
			again, err := decodeBatch(nil, encodeBatch(lines))
			require.NoError(t, err)
			require.Equal(t, lines, again)
		}
	})
}

func TestGenerationNames(t *testing.T) {
	for _, name := range []string{
		"journal.", "journal.x", "journal.01", "journal.+1", "journal.spare", "journal.damaged",
		"journal.18446744073709551615", "journal.99999999999999999999", "other",
	} {
		_, ok := generationOf(name)
		require.False(t, ok, name)
	}
	n, ok := generationOf(nameOf(42))
	require.True(t, ok)
	require.Equal(t, uint64(42), n)
}

func TestMagicIsNotText(t *testing.T) {
	require.Equal(t, frameMagic[0], byte(0xff), "a byte that UTF-8 has not")
	require.False(t, strings.Contains(strings.ToValidUTF8(frameMagic, "?"), "\xff"))
}

func stage(i int) core.Record {
	key := hal.Key(fmt.Sprintf("stage/v%d", i))
	return core.Record{
		Rung: core.Rung{
			Key: key, Kind: "csi.stage", Volume: fmt.Sprintf("d^v%d", i), Actor: "d", Intent: true,
			Want: []core.Param{{Name: "fsType", Value: "ext4"}, {Name: "path", Value: "/var/lib/x/" + string(key)}},
		},
		Boot: "b", Seq: uint64(10 * i),
	}
}

func publish(i, pod int) core.Record {
	r := stage(i)
	r.Rung.Key = hal.Key(fmt.Sprintf("publish/v%d/p%d", i, pod))
	r.Rung.Kind = "csi.publish"
	r.Rung.Pod = core.PodUID(fmt.Sprintf("p%d", pod))
	r.Rung.Below = []hal.Key{hal.Key(fmt.Sprintf("stage/v%d", i))}
	r.Seq++
	return r
}

func put(r core.Record) core.Line { return core.Line{Key: r.Rung.Key, Record: r, Sync: true} }
