package journal

import (
	"maps"
	"slices"

	"github.com/volnode/volnode/engine/core"
)

// Examined is what a start makes of one file of a journal, without the numbers that only order what is written: for
// those who compare journals.
type Examined struct {
	Records []ExaminedRecord // sorted by key
	Damages []string
	Whole   bool // the snapshot is there to its end
}

// ExaminedRecord is one record of a file.
type ExaminedRecord struct {
	Record   core.Record
	Room     int
	Doubtful bool // a later line of it may be lost
}

// Generation returns the number in the name of a generation; false if it is another name.
func Generation(name string) (uint64, bool) { return generationOf(name) }

// Examine reads the content of the file of a generation. An error is a [*VersionError].
func Examine(generation uint64, b []byte) (Examined, error) {
	im, err := parseImage("", b, generation)
	if err != nil {
		return Examined{}, err
	}
	found := content{}
	im.apply(found)
	e := Examined{Whole: im.whole}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		k := found[key]
		e.Records = append(e.Records, ExaminedRecord{k.record, k.room, k.doubtful})
	}
	for _, d := range im.damages {
		e.Damages = append(e.Damages, d.What)
	}
	return e, nil
}
