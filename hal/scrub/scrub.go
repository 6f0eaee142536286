// Package scrub takes secrets out of what drivers say, and makes the rest fit for one line of a log or a terminal.
//
// The rule: no run of 8 or more bytes of a known secret value comes out, whether the driver quotes it as it is, in
// another case, without its white space, or as hex, base64 (of a larger text, too), URL, JSON, Go, HTML or a list of
// numbers. A value of fewer bytes goes where it is a word of its own.
//
// What the rule gives up, so that texts stay readable: words of every storage error ("password", "https://") and runs
// of few different bytes ("00000000") are hidden as a whole value, or beside more of one, not alone; and a value such
// as "1" hides every 1 that is a word.
//
// Known are the secrets that drivers may have been given and that were read last, about [maxKnown] windows of them, the
// other secrets that were read last, and the tokens that were given last. They are kept as keyed hashes, not as text. A
// secret of the first kind that had to make room is expected again: until somebody has read it, a driver may quote it.
package scrub

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/volnode/volnode/hal"
)

const (
	// fragment is the length from which a run of a secret's bytes is hidden.
	fragment = 8
	// maxText bounds how much of one text is shown, in bytes.
	maxText = 1024
	// maxRead bounds what is read of one text, in bytes.
	maxRead = 8 << 10
	// maxSecret bounds a secret that is learnt, in bytes: a larger one is never sent to a driver (CSI spec, size
	// limits).
	maxSecret = 16 << 10
	// maxKnown is how many windows are kept of the secrets that were read last, twice.
	maxKnown = 256 << 10
)

// maxTokens is how many windows are kept of the tokens that were read last, twice: of about 200 tokens.
const maxTokens = 1 << 20

// maxExpected bounds how many secrets are expected. With more of them, no text is known to be without one.
const maxExpected = 1024

// hidden replaces a secret.
const hidden = "***"

// Scrubber knows secrets and cleans texts. Its methods may be called from any goroutine; they do not block long.
type Scrubber struct {
	seed maphash.Seed
	key  uint64 // of the digests of windows

	mu         sync.Mutex
	secrets    generations                // that drivers may have been given
	others     generations                // that only pods are given: they push out none of those
	tokens     generations                // of service accounts, which come again and again: they push out no secret
	expected   map[string]bool            // names of secrets, true for those that were not learnt
	given      map[string]map[string]bool // the drivers that were given a secret in an earlier life
	lent       map[string]hal.Instant     // until when drivers may have other secrets of an earlier life
	released   map[string]bool            // the drivers that have nothing of an earlier life
	isComplete bool                       // all secrets are named that drivers may have been given
	isTooMany  bool                       // but there was no room for some names
	forgotten  uint64                     // how many secrets that drivers may have been given had to make room
}

// finding is what one value may be found by.
type finding struct {
	windows []window
	words   []string // folded
}

// window is a run of fragment bytes, folded. One that is not strong says nothing by itself.
type window struct {
	digest uint64
	strong bool
}

// generations are what was learnt last, and before.
type generations struct {
	most       int // windows of one
	fresh, old known
}

// known is what one generation of secrets may be found by. The zero value is empty; see newKnown.
type known struct {
	values  map[uint64]bool // whole values, to see at once that one is known
	windows map[uint64]bool // every run of fragment bytes, folded; false for one that says nothing by itself
	words   map[uint64]bool // values that count as words, folded
	names   map[string]bool // whose values they are
	lengths uint64          // bit n: there is a word of n bytes
}

func newKnown() known {
	return known{
		values: map[uint64]bool{}, windows: map[uint64]bool{}, words: map[uint64]bool{}, names: map[string]bool{},
	}
}

// New returns a Scrubber that knows no secret.
func New() *Scrubber {
	seed := maphash.MakeSeed()
	return &Scrubber{
		seed: seed, key: maphash.Comparable(seed, "windows"),
		secrets: generations{most: maxKnown}, others: generations{most: maxKnown}, tokens: generations{most: maxTokens},
		expected: map[string]bool{}, given: map[string]map[string]bool{}, lent: map[string]hal.Instant{},
		released: map[string]bool{},
	}
}

// Expect names a secret that a driver may have been given before anybody here has read it.
func (s *Scrubber) Expect(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expect(name)
}

