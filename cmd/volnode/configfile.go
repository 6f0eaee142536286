package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/volnode/volnode/internal/wording"
)

// maxConfigBytes bounds what is read of a configuration file.
const maxConfigBytes = 1 << 20

// loadConfiguration reads a configuration file over the defaults, and checks every value. Its errors name the file, and
// the line where there is one.
func loadConfiguration(path string) (configuration, error) {
	content, err := readConfiguration(path)
	if err != nil {
		return configuration{}, err
	}
	c, lines, err := parseConfiguration(content)
	if err != nil {
		return c, atLines(path, err, nil)
	}
	whole := c
	if whole.NodeName == "" {
		whole.NodeName = "node" // a flag may give it
	}
	return c, atLines(path, whole.complete(), lines)
}

// readConfiguration refuses a file that others could have written: it says where root mounts, and what it hands to
// whom.
func readConfiguration(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch { // whoever runs volnode may have written it
	case !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("%s: belongs to uid %d, not to root: check its content, then chown root %[1]s",
			path, st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("%s: writable by users other than root (mode %04o): check its content, then "+
			"chmod go-w %[1]s",
			path, info.Mode().Perm())
	}
	content, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxConfigBytes {
		return nil, fmt.Errorf("%s: longer than %d bytes", path, maxConfigBytes)
	}
	return content, nil
}

// lineError is an error at a line of a file.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

// atLines puts the file's name before each error, and between them the line if the error knows it, or its key does.
// They are sorted by line.
func atLines(path string, err error, lines map[string]int) error {
	if err == nil {
		return nil
	}
	all := flat(err)
	told := make([]*lineError, 0, len(all))
	for _, one := range all {
		e, isAtLine := errors.AsType[*lineError](one)
		if !isAtLine {
			e = &lineError{0, one.Error()}
			if v, is := errors.AsType[*valueError](one); is {
				e.line = lines[v.key]
			}
		}
		told = append(told, e)
	}
	slices.SortStableFunc(told, func(a, b *lineError) int { return cmp.Compare(a.line, b.line) })
	texts := make([]string, 0, len(told))
	for _, e := range told {
		where := path
		if e.line > 0 {
			where += fmt.Sprintf(":%d", e.line)
		}
		texts = append(texts, where+": "+e.text)
	}
	return errors.New(strings.Join(texts, "\n"))
}

// parseConfiguration is strict: a key that is unknown or given twice, an alias, or a second document is an error.
// It also returns the line of each key.
func parseConfiguration(content []byte) (configuration, map[string]int, error) {
	c, k := defaultConfiguration(), keys{lines: map[string]int{}, former: map[string]string{}}
	err := c.parse(content, k)
	for _, name := range slices.Sorted(maps.Keys(k.former)) {
		c.former = append(c.former, fmt.Sprintf("line %d: %s is now called %s", k.lines[name], k.former[name], name))
	}
	return c, k.lines, err
}

func (c *configuration) parse(content []byte, k keys) error {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("is empty; begin it with apiVersion: %s and kind: %s", configVersion, configKind)
		}
		if tab, is := wording.Tab(content); is {
			return errors.New(tab)
		}
		return err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("has more than one document")
	}
	if err := k.check(document.Content[0], reflect.TypeFor[configuration](), ""); err != nil {
		return err
	}
	if err := document.Decode(c); err != nil {
		return err
	}
	if c.APIVersion != configVersion || c.Kind != configKind {
		if c.APIVersion == "" || c.Kind == "" {
			return fmt.Errorf("has no apiVersion, or no kind; this volnode reads apiVersion %s, kind %s",
				configVersion, configKind)
		}
		return fmt.Errorf("is apiVersion %q, kind %q; this volnode reads apiVersion %s, kind %s", c.APIVersion, c.Kind,
			configVersion, configKind)
	}
	return nil
}

