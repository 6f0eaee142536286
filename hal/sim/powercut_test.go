package sim_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// files is what a test knows of its files: what may be there after a power cut.
type fileModel struct {
	durable []byte   // content at the last good sync of the file, nil if never
	maybe   [][]byte // contents since
	named   bool     // its name was synced
	failed  bool     // a sync failed, and not all was written again since
}

func (m *fileModel) synced(data []byte, err error) {
	m.failed = m.failed || err != nil
	if !m.failed {
		m.durable, m.maybe = data, nil
	}
}

func TestSyncedDataSurvivesAPowerCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		disk := sim.Disk(rapid.IntRange(int(sim.DiskOrdered), int(sim.DiskVolatile)).Draw(t, "disk"))
		w := sim.New(sim.Config{
			Chooser: sim.Seeded(rapid.Uint64().Draw(t, "seed")), Disk: disk,
			Profile: sim.Only(1<<15, sim.LostWrite, sim.SyncFails),
		})
		defer w.Close()
		w.Restarts(false)
		h := w.Host()
		c := hal.Call{}
		models := map[string]*fileModel{}
		var paths []string
		for i := range 3 {
			p := fmt.Sprintf("%s/f%d", root, i)
			paths = append(paths, p)
			models[p] = &fileModel{}
		}
		w.Do(func() {
			for range rapid.IntRange(1, 25).Draw(t, "ops") {
				p := rapid.SampledFrom(paths).Draw(t, "path")
				m := models[p]
				_, exists := w.Exists(p)
				switch rapid.SampledFrom([]string{"write", "write-at", "write-again", "sync", "sync-dir"}).Draw(t,
					"op") {
				case "write":
					data := bytes.Repeat([]byte{byte(rapid.IntRange(1, 255).Draw(t, "byte"))},
						rapid.IntRange(0, 3000).Draw(t, "size"))
					require.NoError(t, h.Files.Write(c, p, data, 0o600))
					m.maybe, m.failed = append(m.maybe, data), false
				case "write-at":
					if !exists {
						continue
					}
					data := bytes.Repeat([]byte{byte(rapid.IntRange(1, 255).Draw(t, "byte"))},
						rapid.IntRange(1, 2000).Draw(t, "size"))
					require.NoError(t, h.Files.WriteAt(c, p,
						int64(rapid.IntRange(0, len(w.ReadFile(p))).Draw(t, "offset")), data))
					m.maybe = append(m.maybe, w.ReadFile(p))
				case "write-again": // and some more, as who does not trust what a failed sync has left
					if !exists {
						continue
					}
					data := append(w.ReadFile(p), bytes.Repeat([]byte{1}, rapid.IntRange(0, 2000).Draw(t, "size"))...)
					require.NoError(t, h.Files.WriteAt(c, p, 0, data))
					m.maybe, m.failed = append(m.maybe, data), false
				case "sync":
					if exists {
						m.synced(w.ReadFile(p), h.Files.Sync(c, p))
					}
				case "sync-dir":
					if h.Files.Sync(c, root) != nil {
						continue
					}
					for _, q := range paths {
						_, there := w.Exists(q)
						models[q].named = models[q].named || there
					}
				}
			}
		})
		w.CutPower()
		for _, p := range paths {
			checkAfterCut(t, w, p, models[p])
		}
	})
}

// checkAfterCut: a synced name is there; synced content is there, byte for byte, where nothing was written since; and
// each byte is one that was written at its place at some time, or zero.
func checkAfterCut(t *rapid.T, w *sim.World, path string, m *fileModel) {
	_, exists := w.Exists(path)
	if m.named {
		require.True(t, exists, path)
	}
	if !exists {
		return
	}
	data := w.ReadFile(path)
	if m.durable != nil && len(m.maybe) == 0 {
		require.True(t, bytes.Equal(m.durable, data), path)
	}
	for i, b := range data {
		legal := b == 0 || i < len(m.durable) && m.durable[i] == b
		for _, old := range m.maybe {
			legal = legal || i < len(old) && old[i] == b
		}
		require.Truef(t, legal, "%s: byte %d is %d", path, i, b)
	}
}

func TestWhatIsNotSyncedCanBeLostAndCanStay(t *testing.T) {
	for _, disk := range []sim.Disk{sim.DiskOrdered, sim.DiskEager, sim.DiskMinimal, sim.DiskVolatile} {
		seen := map[string]bool{}
		for seed := range uint64(400) {
			w := sim.New(sim.Config{Chooser: sim.Seeded(seed), Profile: sim.Only(1<<15, sim.LostWrite), Disk: disk})
			w.Restarts(false)
			h := w.Host()
			w.Do(func() {
				c := hal.Call{}
				_ = h.Files.Write(c, root+"/f", []byte("old"), 0o600)
				_ = h.Files.Sync(c, root+"/f")
				_ = h.Files.Sync(c, root)
				_ = h.Files.Write(c, root+"/tmp", []byte("new"), 0o600)
				_ = h.Tree.Rename(c, root+"/tmp", root+"/f")
			})
			w.CutPower()
			seen[fmt.Sprintf("%q", bytes.ReplaceAll(w.ReadFile(root+"/f"), []byte{0}, []byte("0")))] = true
			w.Close()
		}
		require.True(t, seen[`"old"`] && seen[`"new"`] != (disk == sim.DiskVolatile), "%s: %v", disk, seen)
		isPartial := disk == sim.DiskEager || disk == sim.DiskMinimal
		require.Equal(t, isPartial, seen[`""`] || seen[`"000"`], "%s: %v", disk, seen)
	}
}