func (s *Scrubber) expect(name string) {
	if _, isKnown := s.expected[name]; !isKnown && len(s.expected) == maxExpected {
		// those that were learnt need no place: who names one again has it read again
		maps.DeleteFunc(s.expected, func(_ string, isOpen bool) bool { return !isOpen })
	}
	switch _, isKnown := s.expected[name]; {
	case isKnown:
	case len(s.expected) == maxExpected:
		s.isTooMany = true
	default:
		s.expected[name] = true
	}
}

// Give names a secret that a driver was given in an earlier life: the driver knows it, also if nobody else has it any
// more.
func (s *Scrubber) Give(name, driver string) {
	s.Expect(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.given[name] == nil {
		s.given[name] = map[string]bool{}
	}
	s.given[name][driver] = true
}

// Release forgets what a driver was given in an earlier life, but for the secrets that still is true of. Nobody but
// who has them can quote them then.
func (s *Scrubber) Release(driver string, still func(name string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lent, driver)
	s.released[driver] = true
	for name, to := range s.given { // the order does not matter
		if to[driver] && !still(name) {
			delete(to, driver)
		}
		if len(to) == 0 {
			delete(s.given, name)
		}
	}
}

// Lend says that a driver may have been given what nobody can read any more, by an earlier life, and that it is secret
// until then.
func (s *Scrubber) Lend(driver string, until hal.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.released[driver] {
		s.lent[driver] = max(s.lent[driver], until)
	}
}

// IsLent reports whether a driver, "" for any, may have something of that kind.
func (s *Scrubber) IsLent(driver string, now hal.Instant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for to, until := range s.lent { // the order does not matter
		if (to == driver || driver == "") && now < until {
			return true
		}
	}
	return false
}

// IsGiven reports whether a driver, "" for any, was given a secret in an earlier life.
func (s *Scrubber) IsGiven(name, driver string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given[name][driver] || driver == "" && s.given[name] != nil
}

// Complete says that from now on all secrets have a name here that drivers may have been given.
func (s *Scrubber) Complete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isComplete = true
}

// IsComplete reports whether [Scrubber.Complete] was called, and every name had room.
func (s *Scrubber) IsComplete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isComplete && !s.isTooMany
}

// Expected returns the names of the secrets that are expected and were not learnt, sorted.
func (s *Scrubber) Expected() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name, isOpen := range s.expected {
		if isOpen {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Learn takes the values of a secret in. There may be none: then nobody waits for it any more.
func (s *Scrubber) Learn(name string, secret hal.Secret) {
	s.mu.Lock()
	_, isExpected := s.expected[name]
	if isExpected {
		s.expected[name] = false
	}
	to := &s.others
	if isExpected || s.secrets.fresh.names[name] || s.secrets.old.names[name] {
		to = &s.secrets
	}
	s.mu.Unlock()
	size := 0
	for _, value := range secret.Reveal() { // the order does not matter
		if size += len(value); size <= maxSecret {
			s.learn(to, name, value)
		}
	}
}

// Forgotten counts the secrets that drivers may have been given and that had to make room so far. Each of them is
// expected again.
func (s *Scrubber) Forgotten() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgotten
}

// LearnToken takes in a token that a driver is given.
func (s *Scrubber) LearnToken(token string) {
	if len(token) <= maxSecret {
		s.learn(&s.tokens, "", token)
	}
}

// learn takes in a value of the secret that has a name, "" for a token.
func (s *Scrubber) learn(to *generations, name, value string) {
	whole := maphash.String(s.seed, value)
	s.mu.Lock()
	isKnown := to.fresh.values[whole]
	if isKnown {
		to.fresh.names[name] = true
	}
	s.mu.Unlock()
	if isKnown {
		return
	}
	found := s.study(value)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(to.fresh.windows)+len(found.windows) > to.most {
		gone := to.old
		to.old, to.fresh = to.fresh, known{}
		if to == &s.secrets {
			s.forgets(gone)
		}
	}
	if to.fresh.values == nil {
		to.fresh = newKnown()
	}
	to.fresh.values[whole], to.fresh.names[name] = true, true
	for _, w := range found.windows {
		to.fresh.windows[w.digest] = to.fresh.windows[w.digest] || w.strong
	}
	for _, word := range found.words {
		to.fresh.words[maphash.String(s.seed, word)] = true
		to.fresh.lengths |= 1 << len(word)
	}
}

// forgets makes secrets expected again: those with a value in the generation that has gone.
func (s *Scrubber) forgets(gone known) {
	for name := range gone.names { // the order does not matter
		s.forgotten++
		s.expect(name)
		if _, is := s.expected[name]; is {
			s.expected[name] = true
		}
	}
}

// Clean returns text without the secrets that are known, in one printable line of at most about [maxText] bytes.
func (s *Scrubber) Clean(text string) string {
	text = strings.TrimSpace(text)
	rest := max(len(text)-maxRead, 0)
	text = text[:len(text)-rest]
	return printed(text, s.find(text), rest)
}

// all is what is known.
func (s *Scrubber) all() []*known {
	return []*known{
		&s.secrets.fresh, &s.secrets.old, &s.others.fresh, &s.others.old, &s.tokens.fresh, &s.tokens.old,
	}
}

// find marks the bytes of text that are of a secret.
func (s *Scrubber) find(text string) []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.all(), func(k *known) bool { return len(k.values) > 0 }) {
		return nil
	}
	marks := make([]bool, len(text))
	seen := plain(text)
	for range 3 { // an escape may be escaped
		s.markWindows(seen, marks)
		s.markWords(seen, 1, seen.parts, marks)
		for _, v := range [...]view{seen.hex(0), seen.hex(1), seen.numbers()} {
			s.markWindows(v, marks)
			s.markWords(v, leastLine, func(int) bool { return true }, marks)
		}
		var changed bool
		if seen, changed = seen.unescaped(); !changed {
			break
		}
	}
	return marks
}

