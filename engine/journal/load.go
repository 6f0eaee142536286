package journal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// VersionError is the refusal of a journal that a newer volnode has written. Nothing was changed.
type VersionError struct {
	File    string
	Version uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("journal %s: format version %d, but this volnode reads up to version %d; volnode left it "+
		"unchanged; run the volnode that wrote it, or a newer one", e.File, e.Version, Version)
}

// Loaded is what a journal held when it was opened.
type Loaded struct {
	Records []core.Record // sorted by key, each in doubt as doubt has made it
	Damages []Damage      // each of them may have been a record, which is not known any more
	New     bool          // there was no journal

	// Doubtful are the keys of those Records, sorted, of which a later line may be among the damages: the rung may have
	// moved since, and a call to it may be under way whose bound is not known. Another start is not told of them: what
	// doubt has made of them is in the generation that this one has begun.
	Doubtful []hal.Key
}

// Open reads the journal in dir, which is made if missing, as its parent is, and begins another generation with what it
// read. size is the size of a file in bytes. doubt returns what is to be kept of a record of which a later line may be
// lost: that is what is written, since no later start can see the damage. A start that can't write does not fail:
// [Journal.Stats] says why, and the next batch tries again. It fails if it can't read all there is, with
// [*VersionError] if a newer volnode has written it, with [ErrSize], and, before it changes a file, with what accept
// has against the records. It blocks.
func Open(
	h *hal.Host, c hal.Call, dir string, size int64, doubt func(core.Record) core.Record,
	accept func([]core.Record) error,
) (*Journal, Loaded, error) {
	if size < MinSize || size > MaxSize {
		return nil, Loaded{}, fmt.Errorf("%w: %d", ErrSize, size)
	}
	j := &Journal{
		dir: dir, size: size, least: size, most: size, ledger: newLedger(), broken: errNotBegun,
		boot: bootOf(h.Runtime.BootID()),
	}
	found, damages, err := j.load(h, c)
	if err != nil {
		return nil, Loaded{}, err
	}
	loaded := Loaded{
		Records: make([]core.Record, 0, len(found)), Damages: damages, New: j.generation == 0,
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		k := found[key]
		if k.doubtful {
			k.record = doubt(k.record)
			loaded.Doubtful = append(loaded.Doubtful, key)
		}
		loaded.Records = append(loaded.Records, k.record)
	}
	if err := accept(loaded.Records); err != nil {
		return nil, Loaded{}, err
	}
	if err := makeDir(h, c, dir); err != nil {
		return nil, Loaded{}, err
	}
	j.refill(found)
	j.size = max(size, fits(j.ledger.used)) // it has grown in an earlier life
	// An error is in Stats.
	_ = j.Append(h, c, nil)
	return j, loaded, nil
}

// Peek reads the records of the journal in dir and changes nothing. there is false if dir holds no journal.
func Peek(h *hal.Host, c hal.Call, dir string) (records []core.Record, there bool, err error) {
	j := &Journal{dir: dir, size: MinSize, ledger: newLedger()}
	found, _, err := j.load(h, c)
	for _, key := range slices.Sorted(maps.Keys(found)) {
		records = append(records, found[key].record)
	}
	return records, j.generation > 0, err
}

var errNotBegun = errors.New("no generation was begun since the start")

// makeDir makes dir and its parent durably: a power cut that takes away a directory's name takes all that was synced in
// it.
func makeDir(h *hal.Host, c hal.Call, dir string) error {
	for _, at := range []string{path.Dir(dir), dir} {
		if err := h.Tree.Mkdir(c, at, dirMode); err != nil && !hal.Is(err, syscall.EEXIST) {
			return err
		}
		// Also if it was there: the agent may have died before it synced the name.
		if err := h.Files.Sync(c, path.Dir(at)); err != nil {
			return err
		}
	}
	return nil
}

// load reads the files. What is no whole generation is damage, and only adds to the newest that is whole.
func (j *Journal) load(h *hal.Host, c hal.Call) (content, []Damage, error) {
	generations, odd, spare, err := j.list(h, c)
	if err != nil {
		return nil, nil, err
	}
	var images []image
	var replaced []uint64
	for i, generation := range slices.Backward(generations) {
		j.generation = max(j.generation, generation)
		im, err := readImage(h, c, j.path(nameOf(generation)), generation)
		if _, isNewer := errors.AsType[*VersionError](err); isNewer {
			return nil, nil, err
		} else if err != nil {
			return nil, nil, fmt.Errorf("cannot read the journal, and volnode does nothing without it; to start without it, "+
				"move it away: %w", err)
		}
		images = append(images, im)
		if im.whole {
			replaced = generations[:i]
			break
		}
	}
	if spare {
		j.inspectSpare(h, c)
	}
	found := content{}
	damages := append(j.inspectOdd(odd), j.inspectReplaced(h, c, replaced)...)
	for _, im := range slices.Backward(images) {
		found.doubt() // what an older generation says
		im.apply(found)
		if len(im.damages) > 0 {
			j.aside = append(j.aside, path.Base(im.file))
		}
		damages = append(damages, im.damages...)
	}
	for _, generation := range generations {
		if name := nameOf(generation); !slices.Contains(j.aside, name) {
			j.stale = append(j.stale, name)
		}
	}
	return found, damages, nil
}

