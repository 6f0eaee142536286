package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/internal/wording"
)

// Limits of one manifest.
const (
	maxFile      = 2 << 20 // bytes: a Secret has 1 MiB of data at most, which is more as base64
	maxExpanded  = 4 << 20 // bytes of JSON that one document may become
	maxDepth     = 100
	maxDocuments = 1000
)

// document is one document of a manifest as JSON, items of a List apart.
type document struct {
	json   []byte
	number int             // from 1
	line   int             // where it begins, from 1
	node   *yaml.Node      // as it was written; nil in JSON
	is     metav1.TypeMeta // what it says to be, once that was read
}

// where names the document for people.
func (d document) where() string { return fmt.Sprintf("document %d, line %d", d.number, d.line) }

// placed is an error in a line of the file.
type placed struct {
	line int
	text string
}

func (p placed) Error() string { return fmt.Sprintf("line %d: %s", p.line, p.text) }

func inLine(line int, format string, args ...any) error {
	return placed{line, fmt.Sprintf(format, args...)}
}

// inDocument says in which document an error is, and in which line of the file: in that of the error, else in the one
// in which the document begins.
func (d document) inDocument(err error) string {
	if p, ok := errors.AsType[placed](err); ok {
		d.line, err = p.line, errors.New(p.text)
	}
	return fmt.Sprintf("%s: %v", d.where(), err)
}

// inItem says in which item of a List an error is, behind its line.
func inItem(i int, err error) error {
	if p, ok := errors.AsType[placed](err); ok {
		return inLine(p.line, "item %d: %s", i, p.text)
	}
	return fmt.Errorf("item %d: %w", i, err)
}

// split cuts a manifest into its documents. JSON is read as JSON, since YAML refuses tabs that JSON allows. What is
// neither is an error of the one that it is meant to be.
func split(data []byte, isJSON bool) ([]document, error) {
	if rest, begins := bytes.CutPrefix(bytes.TrimLeft(data, blanks), []byte("{")); begins {
		documents, err := splitJSON(data)
		if err == nil {
			return documents, nil
		}
		// YAML's flow style begins the same way, but hardly ever has its keys in quotes.
		isJSON = isJSON || bytes.HasPrefix(bytes.TrimLeft(rest, blanks), []byte(`"`))
	}
	documents, err := splitYAML(data)
	if _, isSyntax := errors.AsType[syntaxError](err); isSyntax && isJSON {
		return splitJSON(data)
	}
	return documents, err
}

// blanks are those of JSON.
const blanks = " \t\r\n"

func splitJSON(data []byte) ([]document, error) {
	var all []document
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		offset := skipSpace(data, int(decoder.InputOffset()))
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, inJSON(data, offset, len(all)+1)
		}
		if len(all) == maxDocuments {
			return nil, fmt.Errorf("more than %d documents", maxDocuments)
		}
		all = append(all, document{json: raw, number: len(all) + 1, line: 1 + bytes.Count(data[:offset], []byte("\n"))})
	}
}

// inJSON says where the document that begins at an offset is no JSON.
func inJSON(data []byte, offset, number int) error {
	var raw json.RawMessage
	err := json.Unmarshal(data[offset:], &raw)
	end := len(data)
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		end = min(end, offset+int(bad.Offset))
	}
	line := 1 + bytes.Count(data[:end], []byte("\n"))
	return syntaxError{fmt.Errorf("document %d, line %d: not valid JSON: %w", number, line, err), "JSON", true}
}

func skipSpace(data []byte, at int) int {
	for at < len(data) && strings.IndexByte(blanks, data[at]) >= 0 {
		at++
	}
	return at
}