// markWindows marks the runs of bytes of a view that are of a secret. A window that says nothing by itself is a
// secret's where it goes on with one that does.
func (s *Scrubber) markWindows(v view, marks []bool) {
	weak, isHidden, all := make([]bool, len(v.bytes)+1), make([]bool, len(v.bytes)+1), s.all()
	for i, w := range windowsOf(v.bytes) {
		h := s.digest(w)
		for _, k := range all {
			strong, isKnown := k.windows[h]
			isHidden[i], weak[i] = isHidden[i] || strong, weak[i] || isKnown
		}
	}
	for i := 1; i < len(weak); i++ {
		isHidden[i] = isHidden[i] || weak[i] && isHidden[i-1]
	}
	for i := len(weak) - 2; i >= 0; i-- {
		isHidden[i] = isHidden[i] || weak[i] && isHidden[i+1]
		if isHidden[i] {
			v.mark(marks, i, i+fragment)
		}
	}
}

// markWords marks the words of a view that are values, of least bytes and more. parts says whether a word may begin or
// end before the byte i.
func (s *Scrubber) markWords(v view, least int, parts func(i int) bool, marks []bool) {
	folded, all, lengths := fold(v.bytes), s.all(), uint64(0)
	for _, k := range all {
		lengths |= k.lengths
	}
	for i := range folded {
		if !parts(i) {
			continue
		}
		for n := least; n <= min(maxWord, len(folded)-i); n++ {
			if lengths>>n&1 == 0 || !parts(i+n) {
				continue
			}
			h := maphash.Bytes(s.seed, folded[i:i+n])
			if slices.ContainsFunc(all, func(k *known) bool { return k.words[h] }) {
				v.mark(marks, i, i+n)
			}
		}
	}
}

// blanks is how many bytes of white space, none of them marked, are at i.
func blanks(text string, marks []bool, i int) int {
	n := 0
	for i+n < len(text) && strings.IndexByte(" \n\r\t", text[i+n]) >= 0 && (marks == nil || !marks[i+n]) {
		n++
	}
	return n
}

// oneLine is white space as a line has it: the end of a line and how far the next is indented are one space.
func oneLine(space string) string {
	if strings.ContainsAny(space, "\n\r\t") {
		return " "
	}
	return space
}

// printed is text in one line: *** for what is marked, a space for white space, and the escape of what a terminal would
// obey. It says how much is cut: rest bytes were not even read.
func printed(text string, marks []bool, rest int) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if b.Len() >= maxText {
			rest += len(text) - i
			break
		}
		if marks != nil && marks[i] {
			b.WriteString(hidden)
			for i < len(text) && marks[i] {
				i++
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == ' ' || r == '\n' || r == '\r' || r == '\t':
			size = blanks(text, marks, i)
			b.WriteString(oneLine(text[i : i+size]))
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case strconv.IsPrint(r):
			b.WriteString(text[i : i+size])
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	if rest > 0 {
		fmt.Fprintf(&b, "… (%d bytes cut)", rest)
	}
	return b.String()
}