func TestAFailedSyncLosesTheDataThoughTheNextSucceeds(t *testing.T) {
	lost, kept := 0, 0
	for seed := range uint64(200) {
		w := sim.New(sim.Config{Chooser: sim.Seeded(seed), Profile: sim.Only(1<<15, sim.SyncFails, sim.LostWrite)})
		w.Restarts(false)
		h := w.Host()
		failed := false
		w.Do(func() {
			c := hal.Call{}
			_ = h.Files.Allocate(c, root+"/f", 512, 0o600)
			for h.Files.Sync(c, root+"/f") != nil || h.Files.Sync(c, root) != nil { //nolint:revive // until both hold
			}
			_ = h.Files.WriteAt(c, root+"/f", 0, []byte("new"))
			failed = h.Files.Sync(c, root+"/f") != nil
			for failed && h.Files.Sync(c, root+"/f") != nil { //nolint:revive // until it holds
			}
		})
		w.CutPower()
		there := bytes.HasPrefix(w.ReadFile(root+"/f"), []byte("new"))
		require.Equal(t, !failed, there, seed)
		if failed {
			lost++
		} else {
			kept++
		}
		w.Close()
	}
	require.Greater(t, lost, 50)
	require.Greater(t, kept, 50)
}

// What a failed fsync has lost is durable once it was written again and synced, whatever else was synced between: a
// commit of all names may have made the new end of the file durable before.
func TestWhatIsWrittenAgainAfterAFailedSyncIsDurable(t *testing.T) {
	for _, disk := range []sim.Disk{sim.DiskOrdered, sim.DiskEager, sim.DiskMinimal, sim.DiskVolatile} {
		for seed := range uint64(100) {
			w := sim.New(sim.Config{
				Chooser: sim.Seeded(seed), Profile: sim.Only(1<<15, sim.SyncFails, sim.LostWrite), Disk: disk,
			})
			w.Restarts(false)
			h, c := w.Host(), hal.Call{}
			again, isSynced := bytes.Repeat([]byte("again"), 150), false
			w.Do(func() {
				_ = h.Files.Write(c, root+"/f", []byte("once"), 0o600)
				if h.Files.Sync(c, root+"/f") == nil {
					return
				}
				_ = h.Files.WriteAt(c, root+"/f", 0, again)
				for h.Files.Sync(c, root) != nil { //nolint:revive // until it holds
				}
				isSynced = h.Files.Sync(c, root+"/f") == nil
			})
			if w.CutPower(); isSynced {
				require.Equal(t, string(again), string(w.ReadFile(root+"/f")), "%s, seed %d", disk, seed)
			}
			w.Close()
		}
	}
}

func TestACleanRebootKeepsFilesAndDropsMounts(t *testing.T) {
	w := benign(t, sim.Config{})
	h := w.Host()
	w.Do(func() {
		c := hal.Call{}
		_ = h.Files.Write(c, root+"/f", []byte("x"), 0o600)
		_ = h.Tree.Mkdir(c, root+"/m", 0o755)
		require.NoError(t, h.Mounts.Bind(c, hal.BindSpec{Source: root, Target: root + "/m"}))
	})
	w.Reboot()
	require.NoError(t, w.RunFor(time.Minute))
	require.Equal(t, "x", string(w.ReadFile(root+"/f")))
	require.Empty(t, w.MountsAt(root+"/m"))
}

// TestAnyTreeSurvivesPowerCuts: whatever was done and synced, the tree is whole afterwards, and synced names stand.
func TestAnyTreeSurvivesPowerCuts(t *testing.T) {
	names := []string{"a", "b", "a/x", "a/y", "b/x", "a/x/z", "b/x/z"}
	for seed := range uint64(3000) {
		w := sim.New(sim.Config{
			Chooser: sim.Seeded(seed), Profile: sim.Only(1<<15, sim.LostWrite),
			Disk: sim.DiskOrdered + sim.Disk(seed%3),
		})
		w.Restarts(false)
		h := w.Host()
		n := uint32(0)
		draw := func(hi int) int {
			n++
			return sim.Seeded(seed).Pick(sim.NewID("test", "", n),
				[]uint32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}[:hi])
		}
		w.Do(func() {
			c := hal.Call{}
			for range 60 {
				p, q := root+"/"+names[draw(7)], root+"/"+names[draw(7)]
				switch draw(9) {
				case 0, 1:
					_ = h.Tree.Mkdir(c, p, 0o755)
				case 2, 3, 4:
					_ = h.Tree.Rename(c, p, q)
				case 5:
					_ = h.Tree.Remove(c, p)
				case 6:
					_ = h.Files.Write(c, p, []byte("data"), 0o600)
				case 7:
					_ = h.Files.Sync(c, p)
				case 8:
					_ = h.Files.Sync(c, root)
				}
			}
		})
		synced := seed%2 == 0
		before := w.Entries(root)
		if synced {
			w.Do(func() { require.NoError(t, h.Files.Sync(hal.Call{}, root)) })
		}
		w.CutPower()
		if synced {
			require.Equal(t, before, w.Entries(root), "seed %d", seed)
		}
		w.Hash()
		w.Close()
	}
}
