package world

import (
	"github.com/volnode/volnode/hal/manifest"
	"github.com/volnode/volnode/internal/wording"
)

// Legacy is what texts have come to in earlier runs: the same ones come up in each. The zero value is empty. It is used
// by one run at a time.
type Legacy struct {
	Manifests manifest.Memo
	texts     map[any][]byte    // of objects, as manifests
	wordings  map[string]string // what is wrong with texts for people
}

// mostKept is how many texts of a kind are kept before all are forgotten.
const mostKept = 512

// textOf is the manifest of an object.
func (l *Legacy) textOf(object any) []byte {
	text, ok := l.texts[object]
	if !ok {
		if text = ManifestOf(object); l.texts == nil || len(l.texts) >= mostKept {
			l.texts = map[any][]byte{}
		}
		l.texts[object] = text
	}
	return text
}

// wording is [wording.Wrong].
func (l *Legacy) wording(text string) string {
	why, ok := l.wordings[text]
	if !ok {
		if why = wording.Wrong(text); l.wordings == nil || len(l.wordings) >= mostKept {
			l.wordings = map[string]string{}
		}
		l.wordings[text] = why
	}
	return why
}
