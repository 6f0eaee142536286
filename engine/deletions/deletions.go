// Package deletions is the log of the data that volnode deletes: what, of which pod, and why. An entry is durable before the deletion begins.
//
// The log is a file of JSON lines below the root directory, with one older file beside it.
package deletions

import (
	"bytes"
	"encoding/json"
	"syscall"

	"github.com/volnode/volnode/hal"
)

const (
	// MaxFile is about how long the file gets before it becomes the older one, in bytes.
	MaxFile = 1 << 20
	// MaxRecent is how many entries are kept in memory.
	MaxRecent = 1000

	fileMode = 0o600
	dirMode  = 0o700
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
	dir string
	seq uint64 // of the last entry
	end int64  // where the next line goes; below 0 if what is there can't be continued
}

// File is the log below dir, volnode's own directory.
func File(dir string) string { return dir + "/deletions.log" }

// Open finds the end of the log, and returns what it says, oldest first. A log that can't be read is begun anew: it keeps no start from going on.
func Open(h *hal.Host, c hal.Call, dir string) (*Log, []Entry) {
	l := &Log{dir: dir}
	older, _ := h.Files.Read(c, older(File(dir)), 2*MaxFile)
	data, err := h.Files.Read(c, File(dir), 2*MaxFile)
	l.end = int64(len(data))
	if err != nil && !hal.Is(err, syscall.ENOENT) || err == nil && len(data) > 0 && data[len(data)-1] != '\n' {
		l.end = -1 // a line was cut short
	}
	entries := append(Parse(older), Parse(data)...)
	for _, e := range entries {
		l.seq = max(l.seq, e.Seq)
	}
	return l, entries[max(0, len(entries)-MaxRecent):]
}

func older(file string) string { return file + ".1" }

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

// Append numbers entries and makes them durable. It blocks.
func (l *Log) Append(h *hal.Host, c hal.Call, entries []Entry) error {
	var lines []byte
	for i := range entries {
		l.seq++ // a number that was not written is not used again
		entries[i].Seq = l.seq
		line, err := json.Marshal(entries[i])
		if err != nil {
			panic("strings did not marshal: " + err.Error())
		}
		lines = append(append(lines, line...), '\n')
	}
	file := File(l.dir)
	if l.end > 0 && l.end+int64(len(lines)) <= MaxFile {
		err := h.Files.WriteAt(c, file, l.end, lines)
		if err == nil {
			err = h.Files.Sync(c, file)
		}
		if !hal.Is(err, syscall.ENOENT) { // somebody removed it
			return l.written(int64(len(lines)), err)
		}
	}
	return l.begin(h, c, lines)
}

// begin writes lines to another file. What has its name becomes the older one.
func (l *Log) begin(h *hal.Host, c hal.Call, lines []byte) error {
	if err := h.Tree.Mkdir(c, l.dir, dirMode); err != nil && !hal.Is(err, syscall.EEXIST) {
		return err
	}
	file, wasEmpty := File(l.dir), l.end == 0
	l.end = -1
	if !wasEmpty {
		if err := h.Tree.Rename(c, file, older(file)); err != nil && !hal.Is(err, syscall.ENOENT) {
			return err
		}
	}
	if err := h.Files.Write(c, file, lines, fileMode); err != nil {
		return err
	}
	for _, name := range []string{file, l.dir} {
		if err := h.Files.Sync(c, name); err != nil {
			return err
		}
	}
	l.end = int64(len(lines))
	return nil
}

// written notes what came of an append. After an error it is not known what is in the file: the next lines go to another one.
func (l *Log) written(size int64, err error) error {
	if err != nil {
		l.end = -1
		return err
	}
	l.end += size
	return nil
}
