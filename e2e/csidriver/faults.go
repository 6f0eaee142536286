package csidriver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/volnode/volnode/internal/wording"
)

// Rule is one fault. The first rule of the control file that matches a call and is not used up applies to it; all
// others are ignored for that call. A rule acts in this order:
//
//	DelayBefore, Crash "before", FailBefore, the effect, DelayAfter, Crash "after", FailAfter, Reply
//
// so that FailBefore is an error without an effect, and FailAfter is a lost reply.
type Rule struct {
	Method      string   `json:"method"`           // RPC without its service, for example NodeStageVolume; "*" is any
	Volume      string   `json:"volume,omitempty"` // volume ID; for CreateVolume also the name; empty is any
	Skip        int      `json:"skip,omitempty"`   // let that many matching calls pass first
	Times       int      `json:"times,omitempty"`  // apply to that many calls, then never again; 0 is no limit
	DelayBefore Duration `json:"delayBefore,omitempty"`
	DelayAfter  Duration `json:"delayAfter,omitempty"`
	FailBefore  Code     `json:"failBefore,omitempty"`
	FailAfter   Code     `json:"failAfter,omitempty"`
	Message     string   `json:"message,omitempty"` // of the error; empty says that it was injected
	Crash       Moment   `json:"crash,omitempty"`
	Reply       Nonsense `json:"reply,omitempty"`
}

// Moment says on which side of the effect something happens.
type Moment string

// The moments.
const (
	MomentBefore Moment = "before"
	MomentAfter  Moment = "after"
)

// Nonsense is an answer that no driver should give. The effect of the call is real.
type Nonsense string

// The kinds of nonsense.
const (
	NonsenseEmpty       Nonsense = "empty"        // the right message with no field set
	NonsenseWrongType   Nonsense = "wrong-type"   // a valid message of another RPC
	NonsenseGarbage     Nonsense = "garbage"      // bytes that are no protobuf message
	NonsenseHuge        Nonsense = "huge"         // more than the 4 MiB that a gRPC client takes by default
	NonsenseUnknownEnum Nonsense = "unknown-enum" // capability answers only: one capability with an unknown number
)

// Duration is a time.Duration that is written as text, for example "1.5s".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a time like 1.5s", text)
	}
	*d = Duration(parsed)
	return nil
}

// Code is a gRPC code that is written as its name, for example "Unavailable" or "UNAVAILABLE".
type Code codes.Code

// MarshalText implements encoding.TextMarshaler.
func (c Code) MarshalText() ([]byte, error) { return []byte(codes.Code(c).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Code) UnmarshalText(text []byte) error {
	name := strings.ReplaceAll(string(text), "_", "")
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		if strings.EqualFold(code.String(), name) {
			*c = Code(code)
			return nil
		}
	}
	return fmt.Errorf("%w: %q is no gRPC error code", ErrFaults, text)
}

// ErrFaults is wrapped by every complaint about a control file. A call that meets one fails with INTERNAL, so that a
// typing error cannot pass for a driver that works.
var ErrFaults = errors.New("faults")

// ParseRules reads the content of a control file: a JSON list of rules. Empty content is an empty list.
func ParseRules(data []byte) ([]Rule, error) {
	var rules []Rule
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	if err := knownFields(data); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &rules); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrFaults, saysOf(err, data))
	}
	for i, r := range rules {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("rule %d: %w", i, err)
		}
	}
	return rules, nil
}

// methods are the RPCs that a driver serves, without their services, sorted.
var methods = methodsOf(csi.Identity_ServiceDesc, csi.Controller_ServiceDesc, csi.Node_ServiceDesc,
	registerapi.Registration_ServiceDesc)

func methodsOf(services ...grpc.ServiceDesc) (names []string) {
	for _, s := range services {
		for _, m := range s.Methods {
			names = append(names, m.MethodName)
		}
	}
	slices.Sort(names)
	return names
}

func (r Rule) check() error {
	switch r.Crash {
	case "", MomentBefore, MomentAfter:
	default:
		return fmt.Errorf("%w: crash %q: want before or after", ErrFaults, r.Crash)
	}
	switch r.Reply {
	case "", NonsenseEmpty, NonsenseWrongType, NonsenseGarbage, NonsenseHuge, NonsenseUnknownEnum:
	default:
		return fmt.Errorf("%w: reply %q: want empty, wrong-type, garbage, huge or unknown-enum", ErrFaults, r.Reply)
	}
	switch {
	case r.Method == "":
		return fmt.Errorf("%w: a rule has no method; write the RPC, like NodeStageVolume, or * for any", ErrFaults)
	case r.Method != "*" && !slices.Contains(methods, r.Method):
		return fmt.Errorf("%w: method: there is no RPC %q%s", ErrFaults, r.Method,
			wording.Meant(r.Method, append([]string{"*"}, methods...)))
	case r.Skip < 0 || r.Times < 0 || r.DelayBefore < 0 || r.DelayAfter < 0:
		return fmt.Errorf("%w: skip, times, delayBefore and delayAfter are not below 0", ErrFaults)
	}
	return nil
}

