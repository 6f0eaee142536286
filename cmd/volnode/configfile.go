package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxConfigBytes bounds what is read of a configuration file.
const maxConfigBytes = 1 << 20

// loadConfiguration reads a configuration file over the defaults. Its errors name the file, and the line where there is one.
func loadConfiguration(path string) (configuration, error) {
	f, err := os.Open(path)
	if err != nil {
		return configuration{}, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return configuration{}, err
	}
	if len(content) > maxConfigBytes {
		return configuration{}, fmt.Errorf("%s: longer than %d bytes", path, maxConfigBytes)
	}
	c, err := parseConfiguration(content)
	if err != nil {
		return c, atLine(path, err)
	}
	return c, nil
}

// lineError is an error at a line of a file.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

// atLine puts the file's name before an error, and between them the line if the error knows it.
func atLine(path string, err error) error {
	if e, ok := errors.AsType[*lineError](err); ok {
		return fmt.Errorf("%s:%d: %s", path, e.line, e.text)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// parseConfiguration is strict: a key that is unknown or given twice, an alias, or a second document is an error.
func parseConfiguration(content []byte) (configuration, error) {
	c := defaultConfiguration()
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return c, fmt.Errorf("is empty; it begins with apiVersion: %s and kind: %s", configVersion, configKind)
		}
		return c, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return c, errors.New("has more than one document")
	}
	if err := checkKeys(document.Content[0], reflect.TypeFor[configuration](), ""); err != nil {
		return c, err
	}
	if err := document.Decode(&c); err != nil {
		if e, ok := errors.AsType[*yaml.TypeError](err); ok {
			return c, errors.New(strings.Join(e.Errors, "; "))
		}
		return c, err
	}
	if c.APIVersion != configVersion || c.Kind != configKind {
		return c, fmt.Errorf("is apiVersion %q, kind %q; this volnode reads apiVersion %s, kind %s", c.APIVersion, c.Kind, configVersion, configKind)
	}
	return c, nil
}

// checkKeys walks a node beside the type that it will be decoded into.
func checkKeys(n *yaml.Node, t reflect.Type, at string) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return &lineError{n.Line, "anchors and aliases are not used here"}
	}
	isMap := t.Kind() == reflect.Map
	if t.Kind() != reflect.Struct && !isMap {
		return nil
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return &lineError{n.Line, fmt.Sprintf("%s must hold keys and values", orWhole(at))}
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := join(at, key.Value)
		if line, twice := first[key.Value]; twice {
			return &lineError{key.Line, fmt.Sprintf("key %q is given twice, first in line %d", name, line)}
		}
		first[key.Value] = key.Line
		if isMap {
			if err := checkKeys(value, t.Elem(), name); err != nil {
				return err
			}
			continue
		}
		field, ok := fieldOf(t, key.Value)
		if !ok {
			return &lineError{key.Line, fmt.Sprintf("unknown key %q%s", name, suggestion(t, key.Value))}
		}
		if err := checkKeys(value, field, name); err != nil {
			return err
		}
	}
	return nil
}

func orWhole(at string) string {
	if at == "" {
		return "the file"
	}
	return at
}

func join(at, key string) string { return strings.TrimPrefix(at+"."+key, ".") }

// fieldOf returns the type of the field that a key fills.
func fieldOf(t reflect.Type, key string) (reflect.Type, bool) {
	for f := range t.Fields() {
		if f.Tag.Get("yaml") == key {
			return f.Type, true
		}
	}
	return nil, false
}

// suggestion names the key that was meant: the nearest one beside it, or one of the same name elsewhere.
func suggestion(t reflect.Type, key string) string {
	for _, known := range keysOf(reflect.TypeFor[configuration](), "") {
		if _, last, nested := cutLast(known); nested && last == key {
			return fmt.Sprintf("; did you mean %q?", known)
		}
	}
	best, distance := "", 1+len(key)/2
	var names []string
	for f := range t.Fields() {
		names = append(names, f.Tag.Get("yaml"))
	}
	slices.Sort(names)
	for _, name := range names {
		if d := editDistance(strings.ToLower(key), strings.ToLower(name)); d < distance {
			best, distance = name, d
		}
	}
	if best == "" {
		return "; known here: " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

func cutLast(key string) (string, string, bool) {
	i := strings.LastIndexByte(key, '.')
	return key[:max(i, 0)], key[i+1:], i >= 0
}

// keysOf lists the keys below t by their full names, those below a map excepted.
func keysOf(t reflect.Type, at string) []string {
	var keys []string
	for f := range t.Fields() {
		name := join(at, f.Tag.Get("yaml"))
		keys = append(keys, name)
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, keysOf(f.Type, name)...)
		}
	}
	return keys
}

// editDistance is Levenshtein's, in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
