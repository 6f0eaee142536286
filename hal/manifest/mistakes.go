package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volnode/volnode/internal/wording"
)

// This file says where a document does not fit its type. The decoder's own errors name types of Go, and no line.

// mostMistakes bounds the mistakes shown of one document, of one incomplete object, and of a whole file.
const mostMistakes = 5

// mistake is one value that does not fit its type.
type mistake struct {
	at   string // its path: spec.containers[0].name
	line int    // 0 if it is not known
	what string
}

// mistakes finds them.
type mistakes struct {
	all []mistake
}

// mistaken returns what is wrong with a document for a type, nil if nothing is found. It quotes no value but a
// quantity: values may be secrets.
func mistaken(d document, t reflect.Type) error {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(d.json))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil //nolint:nilerr // the decoder reports it
	}
	m := mistakes{}
	m.value(value, t, "", d.node)
	if len(m.all) == 0 {
		return nil
	}
	slices.SortStableFunc(m.all, func(a, b mistake) int { return cmp.Compare(a.line, b.line) })
	var problems []error
	for _, is := range m.all {
		if is.line > 0 {
			problems = append(problems, inLine(is.line, "%s: %s", is.at, is.what))
		} else {
			problems = append(problems, fmt.Errorf("%s: %s", is.at, is.what))
		}
	}
	return allOf(problems)
}

func (m *mistakes) add(at string, node *yaml.Node, format string, args ...any) {
	line := 0
	if node != nil {
		line = node.Line
	}
	m.all = append(m.all, mistake{
		cmp.Or(strings.TrimPrefix(at, "."), "the document"), line,
		fmt.Sprintf(format, args...),
	})
}

// value looks at a value and what is in it. node is where it was written, nil if that is not known.
func (m *mistakes) value(v any, t reflect.Type, at string, node *yaml.Node) {
	for node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case v == nil:
	case t == reflect.TypeFor[resource.Quantity]():
		m.quantity(v, at, node)
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
	case t.Kind() == reflect.Struct:
		m.fields(v, t, at, node)
	case t.Kind() == reflect.Map:
		values, is := v.(map[string]any)
		if !is {
			m.add(at, node, "must be a mapping (key: value), and is %s", kindOf(v))
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			_, child := entryOf(node, key)
			m.value(values[key], t.Elem(), at+"["+key+"]", child)
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		items, is := v.([]any)
		if !is {
			m.add(at, node, "must be a list (each item on a line that begins with -), and is %s", kindOf(v))
		}
		for i, item := range items {
			m.value(item, t.Elem(), at+"["+strconv.Itoa(i)+"]", itemOf(node, i))
		}
	default:
		m.scalar(v, t, at, node)
	}
}

func (m *mistakes) quantity(v any, at string, node *yaml.Node) {
	text := fmt.Sprint(v)
	if _, err := resource.ParseQuantity(text); err != nil {
		m.add(at, node, "%.40q is not a quantity; write a number with a unit, like 512Mi or 10Gi", text)
	}
}

func (m *mistakes) scalar(v any, t reflect.Type, at string, node *yaml.Node) {
	number, isNumber := v.(json.Number)
	_, isText := v.(string)
	_, isBool := v.(bool)
	switch t.Kind() {
	case reflect.String, reflect.Slice:
		if isNumber || isBool {
			m.add(at, node, "must be text, and is %s; put it in quotes", kindOf(v))
		} else if !isText {
			m.add(at, node, "must be text, and is %s", kindOf(v))
		}
	case reflect.Bool:
		if !isBool {
			m.add(at, node, "must be true or false, and is %s", kindOf(v))
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if _, err := strconv.ParseInt(string(number), 10, t.Bits()); !isNumber || err != nil {
			m.add(at, node, "must be a whole number of %d bits, and is %s", t.Bits(), kindOf(v))
		}
	default:
	}
}

// fields looks at an object of a type with fields.
func (m *mistakes) fields(v any, t reflect.Type, at string, node *yaml.Node) {
	object, is := v.(map[string]any)
	if !is {
		m.add(at, node, "must be a mapping (key: value), and is %s", kindOf(v))
		return
	}
	known := fieldsOf(t)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		name, child := entryOf(node, key)
		if field, is := known[key]; is {
			m.value(object[key], field, at+"."+key, child)
			continue
		}
		meant := ""
		if near := wording.Nearest(key, slices.Sorted(maps.Keys(known))); near != "" {
			meant = fmt.Sprintf("; did you mean %q?", near)
		}
		m.add(at+"."+key, name, "unknown field %q%s", key, meant)
	}
}

// fieldsOf is the fields of a type by their names in JSON, those of embedded types included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && (name == "" || strings.Contains(options, "inline")) {
			maps.Copy(all, fieldsOf(f.Type))
		} else if name != "" && name != "-" {
			all[name] = f.Type
		}
	}
	return all
}

func kindOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	case string:
		return "text"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	}
	return "nothing"
}

// entryOf is the key of a mapping, and its value, as they were written.
func entryOf(node *yaml.Node, key string) (name, value *yaml.Node) {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}

func itemOf(node *yaml.Node, i int) *yaml.Node {
	if node == nil || node.Kind != yaml.SequenceNode || i >= len(node.Content) {
		return nil
	}
	return node.Content[i]
}