// knownFields refuses fields that a rule does not have.
func knownFields(data []byte) error {
	var rules []map[string]json.RawMessage
	if json.Unmarshal(data, &rules) != nil {
		return nil //nolint:nilerr // it is no list of rules, which is told elsewhere
	}
	var names []string
	for f := range reflect.TypeFor[Rule]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	for i, r := range rules {
		for _, field := range slices.Sorted(maps.Keys(r)) {
			if !slices.Contains(names, field) {
				return fmt.Errorf("%w: rule %d: there is no field %q%s", ErrFaults, i, field,
					wording.Meant(field, names))
			}
		}
	}
	return nil
}

// saysOf says in words of the file what the decoder has against it.
func saysOf(err error, data []byte) string {
	bad, is := errors.AsType[*json.UnmarshalTypeError](err)
	if !is {
		return err.Error()
	}
	where := fmt.Sprintf("line %d: ", 1+bytes.Count(data[:min(int(bad.Offset), len(data))], []byte("\n")))
	if bad.Field == "" {
		return where + "the file is a list of rules, each between { and }; this is " + article(bad.Value)
	}
	return where + bad.Field + " can't be " + article(bad.Value)
}

// article puts one before what the decoder calls a value.
func article(value string) string {
	switch {
	case strings.HasPrefix(value, "bool"):
		return "true or false"
	case strings.HasPrefix(value, "number "):
		return "the " + value
	case strings.HasPrefix(value, "a"), strings.HasPrefix(value, "o"):
		return "an " + value
	}
	return "a " + value
}

// WriteFaults replaces the control file at path. All its rules start unused, also those that were there before.
func WriteFaults(path string, rules ...Rule) error {
	if rules == nil {
		rules = []Rule{}
	}
	data, err := json.MarshalIndent(rules, "", "  ")
	if err != nil {
		return err
	}
	if _, err := ParseRules(data); err != nil {
		return err
	}
	return writeDurably(path, append(data, '\n'))
}

// faults picks the rule for each call. How often a rule was used is kept on disk beside the control file, because a
// rule that crashes the driver once must not do so again after the restart.
type faults struct {
	path string // empty: none

	mu sync.Mutex
}

// usage belongs to one generation of the control file.
type usage struct {
	Generation string      `json:"generation"`
	Matched    map[int]int `json:"matched"` // by index of the rule: calls that it matched, applied or skipped
}

func (f *faults) usagePath() string { return f.path + ".used" }

// next is the rule for this call, or nil.
func (f *faults) next(method string, volumes ...string) (*Rule, error) {
	if f.path == "" {
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	rules, generation, err := f.read()
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	used, err := f.readUsage(generation)
	if err != nil {
		return nil, err
	}
	for i, r := range rules {
		if !r.matches(method, volumes) || (r.Times > 0 && used.Matched[i] >= r.Skip+r.Times) {
			continue
		}
		applies := used.Matched[i] >= r.Skip
		if r.Skip > 0 || r.Times > 0 {
			used.Matched[i]++
			if err := f.writeUsage(used); err != nil {
				return nil, err
			}
		}
		if applies {
			return &r, nil
		}
	}
	return nil, nil
}

func (r Rule) matches(method string, volumes []string) bool {
	if r.Method != "*" && r.Method != method {
		return false
	}
	if r.Volume == "" {
		return true
	}
	for _, v := range volumes {
		if v == r.Volume {
			return true
		}
	}
	return false
}

// read returns the rules and what tells this version of the file from the ones before and after it.
func (f *faults) read() ([]Rule, string, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return nil, "", err
	}
	var content bytes.Buffer
	if _, err := content.ReadFrom(file); err != nil {
		return nil, "", err
	}
	rules, err := ParseRules(content.Bytes())
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", f.path, err)
	}
	return rules, fmt.Sprintf("%d-%d.%09d-%d", st.Ino, st.Mtim.Sec, st.Mtim.Nsec, st.Size), nil
}

func (f *faults) readUsage(generation string) (usage, error) {
	fresh := usage{Generation: generation, Matched: map[int]int{}}
	data, err := os.ReadFile(f.usagePath())
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return fresh, err
	}
	var u usage
	if err := json.Unmarshal(data, &u); err != nil {
		return fresh, fmt.Errorf("%w: %s: %w", ErrFaults, f.usagePath(), err)
	}
	if u.Generation != generation {
		return fresh, nil
	}
	return u, nil
}

func (f *faults) writeUsage(u usage) error {
	data, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return writeDurably(f.usagePath(), data)
}
