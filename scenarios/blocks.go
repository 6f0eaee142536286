package scenarios

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

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal/sim"
)

// This file is S10, byte by byte: containers write numbered blocks through their paths, and who comes to a volume later
// must find all blocks that were written and synced there, and no block of another volume. It looks at bytes alone,
// whatever is mounted and whoever says so.

const (
	blockSize   = 16 // bytes
	blockPrefix = "blocks-"
	writesMost  = 6 * time.Minute // until containers write again, or start again
	writings    = 3               // in one life of a pod's containers
	startings   = 3               // of a pod's containers, while it is there
)

// dataID is one volume's data: of a CSI volume whoever mounts it, of an emptyDir the pod's.
func dataID(p *pod, u *use) string {
	if u.driver != "" {
		return u.driver + "^" + u.volume
	}
	return string(p.uid) + "/" + u.name
}

// block is the bytes of one block: its file's number, a hash of the names of volume and file, and its own.
func block(file uint64, n int) [blockSize]byte {
	var b [blockSize]byte
	binary.BigEndian.PutUint64(b[:], file)
	binary.BigEndian.PutUint64(b[8:], uint64(n))
	return b
}

func fileNumber(id, file string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id + " " + file)) // a hash never fails
	return h.Sum64()
}

// writer is the containers of a pod that write.
type writer struct {
	starts int // of its containers, each another life
	views  []view
	object *corev1.Pod // as it was when they started
}

type view struct {
	*sim.View
	use *use
}

// holdsData: containers can write to it, or find what others wrote.
func (u *use) holdsData() bool {
	return !u.exempt && !u.bare && !u.raw && (u.driver != "" || strings.Contains(u.path, "kubernetes.io~empty-dir"))
}

// startWriting is the containers of a pod starting: they open their volumes, read what is there and write.
func (r *run) startWriting(p *pod) {
	if p.writer == nil {
		return
	}
	w := p.writer
	w.starts++
	w.object, w.views = p.object, w.views[:0]
	for i := range p.uses {
		u := &p.uses[i]
		if !u.holdsData() {
			continue
		}
		v, errno := r.w.OpenView(u.path)
		if errno != 0 {
			r.fail("S10", "start", p.name, "containers of "+p.name+" can't open "+u.path+": "+errno.Error())
			return
		}
		r.reads(p, u, v)
		w.views = append(w.views, view{v, u})
	}
	r.writes(p)
	for n := 1; n < writings; n++ {
		life := w.starts
		again := n == writings-1 && w.starts%startings != 0
		r.w.After(r.w.DrawTime("workload.containers", p.name, time.Second, writesMost),
			"containers write "+p.name, func() {
				switch {
				case !p.isRunning || w.starts != life || r.stop:
				case again:
					r.startAgain(p)
				default:
					r.writes(p)
				}
			})
	}
}

// reads compares what a volume holds with what was written to it.
func (r *run) reads(p *pod, u *use, v *sim.View) {
	if v.IsDead() || v.IsHung() {
		return // what serves it has ended, or says nothing, which no look at a mount shows
	}
	id := dataID(p, u)
	if r.wiped[id] {
		return
	}
	r.judges("S10")
	for _, file := range v.Files(blockPrefix) {
		data, _ := v.Read(file) // it was listed
		number := fileNumber(id, file)
		for n := 0; n*blockSize < len(data); n++ {
			if want := block(number, n); !bytes.Equal(data[n*blockSize:min(len(data), (n+1)*blockSize)], want[:]) {
				r.fail("S10", "read", p.name, "containers of "+p.name+" find at "+u.path+" a block that was not "+
					"written to volume "+id+": "+
					strconv.Itoa(n)+" of "+file)
				return
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(r.blocks[id])) {
		data, _ := v.Read(file)
		if want := r.blocks[id][file]; len(data) < want*blockSize {
			r.fail("S10", "read", p.name, fmt.Sprintf("containers of %s find at %s %d of the %d blocks of %s that "+
				"were written to volume %s and synced",
				p.name, u.path, len(data)/blockSize, want, file, id))
			return
		}
	}
}

// writes has containers write one block to each of their volumes.
func (r *run) writes(p *pod) {
	file := blockPrefix + string(p.uid)
	for _, v := range p.writer.views {
		if v.IsHung() {
			continue // it waits, and nobody was told that it is written
		}
		id := dataID(p, v.use)
		n := r.blocks[id][file]
		data := block(fileNumber(id, file), n)
		switch errno := v.Write(file, int64(n*blockSize), data[:]); errno {
		case 0:
		case syscall.EROFS, syscall.ENOTCONN, syscall.ESTALE, syscall.EIO:
			continue
		default:
			r.fail("S10", "write", p.name,
				"containers of "+p.name+" can't write to volume "+v.use.name+": "+errno.Error())
			return
		}
		if r.blocks[id] == nil {
			r.blocks[id] = map[string]int{}
		}
		r.blocks[id][file] = n + 1
	}
}

// startAgain is containers of a pod that end and are started again: the agent is asked once more whether their volumes
// are there.
func (r *run) startAgain(p *pod) {
	if r.m == nil || !r.w.AgentLives() || !r.isCurrent(p) || p.writer.object != p.object {
		return
	}
	m, life, starts, asked := r.m, r.w.Life(), p.writer.starts, question{p.object, r.toldOf(p)}
	r.w.Go(func() {
		err := m.WaitForAttachAndMount(r.w.Context(0), p.uid)
		if err != nil || r.w.Life() != life || !p.isRunning || p.writer.starts != starts ||
			p.writer.object != p.object || r.stop {
			return
		}
		if !r.isCurrent(p) || asked != (question{p.object, r.toldOf(p)}) {
			return
		}
		if r.finds(p) {
			r.startWriting(p)
		}
	})
}

// wipes notes that an inline volume goes, and its data with it, by a call of which only a journal knew that was lost, or
// as the agent has an old journal, by which it was never up: see unpublishSent. Its containers write on to what is gone,
// so it is not judged until others are started.
func (r *run) wipes(e *sim.Effect) {
	p := r.placeOf(e)
	if p != nil && strings.HasPrefix(p.volume, "csi-") && (p.isOutdated || r.isOfLostJournal(e, p)) {
		r.wiped[p.driver+"^"+p.volume] = true
	}
}

// losesInline forgets what was written to an inline volume.
func (r *run) losesInline(id string) {
	delete(r.blocks, id)
	delete(r.wiped, id)
}

// losesBlocks forgets what was written where it may be lost by now: to the emptyDirs of a pod, or of all.
func (r *run) losesBlocks(p *pod) {
	for id := range r.blocks {
		if !strings.Contains(id, "^") && (p == nil || strings.HasPrefix(id, string(p.uid)+"/")) {
			delete(r.blocks, id)
		}
	}
}
