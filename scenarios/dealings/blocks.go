package dealings

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is S10, byte by byte: containers write numbered blocks through their paths, and who comes to a volume later
// must find all blocks that were written and synced there, and no block of another volume. It looks at bytes alone,
// whatever is mounted and whoever says so.

const (
	BlockSize   = 16 // bytes
	blockPrefix = "blocks-"
	writesMost  = 6 * time.Minute // until containers write again, or start again
	writings    = 3               // in one life of a pod's containers
	startings   = 3               // of a pod's containers, while it is there
)

// dataID is one volume's data: of a CSI volume whoever mounts it, of an emptyDir the pod's.
func dataID(p *world.Pod, u *world.Use) string {
	if u.Driver != "" {
		return u.Driver + "^" + u.Volume
	}
	if u.Disk != "" {
		return "disk " + u.Disk
	}
	return string(p.Uid) + "/" + u.Name
}

// block is the bytes of one block: its file's number, a hash of the names of volume and file, and its own.
func block(file uint64, n int) [BlockSize]byte {
	var b [BlockSize]byte
	binary.BigEndian.PutUint64(b[:], file)
	binary.BigEndian.PutUint64(b[8:], uint64(n))
	return b
}

func fileNumber(id, file string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id + " " + file)) // a hash never fails
	return h.Sum64()
}

// holdsData: containers can write to it, or find what others wrote.
func holdsData(u *world.Use) bool {
	return !u.Exempt && !u.Bare && !u.Raw &&
		(u.Driver != "" || u.Disk != "" || strings.Contains(u.Path, "kubernetes.io~empty-dir"))
}

// StartWriting is the containers of a pod starting: they open their volumes, read what is there and write.
func StartWriting(r *world.Run, p *world.Pod) {
	if p.Writer == nil {
		return
	}
	w := p.Writer
	w.Starts++
	w.Object, w.Views = p.Object, w.Views[:0]
	for i := range p.Uses {
		u := &p.Uses[i]
		if !holdsData(u) {
			continue
		}
		v, errno := r.W.OpenView(u.Path)
		if errno != 0 {
			r.Fail("S10", "start", p.Name, "containers of "+p.Name+" can't open "+u.Path+": "+errno.Error())
			return
		}
		Reads(r, p, u, v)
		w.Views = append(w.Views, world.View{View: v, Use: u})
	}
	Writes(r, p)
	for n := 1; n < writings; n++ {
		life := w.Starts
		again := n == writings-1 && w.Starts%startings != 0
		r.W.After(r.W.DrawTime("workload.containers", p.Name, time.Second, writesMost),
			"containers write "+p.Name, func() {
				switch {
				case !p.IsRunning || w.Starts != life || r.Stop:
				case again:
					startAgain(r, p)
				default:
					Writes(r, p)
				}
			})
	}
}

// Reads compares what a volume holds with what was written to it.
func Reads(r *world.Run, p *world.Pod, u *world.Use, v *sim.View) {
	if v.IsDead() || v.IsHung() {
		return // what serves it has ended, or says nothing, which no look at a mount shows
	}
	id := dataID(p, u)
	if r.Wiped[id] {
		return
	}
	r.Judges("S10")
	for _, file := range v.Files(blockPrefix) {
		data, _ := v.Read(file) // it was listed
		number := fileNumber(id, file)
		for n := 0; n*BlockSize < len(data); n++ {
			if want := block(number, n); !bytes.Equal(data[n*BlockSize:min(len(data), (n+1)*BlockSize)], want[:]) {
				r.Fail("S10", "read", p.Name, "containers of "+p.Name+" find at "+u.Path+" a block that was not "+
					"written to volume "+id+": "+
					strconv.Itoa(n)+" of "+file)
				return
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(r.Blocks[id])) {
		data, _ := v.Read(file)
		if want := r.Blocks[id][file]; len(data) < want*BlockSize {
			r.Fail("S10", "read", p.Name, fmt.Sprintf("containers of %s find at %s %d of the %d blocks of %s that "+
				"were written to volume %s and synced",
				p.Name, u.Path, len(data)/BlockSize, want, file, id))
			return
		}
	}
}

// Writes has containers write one block to each of their volumes.
func Writes(r *world.Run, p *world.Pod) {
	file := blockPrefix + string(p.Uid)
	for _, v := range p.Writer.Views {
		if v.IsHung() {
			continue // it waits, and nobody was told that it is written
		}
		id := dataID(p, v.Use)
		n := r.Blocks[id][file]
		data := block(fileNumber(id, file), n)
		switch errno := v.Write(file, int64(n*BlockSize), data[:]); errno {
		case 0:
		case syscall.EROFS, syscall.ENOTCONN, syscall.ESTALE, syscall.EIO:
			continue
		case syscall.EDQUOT, syscall.ENOSPC: // it is full
			continue
		default:
			r.Fail("S10", "write", p.Name,
				"containers of "+p.Name+" can't write to volume "+v.Use.Name+": "+errno.Error())
			return
		}
		if r.Blocks[id] == nil {
			r.Blocks[id] = map[string]int{}
		}
		r.Blocks[id][file] = n + 1
	}
}

// startAgain is containers of a pod that end and are started again: the agent is asked once more whether their volumes
// are there.
func startAgain(r *world.Run, p *world.Pod) {
	if r.M == nil || !r.W.AgentLives() || !r.IsCurrent(p) || p.Writer.Object != p.Object {
		return
	}
	m, life, starts, asked := r.M, r.W.Life(), p.Writer.Starts, world.Question{Pod: p.Object, Volumes: r.ToldOf(p)}
	r.W.Go(func() {
		err := m.WaitForAttachAndMount(r.W.Context(0), p.Uid)
		if err != nil || r.W.Life() != life || !p.IsRunning || p.Writer.Starts != starts ||
			p.Writer.Object != p.Object || r.Stop {
			return
		}
		if !r.IsCurrent(p) || asked != (world.Question{Pod: p.Object, Volumes: r.ToldOf(p)}) {
			return
		}
		if finds(r, p) {
			StartWriting(r, p)
		}
	})
}

// losesInline forgets what was written to an inline volume.
func losesInline(r *world.Run, id string) {
	delete(r.Blocks, id)
	delete(r.Wiped, id)
}