// keys are the keys of a file: the line of each, and the name in the file if that is the one of earlier versions.
type keys struct {
	lines  map[string]int
	former map[string]string
}

// formerKeys are the names that keys had in earlier versions. They are read, and the log tells the new name.
var formerKeys = map[string]string{"settle": "lateWindow"}

// check walks a node beside the type that it will be decoded into.
func (k keys) check(n *yaml.Node, t reflect.Type, at string) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return &lineError{n.Line, "anchors and aliases are not supported"}
	}
	isMap := t.Kind() == reflect.Map
	if t.Kind() != reflect.Struct && !isMap {
		return checkValue(n, t, at)
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return &lineError{n.Line, fmt.Sprintf("%s must hold keys and values", orWhole(at))}
	}
	var all []error
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := join(at, key.Value)
		if now, is := formerKeys[key.Value]; is && !isMap {
			if _, isHere := fieldOf(t, now); isHere {
				k.former[join(at, now)] = name
				key.Value, name = now, join(at, now)
			}
		}
		if line, twice := first[key.Value]; twice {
			all = append(all, &lineError{key.Line, fmt.Sprintf("key %q is given twice, first in line %d", name, line)})
			continue
		}
		first[key.Value] = key.Line
		k.lines[name] = key.Line
		var field reflect.Type
		isKnown := isMap
		if isMap {
			field = t.Elem()
		} else {
			field, isKnown = fieldOf(t, key.Value)
		}
		if !isKnown {
			all = append(all, &lineError{key.Line, fmt.Sprintf("unknown key %q%s", name, suggestion(t, key.Value))})
			continue
		}
		all = append(all, flat(k.check(value, field, name))...)
	}
	return errors.Join(all...)
}

// flat returns the errors that were joined in one.
func flat(err error) []error {
	if several, is := err.(interface{ Unwrap() []error }); is {
		return several.Unwrap()
	}
	return []error{err}
}

// checkValue refuses what the decoder would refuse in words of its own.
func checkValue(n *yaml.Node, t reflect.Type, at string) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil // the default
	}
	bad := func(format string, args ...any) error {
		return &lineError{n.Line, at + ": " + fmt.Sprintf(format, args...)}
	}
	if t.Kind() == reflect.Slice {
		for _, one := range n.Content {
			if one.Kind != yaml.ScalarNode || one.Tag == "!!null" {
				return bad("must be a list of single values, like [a, b]")
			}
		}
		if n.Kind != yaml.SequenceNode {
			return bad("must be a list, like [a, b]")
		}
		return nil
	}
	if n.Kind != yaml.ScalarNode {
		return bad("must be one value")
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	tag := n.ShortTag()
	switch t {
	case reflect.TypeFor[time.Duration]():
		if _, err := time.ParseDuration(n.Value); err == nil && tag == "!!str" {
			return nil
		}
		if tag == "!!int" || tag == "!!float" {
			return bad("%s has no unit; write %[1]ss", n.Value)
		}
		return bad("%q is not a time like 30s or 2m", n.Value)
	case reflect.TypeFor[slog.Level]():
		if err := checkLevel(n.Value); err != nil {
			return bad("%v", err)
		}
	case reflect.TypeFor[size]():
		if err := new(size).UnmarshalYAML(n); err != nil {
			return bad("%v", err)
		}
	case reflect.TypeFor[bool]():
		if n.Decode(new(bool)) != nil {
			return bad("%q is neither true nor false", n.Value)
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
		if f.IsExported() && f.Tag.Get("yaml") == key {
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
	var names []string
	for f := range t.Fields() {
		if f.IsExported() {
			names = append(names, f.Tag.Get("yaml"))
		}
	}
	slices.Sort(names)
	best := wording.Nearest(key, names)
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
		if !f.IsExported() {
			continue
		}
		name := join(at, f.Tag.Get("yaml"))
		keys = append(keys, name)
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, keysOf(f.Type, name)...)
		}
	}
	return keys
}
