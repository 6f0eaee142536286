package manifest

import "slices"

// Memo remembers what texts have come to. It is for simulations, whose worlds hold the same manifests again and again:
// it keeps what Secrets hold. The zero value is empty. It is used by one goroutine at a time.
type Memo struct {
	decoded map[namedText]decoding
	cut     map[string]bool
	size    int // of the texts
}

// mostRemembered is how many bytes of texts are remembered before all are forgotten.
const mostRemembered = 4 << 20

// namedText is one, of the manifest of a name, on a node.
type namedText struct{ node, name, text string }

// decoding is what [decodeAll] returns.
type decoding struct {
	content  content
	problems []string
}

// makesRoom forgets all texts if another one of that size would be too much. Maps are made then.
func (m *Memo) makesRoom(size int) {
	if m.size += size; m.decoded == nil || m.size > mostRemembered {
		m.decoded, m.cut, m.size = map[namedText]decoding{}, map[string]bool{}, size
	}
}

// decodeAll is decodeAll for the options' node.
func (o Options) decodeAll(name string, data []byte) (c content, problems []string) {
	m := o.Memo
	if m == nil {
		return decodeAll(o.NodeName, name, data)
	}
	// A map's index by converted bytes makes no copy of them.
	is, ok := m.decoded[namedText{o.NodeName, name, string(data)}]
	if !ok {
		is.content, is.problems = decodeAll(o.NodeName, name, data)
		m.makesRoom(len(data))
		m.decoded[namedText{o.NodeName, name, string(data)}] = is
	}
	is.content.objects = slices.Clone(is.content.objects)
	return is.content, slices.Clone(is.problems)
}

// isCut is isCut.
func (m *Memo) isCut(text []byte) bool {
	if m == nil {
		return isCut(text)
	}
	is, ok := m.cut[string(text)]
	if !ok {
		is = isCut(text)
		m.makesRoom(len(text))
		m.cut[string(text)] = is
	}
	return is
}
