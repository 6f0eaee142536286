// Package deletions is the log of the data that volnode deletes: what, of which pod, and why. An entry is durable
// before the deletion begins.
//
// The log is a file of JSON lines below the root directory, with one older file beside it.
package deletions

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

const (
	// MaxFile is about how long the file gets before it becomes the older one, in bytes.
	MaxFile = 1 << 20
	// MaxRecent is how many entries are kept in memory.
	MaxRecent = 1000

	fileMode = 0o600
	dirMode  = 0o700
	// spareSize is the room that is kept for the log on its disk, in bytes: who fills the disk is deleted all the same.
	spareSize = 64 << 10
	// mtimeSlack is how long after a write another change shows at another time, see hal.Info.Changed, and some more.
	mtimeSlack = 3 * time.Second
	// unwatched is how long what the file says may go without being compared, which reads all of it, while it is
	// written on: a write that takes longer is compared at its end, and writes that follow each other are not each.
	unwatched = 100 * time.Millisecond
)

// Entry is one deletion that is about to begin.
type Entry struct {
	Seq       uint64 `json:"seq"`  // counts up with each entry, so that two of the same second can be told apart
	Time      string `json:"time"` // RFC 3339
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"` // of the pod; "" if only its uid is known
	UID       string `json:"uid"`
	Volume    string `json:"volume"`
	Path      string `json:"path"`
	Cause     string `json:"cause"`
}

// Log is the log of one root directory. It is used by one thread of control at a time.
type Log struct {
	dir     string
	seq     uint64 // of the last entry
	end     int64  // where the next line goes; below 0 if what is there can't be continued
	inode   uint64 // of the file, as it was written last; 0 if somebody has to look
	changed int64  // of it, see hal.Info
	sum     uint32 // of what it says
	written hal.Instant
	// compared is when what the file says was last found to be what was written.
	compared hal.Instant
	isSure   bool   // who changes what it says shows another time of change
	isBlind  bool   // it could not be read when it was found: volnode knows it by its size and time of change alone
	begun    uint64 // the last entry before the file was begun, or found to be another
	lost     uint64 // the last entry that is, or may be, neither in the file nor in the older one
	spare    bool   // the spare is there
}

// File is the log below dir, volnode's own directory.
func File(dir string) string { return dir + "/deletions.log" }

// Open finds the end of the log, and returns what it says, oldest first. A log that can't be read is begun again: it
// keeps no start from going on.
func Open(h *hal.Host, c hal.Call, dir string) (*Log, []Entry) {
	l := &Log{dir: dir}
	older, _ := h.Files.Read(c, older(File(dir)), 2*MaxFile)
	entries := append(Parse(older), Parse(l.look(h, c))...)
	l.reserve(h, c)
	for _, e := range entries {
		l.seq = max(l.seq, e.Seq)
	}
	return l, entries[max(0, len(entries)-MaxRecent):]
}

// look reads the file, and finds where the next line goes: behind the last whole line. A file with a hole in it, or
// that can't be read, ends there.
func (l *Log) look(h *hal.Host, c hal.Call) []byte {
	data, err := h.Files.Read(c, File(l.dir), 2*MaxFile)
	l.end = int64(bytes.LastIndexByte(data, '\n') + 1)
	if err != nil && !hal.Is(err, syscall.ENOENT) || err == nil && bytes.IndexByte(data[:l.end], 0) >= 0 {
		l.end = -1
	}
	return data
}

func older(file string) string { return file + ".1" }

// next is where a file is begun, until it is the log.
func next(file string) string { return file + ".next" }

// spareOf keeps room for the log.
func spareOf(file string) string { return file + ".spare" }

// Parse reads the lines that are whole.
func Parse(data []byte) []Entry {
	var entries []Entry
	for line := range bytes.Lines(data) {
		var e Entry
		if json.Unmarshal(line, &e) == nil {
			entries = append(entries, e)
		}
	}
	return entries
}

// Append numbers entries and makes them durable. Those that were written before, and whose deletion goes on, are
// written once more if the file is not the one that has them: somebody has removed it, or cut it short, even if others
// were written since. After an error, stands says whether the log has those at least. It blocks.
func (l *Log) Append(h *hal.Host, c hal.Call, entries, before []Entry) (stands bool, err error) {
	isLost := func(e Entry) bool { return e.Seq <= l.lost }
	if len(before) > 0 && l.isThere(h, c) && !slices.ContainsFunc(before, isLost) {
		before = nil
	}
	return before == nil, l.append(h, c, entries, before)
}

func (l *Log) append(h *hal.Host, c hal.Call, entries, before []Entry) error {
	var lines bytes.Buffer
	line, from := json.NewEncoder(&lines), l.seq
	for _, all := range [][]Entry{before, entries} {
		for i := range all {
			l.seq++ // a number that was not written is not used again
			all[i].Seq = l.seq
			if err := line.Encode(&all[i]); err != nil {
				panic("strings did not marshal: " + err.Error())
			}
		}
	}
	if lines.Len() == 0 {
		return nil
	}
	if !l.spare {
		l.reserve(h, c)
	}
	err := l.write(h, c, lines.Bytes(), from)
	if err != nil && l.spare {
		if err := h.Tree.Remove(c, spareOf(File(l.dir))); err != nil && !hal.Is(err, syscall.ENOENT) {
			return err
		}
		l.spare = false
		err = l.write(h, c, lines.Bytes(), from)
	}
	return err
}

