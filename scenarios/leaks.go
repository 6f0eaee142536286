package scenarios

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/internal/wording"
)

// leaks finds secrets in texts: every run of eight or more of a value's bytes, as it is and encoded. It knows the
// values from the world's truth, and shares nothing with what the engine searches by.
type leaks struct {
	windows map[string]bool
	// a bit for the hash of each block in a window: a window that ends at another block there is not
	blocks [1 << 10]uint64
	words  []string // values that are shorter: told where they are words of their own
}

// telling is how many bytes of a secret are too many, and blockLength how many of them are looked at first.
const telling, blockLength = 8, 4

// plant puts a secret into the world, and into what must come out nowhere.
func (r *run) plant(namespace, name string, data map[string]string) {
	r.w.PutSecret(namespace, name, data)
	if !r.files {
		return
	}
	text := "apiVersion: v1\nkind: Secret\nmetadata: {namespace: " + namespace + ", name: " + name + "}\nstringData:\n"
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text += "  " + key + ": " + strconv.Quote(data[key]) + "\n"
	}
	file := manifestDir + "/secret-" + name + ".yaml"
	r.written[file] = text
	r.w.WriteFile(file, []byte(text))
}

// uproots deletes a secret; what was in it must come out nowhere all the same.
func (r *run) uproots(namespace, name string) {
	r.w.DeleteSecret(namespace, name)
	if r.files {
		r.unlinks(manifestDir + "/secret-" + name + ".yaml")
	}
}

// leaksOf knows the values of secrets.
func leaksOf(secrets ...map[string]string) *leaks {
	l := &leaks{windows: map[string]bool{}}
	for _, data := range secrets {
		for _, key := range slices.Sorted(maps.Keys(data)) {
			l.add(data[key])
		}
	}
	return l
}

// contentOf is what a Secret of a scenario holds. One without a value has the mark.
func contentOf(s *corev1.Secret) map[string]string {
	data := map[string]string{}
	for key, value := range s.Data {
		data[key] = string(value)
	}
	maps.Copy(data, s.StringData)
	if len(data) == 0 {
		data["mark"] = secretMark
	}
	return data
}

// formsOfSecret are the texts by which a value is known again.
func formsOfSecret(value string) []string {
	forms := []string{
		value, strings.ToUpper(value), strings.ToLower(value), strconv.Quote(value), url.QueryEscape(value),
		url.PathEscape(value),
		hex.EncodeToString([]byte(value)), fmt.Sprintf("%X", value),
		strings.ReplaceAll(fmt.Sprintf("% x", value), " ", ":"),
		strings.ReplaceAll(fmt.Sprintf("% X", value), " ", ":"), strings.Trim(fmt.Sprint([]byte(value)), "[]"),
	}
	for skew := range 3 {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			text := encoding.WithPadding(base64.NoPadding).EncodeToString([]byte("___"[:skew] + value))
			forms = append(forms, text[min(len(text), 2*skew):max(min(len(text), 2*skew), len(text)-1)])
		}
	}
	return forms
}

func (l *leaks) add(value string) {
	if word := strings.TrimSpace(value); len(word) < telling {
		l.words = append(l.words, word, hex.EncodeToString([]byte(word)))
		return
	}
	for _, form := range formsOfSecret(value) {
		for i := range max(len(form)-telling+1, 0) {
			l.windows[form[i:i+telling]] = true
			for at := i; at <= i+telling-blockLength; at++ {
				h := bitOf(form[at : at+blockLength])
				l.blocks[h>>6] |= 1 << (h & 63)
			}
		}
	}
}

func bitOf(b string) uint32 {
	return (uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24) * 0x9e3779b9 >> 16
}

// in is what of a secret is in a text, "" for nothing.
func (l *leaks) in(text string) string {
	for end := telling; end <= len(text); {
		switch h := bitOf(text[end-blockLength : end]); {
		case l.blocks[h>>6]>>(h&63)&1 == 0:
			end += telling - blockLength + 1 // no window has this block
		case l.windows[text[end-telling:end]] && !isFraction(text, end-telling, end):
			return text[end-telling : end]
		default:
			end++
		}
	}
	for _, word := range l.words {
		if rest, found := text, true; word != "" && strings.Contains(text, word) {
			for found {
				var before string
				if before, rest, found = strings.Cut(rest, word); found && !endsInLetter(before) &&
					!beginsWithLetter(rest) {
					return word
				}
			}
		}
	}
	return ""
}

// isFraction reports whether a part of a text is digits of the fraction of a duration, as 942756238 in 31.942756238s:
// those can be any, also those of a secret in hexadecimal.
func isFraction(text string, from, to int) bool {
	for from > 0 && isDigit(text[from-1]) {
		from--
	}
	for to < len(text) && isDigit(text[to]) {
		to++
	}
	isNumber := strings.TrimLeft(text[from:to], "0123456789") == "" && to-from <= 9
	isPart := from > 1 && text[from-1] == '.' && isDigit(text[from-2])
	unit, _, _ := strings.Cut(text[to:], "s")
	return isNumber && isPart && to+len(unit) < len(text) && slices.Contains([]string{"", "m", "µ", "n"}, unit)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

func endsInLetter(s string) bool { return s != "" && isLetter(s[len(s)-1]) }

func beginsWithLetter(s string) bool { return s != "" && isLetter(s[0]) }

// reveals is S17 of a text that people read: it has no secret, and nothing that a terminal obeys.
func (r *run) reveals(site, object, text string) {
	if part := r.leaks.in(text); part != "" {
		r.fail("S17", site, object, fmt.Sprintf("%q, of a secret, is in the %s: %q", part, site, text))
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' || c == 0x7f {
			r.fail("S17", site, object, fmt.Sprintf("a control character is in the %s: %q", site, text))
			return
		}
	}
}

// wording is L12 of a text that people read: nothing is missing in it.
func (r *run) wording(site, object, text string) {
	r.judges("L12")
	if why := wording.Wrong(strings.ReplaceAll(text, "***", "masked")); why != "" {
		r.fail("L12", "wording", object, fmt.Sprintf("%s, in the %s: %q", why, site, text))
	}
}

// readsLog looks at what a line of the log gives for a reason.
func (r *run) readsLog(e engine.Entry) {
	r.wording("log", e.Message, e.Message)
	for i := 1; i < len(e.Fields); i += 2 {
		switch e.Fields[i-1] {
		case "why", "reason", "error", "field":
			r.wording("log", e.Message, e.Fields[i])
		}
	}
}

// readsStatus looks at all reasons that a status gives.
func (r *run) readsStatus(s engine.Status) {
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			r.wording("status", p.Name+"/"+v.Name, v.Why)
		}
	}
	for _, k := range s.Rungs {
		for _, text := range []string{k.Step, k.Why, k.Next} {
			r.wording("status", string(k.Key), text)
		}
	}
	for _, d := range s.Drivers {
		r.wording("status", d.Name, d.Why)
		r.wording("status", d.Name, d.LastAnswer)
	}
	for _, t := range s.Sources {
		r.wording("status", t.Where, t.Where)
		r.wording("status", t.Where, t.Why)
	}
	for _, text := range append(s.Journal.Damage, s.Journal.Why) {
		r.wording("status", "journal", text)
	}
}