func splitYAML(data []byte) ([]document, error) {
	var all []document
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for number := 1; ; number++ {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			if tab, is := wording.Tab(data); is {
				return nil, syntaxError{fmt.Errorf("document %d, %s", number, tab), "YAML", false}
			}
			return nil, syntaxError{errors.New(notYAML(number, err)), "YAML", true}
		}
		if number > maxDocuments {
			return nil, fmt.Errorf("more than %d documents", maxDocuments)
		}
		if node.Kind != yaml.DocumentNode || len(node.Content) != 1 || empty(node.Content[0]) {
			continue
		}
		w := writer{}
		if err := w.value(node.Content[0], 0); err != nil {
			return nil, errors.New(document{number: number, line: node.Content[0].Line}.inDocument(err))
		}
		all = append(all, document{
			json: w.out.Bytes(), number: number, line: node.Content[0].Line,
			node: node.Content[0],
		})
	}
}

// lineOfYAML is the line, if any, that the parser's text begins with. No other part of its error says it.
var lineOfYAML = regexp.MustCompile(`^yaml: (line \d+: )?`)

// notYAML is the parser's error in the form of all others.
func notYAML(number int, err error) string {
	text := fmt.Sprint(err)
	begins := lineOfYAML.FindStringSubmatch(text)
	if begins == nil || begins[1] == "" {
		return fmt.Sprintf("document %d: not valid YAML: %s", number, strings.TrimPrefix(text, "yaml: "))
	}
	return fmt.Sprintf("document %d, %snot valid YAML: %s", number, begins[1], text[len(begins[0]):])
}

// syntaxError is an error of the parser.
type syntaxError struct {
	error
	language string
	quotes   bool // its text may quote the file
}

func empty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// writer turns YAML into JSON. What it writes is bounded, so that aliases of aliases can't make much of little.
type writer struct{ out bytes.Buffer }

func (w *writer) value(n *yaml.Node, depth int) error {
	switch {
	case depth > maxDepth:
		return inLine(n.Line, "nested more than %d deep", maxDepth)
	case w.out.Len() > maxExpanded:
		return inLine(n.Line, "with its aliases written out the document is longer than %d bytes",
			maxExpanded)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return w.mapping(n, depth)
	case yaml.SequenceNode:
		w.out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				w.out.WriteByte(',')
			}
			if err := w.value(item, depth+1); err != nil {
				return err
			}
		}
		w.out.WriteByte(']')
		return nil
	case yaml.ScalarNode:
		return w.scalar(n)
	case yaml.DocumentNode:
	}
	return inLine(n.Line, "not a value")
}

// mapping refuses keys that come twice, and keys that are not plain text.
func (w *writer) mapping(n *yaml.Node, depth int) error {
	seen := map[string]bool{}
	w.out.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode:
			return inLine(key.Line, "a key must be text")
		case key.ShortTag() == "!!merge":
			return inLine(key.Line, "merge keys (<<) are not supported; write the fields out")
		case seen[key.Value]:
			return inLine(key.Line, "the field is there twice")
		}
		seen[key.Value] = true
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.text(key.Value)
		w.out.WriteByte(':')
		if err := w.value(n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	return nil
}

// scalar writes numbers, booleans and null as such and all else as text. Plain yes, no, on and off are booleans, as for
// kubectl (YAML 1.1).
func (w *writer) scalar(n *yaml.Node) error {
	tag := n.ShortTag()
	if n.Style == 0 && tag == "!!str" {
		switch strings.ToLower(n.Value) {
		case "yes", "on":
			w.out.WriteString("true")
			return nil
		case "no", "off":
			w.out.WriteString("false")
			return nil
		}
	}
	switch tag {
	case "!!str", "!!timestamp":
		w.text(n.Value)
		return nil
	case "!!null", "!!bool", "!!int", "!!float":
		var v any
		if n.Decode(&v) == nil {
			if text, err := json.Marshal(v); err == nil {
				w.out.Write(text)
				return nil
			}
		}
		return inLine(n.Line, "not a number or boolean")
	}
	return inLine(n.Line, "a tag that is not supported")
}

func (w *writer) text(s string) {
	text, err := json.Marshal(s)
	if err != nil {
		panic("a string did not marshal: " + err.Error())
	}
	w.out.Write(text)
}