// list returns the generations in dir, ascending, what has the name of one and is no file, and whether something has
// the spare's name.
func (j *Journal) list(h *hal.Host, c hal.Call) (generations []uint64, odd []hal.Entry, spare bool, err error) {
	entries, err := h.Tree.List(c, j.dir)
	if err != nil && !hal.Is(err, syscall.ENOENT) {
		return nil, nil, false, err
	}
	for _, e := range entries {
		switch generation, ok := generationOf(e.Name); {
		case ok && e.Type == hal.TypeFile:
			generations = append(generations, generation)
		case ok:
			odd = append(odd, e)
		}
		spare = spare || e.Name == nameSpare
	}
	slices.Sort(generations)
	return generations, odd, spare, nil
}

// inspectOdd tells of what somebody has put in the place of a generation. It is kept like one that is damaged.
func (j *Journal) inspectOdd(odd []hal.Entry) (damages []Damage) {
	for _, e := range odd {
		generation, _ := generationOf(e.Name)
		j.generation = max(j.generation, generation)
		j.aside = append(j.aside, e.Name)
		damages = append(damages, Damage{j.path(e.Name), 0, "it is a " + e.Type.String() + ", not a file"})
	}
	return damages
}

// image is one file as read.
type image struct {
	scanned
	file    string
	damages []Damage
	lost    int // offset of the last damage in which lines were lost, 0 if there is none
}

// apply brings what the image says to found.
func (im *image) apply(found content) {
	var lines []core.Line // of one frame after another
	for _, f := range im.frames {
		if im.lost > 0 && f.at > im.lost {
			found.doubt()
			im.lost = 0
		}
		if err := found.apply(f, &lines); err != nil {
			im.damages = append(im.damages, Damage{
				im.file, int64(f.at),
				"a record with a valid checksum does not parse",
			})
			found.doubt()
		}
	}
	if im.lost > 0 {
		found.doubt()
	}
}

func readImage(h *hal.Host, c hal.Call, file string, generation uint64) (image, error) {
	b, err := h.Files.Read(c, file, MaxSize)
	if hal.Is(err, syscall.EFBIG) {
		return image{file: file, damages: []Damage{{
			file, 0,
			"it is longer than any journal; volnode did not read it",
		}}}, nil
	}
	if err != nil {
		return image{}, err
	}
	return parseImage(file, b, int64(len(b)), generation, bootOf(h.Runtime.BootID()))
}

// parseImage reads the content of a file that has the name of generation, in the present boot: size bytes, of which
// those behind b are zeros.
func parseImage(file string, b []byte, size int64, generation, boot uint64) (image, error) {
	im := image{file: file}
	written, err := parseHeader(b)
	switch {
	case err != nil:
		im.damages = append(im.damages, Damage{file, 0, err.Error()})
	case written.version > Version:
		return image{}, &VersionError{File: file, Version: written.version}
	case written.generation != generation:
		im.damages = append(im.damages, Damage{file, 0, fmt.Sprintf("it was written as %s",
			nameOf(written.generation))})
		generation = written.generation
	}
	im.scanned = scan(b, generation)
	im.whole = im.whole && len(im.damages) == 0
	damages, lost := im.scanned.damages(file, b, written.boot == boot)
	if size < written.size {
		damages = append(damages, Damage{file, size, fmt.Sprintf("it is truncated: it had %d bytes", written.size)})
		lost = len(b)
	}
	im.damages, im.lost = append(im.damages, damages...), lost
	return im, nil
}

// inspectSpare keeps a spare that was never written, so that a start on a full disk has one. Anything else of that
// name is half a snapshot, which nothing depends on.
func (j *Journal) inspectSpare(h *hal.Host, c hal.Call) {
	spare := j.path(nameSpare)
	b, err := h.Files.Read(c, spare, j.size) // of another size it is of no use
	if err != nil || int64(len(b)) < j.size || written(b) > 0 {
		return
	}
	if h.Files.Allocate(c, spare, j.size, fileMode) == nil {
		j.spare, j.spareSize = true, j.size
	}
}

// inspectReplaced looks for damage in generations that a newer one has replaced. They are there if who began that one
// died before it took them away, and before it told anybody of what it had found. Nothing of them is needed: one that
// can't be read at all is kept like one that is damaged.
func (j *Journal) inspectReplaced(h *hal.Host, c hal.Call, generations []uint64) []Damage {
	var damages []Damage
	for _, generation := range generations {
		file := j.path(nameOf(generation))
		im, err := readImage(h, c, file, generation)
		if err != nil {
			im.damages = []Damage{{file, 0, err.Error()}}
		}
		im.apply(content{})
		if len(im.damages) > 0 {
			j.aside = append(j.aside, nameOf(generation))
		}
		damages = append(damages, im.damages...)
	}
	return damages
}

// refill enters what was read in the ledger, each record after those it stands on, so that it finds its ladder. Their
// ages do not tell: who stands on what was made again is older, and what has never been up has no age.
func (j *Journal) refill(found content) {
	isIn := make(map[hal.Key]bool, len(found))
	var enter func(key hal.Key)
	enter = func(key hal.Key) {
		k, ok := found[key]
		if !ok || isIn[key] {
			return
		}
		isIn[key] = true
		for _, below := range k.record.Rung.Below {
			enter(below)
		}
		j.buffer = appendRecord(j.buffer[:0], &k.record)
		j.ledger.put(&k.record, len(j.buffer), int64(k.room))
	}
	byAge := slices.SortedFunc(maps.Keys(found), func(a, b hal.Key) int {
		return cmp.Or(cmp.Compare(found[a].record.Seq, found[b].record.Seq), cmp.Compare(a, b))
	})
	for _, key := range byAge {
		enter(key)
	}
}
