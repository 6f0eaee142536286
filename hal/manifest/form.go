package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file spares a start the YAML of what it knows. The form of a text is its documents as JSON. It lies beside the
// copy of the text in a pack, and serves that text alone: its seal is made of the text's checksum and of itself. So a
// form that is damaged, or of another text, is none, and the copy is decoded as YAML. Objects are made of the form by
// who reads it: another version makes of it what it would make of the text. Whether a manifest is as its copy is says
// the content of both, which is read in any case.

const (
	// formed is of what the seal is made, too. It changes with what is made of a text: see TestFormsAreWhatTheyWere.
	formed = "form 1"
	// beginsForm begins the names of forms in a pack, before those of their manifests. No manifest has such a name.
	beginsForm = "."
	// sealSize is how long a seal is.
	sealSize = 16
)

func sealOfForm(text sum, documents []byte) []byte {
	h := sha256.New()
	_, _ = h.Write([]byte(formed)) // it never fails
	_, _ = h.Write(text[:])
	_, _ = h.Write(documents)
	return h.Sum(nil)[:sealSize]
}

// formOf is the form of a text that was decoded, nil if it has none: of Secrets there are no copies in packs.
func formOf(c content, text sum) []byte {
	if len(c.objects) == 0 || slices.ContainsFunc(c.objects, object.isSecret) {
		return nil
	}
	form := make([]byte, sealSize)
	for _, d := range c.documents {
		form = binary.AppendUvarint(form, uint64(d.number))
		form = binary.AppendUvarint(form, uint64(d.line))
		for _, part := range [][]byte{[]byte(d.is.APIVersion), []byte(d.is.Kind), d.json} {
			form = append(binary.AppendUvarint(form, uint64(len(part))), part...)
		}
	}
	if len(form) > maxFile {
		return nil
	}
	copy(form, sealOfForm(text, form[sealSize:]))
	return form
}

// understand is decode for a text of which only the checksum is asked. It is not ok if form is not the form of that
// text.
func understand(node string, text sum, form []byte) (c content, ok bool) {
	if len(form) <= sealSize || string(sealOfForm(text, form[sealSize:])) != string(form[:sealSize]) {
		return c, false
	}
	for r := (formReader{rest: form[sealSize:]}); len(r.rest) > 0; {
		d := document{number: r.number(), line: r.number()}
		d.is = metav1.TypeMeta{APIVersion: string(r.text()), Kind: string(r.text())}
		d.json = r.text()
		if r.isBad || c.add(node, &d) != nil {
			return content{}, false
		}
		c.documents = append(c.documents, d)
	}
	return c, true
}

// formReader reads what formOf wrote.
type formReader struct {
	rest  []byte
	isBad bool
}

func (r *formReader) number() int {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > maxFile {
		r.isBad = true
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

func (r *formReader) text() []byte {
	size := r.number()
	if r.isBad = r.isBad || size > len(r.rest); r.isBad {
		return nil
	}
	text := r.rest[:size:size]
	r.rest = r.rest[size:]
	return text
}
