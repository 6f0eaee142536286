package scenarios

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// TestEachFieldIsACircumstance: nothing that core tells of a rung, or the world of a driver, is left out, but for what
// stands here.
func TestEachFieldIsACircumstance(t *testing.T) {
	leftOut := map[string]string{
		"Key": "tells the rung", "Kind": "is in its key", "Pod": "is in its key", "Volume": "is told beside",
		"Path":    "what is there is told",
		"IsTimed": "times are left out",
	}
	base := core.Belief{InFlight: true}
	told := map[uint64]string{beliefBits(&base) | prospectBits(&core.Prospect{}): "nothing"}
	tell := func(field string, is uint64) {
		if leftOut[field] == "" {
			require.NotContains(t, told, is, field)
		}
		told[is] = field
	}
	for i := range reflect.TypeFor[core.Belief]().NumField() {
		b := base
		field := reflect.ValueOf(&b).Elem().Field(i)
		switch v := field.Addr().Interface().(type) {
		case *bool:
			*v = !*v
		case *string:
			*v = "some"
		case *hal.Key, *core.Kind, *core.PodUID:
			field.SetString("some")
		case *hal.Instant, *core.State, *core.Verb:
			setNumber(field, 2)
		default:
			t.Fatalf("%T", v)
		}
		tell(reflect.TypeFor[core.Belief]().Field(i).Name, beliefBits(&b)|prospectBits(&core.Prospect{}))
	}
	for i := range reflect.TypeFor[core.Prospect]().NumField() {
		p := core.Prospect{}
		field := reflect.ValueOf(&p).Elem().Field(i)
		name := reflect.TypeFor[core.Prospect]().Field(i).Name
		if field.Kind() == reflect.Bool {
			field.SetBool(true)
		} else {
			setNumber(field, 2)
		}
		p.IsRecorded = p.IsRecorded || name == "Phase"
		tell(name, beliefBits(&base)|prospectBits(&p))
	}
}

func setNumber(field reflect.Value, n int64) {
	if field.CanInt() {
		field.SetInt(n)
		return
	}
	field.SetUint(uint64(n))
}

// TestWhatIsTrueIsACircumstance: as long as a server is silent, and from when its mounts are stale, its volume stands
// as it did not before; and so does a driver of which another version serves.
func TestWhatIsTrueIsACircumstance(t *testing.T) {
	s, err := Parse("share.txt", `# a volume of a server
driver share.example staging network
volume vol-a of share.example
pod default/web uses vol-a
at 0s apply all
within 1m expect pod default/web ready
at 10m silence server of vol-a of driver share.example for 1m
at 20m export vol-a of driver share.example again
at 30m upgrade driver share.example for 1m without staging
at 40m expect pod default/web not ready
end stuck
`)
	require.NoError(t, err)
	const pod, driver = "publish", "share.example"
	seen, first, news := map[Circumstance]bool{}, map[Circumstance]bool{},
		map[string]map[time.Duration]bool{pod: {}, driver: {}}
	looks := func(w *sim.World) {
		for at := 30 * time.Second; at < 40*time.Minute; at += time.Minute {
			w.After(at, "a look", func() {})
		}
	}
	Play{Scenario: s, Made: looks, Passes: func(m Moment) bool {
		for _, c := range m.Circumstances(nil) {
			of := c.Of
			if c.Volume != "" {
				of = pod
			}
			if !seen[c] && news[of] != nil {
				news[of][m.At().Truncate(10*time.Minute)] = true
			}
			seen[c] = true
			switch {
			case c.Of != driver:
			case m.At() < 30*time.Minute:
				first[c] = true
			case m.At() > 35*time.Minute:
				require.NotContains(t, first, c, "another version serves")
			}
		}
		return true
	}}.Run()
	require.True(t, news[pod][10*time.Minute], "the server is silent")
	require.True(t, news[pod][20*time.Minute], "its mounts are stale")
	require.False(t, news[driver][10*time.Minute] || news[driver][20*time.Minute])
	require.NotEmpty(t, first)
}
