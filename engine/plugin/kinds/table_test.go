package kinds

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// own is a source that a program could add.
func own(change func(*plugin.Source)) Table {
	verb := func(*hal.Host, core.Op) core.Result { return core.Result{} }
	s := plugin.Source{
		Name: "flexVolume", Plugin: "example.com/own",
		InPod:  func(spec *corev1.Volume) bool { return spec.FlexVolume != nil },
		Ladder: func(to []core.Rung, _ plugin.Volume) ([]core.Rung, *plugin.Problem) { return to, nil },
		Kinds:  []plugin.Kind{{Name: "own", Verbs: plugin.Verbs{SetUp: verb, TearDown: verb, Inspect: verb}}},
	}
	change(&s)
	return append(Table{s}, All()...)
}

func TestWhatIsWrongWithATable(t *testing.T) {
	for want, change := range map[string]func(*plugin.Source){
		"": func(*plugin.Source) {},
		`"own", the Plugin of source "flexVolume", is not VENDOR/NAME`: func(s *plugin.Source) { s.Plugin = "own" },
		`"a/b/c", the Plugin of source "flexVolume", is not VENDOR`:    func(s *plugin.Source) { s.Plugin = "a/b/c" },
		`two sources have the Plugin "kubernetes.io/nfs"`: func(s *plugin.Source) {
			s.Plugin = "kubernetes.io/nfs"
		},
		"source example.com/own has no Ladder":                  func(s *plugin.Source) { s.Ladder = nil },
		`the kind "nfs" of source kubernetes.io/nfs is taken`:   func(s *plugin.Source) { s.Kinds[0].Name = "nfs" },
		`the kind "serves" of source example.com/own is taken`:  func(s *plugin.Source) { s.Kinds[0].Name = "serves" },
		`"a/b", a kind of source example.com/own, begins no`:    func(s *plugin.Source) { s.Kinds[0].Name = "a/b" },
		`the kind "own" of source example.com/own lacks a verb`: func(s *plugin.Source) { s.Kinds[0].Verbs.Inspect = nil },
	} {
		if bad := own(change).Bad(); want == "" {
			require.Empty(t, bad)
		} else {
			require.Contains(t, bad, want)
		}
	}
}

func TestATableNamesEachFieldOnce(t *testing.T) {
	require.Regexp(t, "^persistentVolumeClaim, flexVolume, csi, .* and projected$", own(func(*plugin.Source) {}).Names())
}