// isThere reports whether the file is the one that was written last, as it was left.
func (l *Log) isThere(h *hal.Host, c hal.Call) bool {
	info, err := h.Tree.Stat(c, File(l.dir))
	return err == nil && l.isAsLeft(h, c, info)
}

// isAsLeft reports whether a file is the one that was written last, and nobody has changed it since. Who has changed it
// right after that shows no other time: what it says is compared, until that was done once the time had settled.
func (l *Log) isAsLeft(h *hal.Host, c hal.Call, info hal.Info) bool {
	if info.Inode != l.inode || info.Size != l.end || info.Changed != l.changed {
		return false
	}
	now := h.Runtime.Now()
	if l.isSure || l.isBlind || l.compared != 0 && now.Sub(l.compared) < unwatched {
		return true
	}
	isOldEnough := info.Changed != 0 && now.Sub(l.written) >= mtimeSlack
	data, err := h.Files.Read(c, File(l.dir), 2*MaxFile)
	isSame := err == nil && sumOf(0, data) == l.sum
	if isSame {
		l.compared, l.isSure = now, isOldEnough
	}
	return isSame
}

func sumOf(before uint32, data []byte) uint32 { return crc32.Update(before, crc32.IEEETable, data) }

// reserve makes the spare. If there is no room, the next entry tries again.
func (l *Log) reserve(h *hal.Host, c hal.Call) {
	l.spare = h.Files.Allocate(c, spareOf(File(l.dir)), spareSize, fileMode) == nil
}

// write makes lines of entries after from durable: behind the last one, unless the file would become too long. Somebody
// may have removed the file, or cut it short. What a start finds, or a write that failed has left, may be in memory
// alone, where no later sync finds it (fsync(2), ERRORS): it is written once more.
func (l *Log) write(h *hal.Host, c hal.Call, lines []byte, from uint64) error {
	file, found, began := File(l.dir), []byte(nil), h.Runtime.Now()
	info, err := h.Tree.Stat(c, file)
	isAnother := err == nil && !l.isAsLeft(h, c, info)
	switch {
	case hal.Is(err, syscall.ENOENT):
		l.end = 0
	case err != nil:
		return err
	case isAnother:
		found = l.look(h, c)
		if _, err := h.Tree.Stat(c, older(file)); l.end < 0 && !hal.Is(err, syscall.ENOENT) {
			// the older one does not go for a file that can't be read
			l.end, lines = info.Size, append([]byte("\n"), lines...)
		}
		found = found[:max(0, min(l.end, int64(len(found))))]
	}
	if err != nil || isAnother {
		l.begun, l.lost = from, from
	}
	if isAnother {
		l.sum, l.isBlind = sumOf(0, found), int64(len(found)) < l.end
	}
	l.inode, l.isSure = 0, false
	if l.end <= 0 || l.end+int64(len(lines)) > MaxFile {
		l.begun, l.lost = from, l.begun
		err, l.end, l.sum, l.isBlind, isAnother = l.begin(h, c, lines), 0, 0, false, true
	} else {
		err = h.Files.WriteAt(c, file, l.end-int64(len(found)), append(found, lines...))
	}
	if err == nil {
		err = h.Files.Sync(c, file)
	}
	if err == nil && isAnother { // whose name may not be durable
		err = h.Files.Sync(c, l.dir)
	}
	if err != nil {
		return err
	}
	l.end, l.sum, l.written = l.end+int64(len(lines)), sumOf(l.sum, lines), h.Runtime.Now()
	if info, err = h.Tree.Stat(c, file); err != nil {
		return err // somebody may have removed it before all of it was durable
	}
	l.inode, l.changed = info.Inode, info.Changed
	if info.Size != l.end || l.written.Sub(began) >= unwatched && !l.isAsLeft(h, c, info) {
		l.inode = 0
		return errChanged
	}
	return nil
}

// errChanged: somebody has changed the log before all of it was durable.
var errChanged = errors.New("the log of deletions was changed while it was written")

// begin writes lines to another file, and only then has what has the log's name become the older one, unless it is
// empty.
func (l *Log) begin(h *hal.Host, c hal.Call, lines []byte) error {
	if err := h.Tree.Mkdir(c, l.dir, dirMode); err != nil && !hal.Is(err, syscall.EEXIST) {
		return err
	}
	if err := h.Files.Sync(c, path.Dir(l.dir)); err != nil {
		// else the directory may go with the power, and the log with it
		return err
	}
	file := File(l.dir)
	if err := h.Files.Write(c, next(file), lines, fileMode); err != nil {
		return err
	}
	if l.end != 0 {
		if err := h.Tree.Rename(c, file, older(file)); err != nil && !hal.Is(err, syscall.ENOENT) {
			return err
		}
	}
	return h.Tree.Rename(c, next(file), file)
}
