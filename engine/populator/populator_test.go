package populator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/internal/wording"
)

// objects is what a test file has put up.
type objects struct {
	claims     map[string]*corev1.PersistentVolumeClaim
	volumes    map[string]*corev1.PersistentVolume
	drivers    map[string]*storagev1.CSIDriver
	facts      map[string]*plugin.DriverFacts
	config     plugin.DriverConfig
	servesFlex bool
}

func (o *objects) add(t *testing.T, text string) {
	for _, doc := range strings.Split(text, "---\n") {
		var meta metav1.TypeMeta
		require.NoError(t, yaml.Unmarshal([]byte(doc), &meta))
		switch meta.Kind {
		case "PersistentVolumeClaim":
			c := &corev1.PersistentVolumeClaim{}
			require.NoError(t, yaml.UnmarshalStrict([]byte(doc), c))
			o.claims[c.Namespace+"/"+c.Name] = c
		case "PersistentVolume":
			v := &corev1.PersistentVolume{}
			require.NoError(t, yaml.UnmarshalStrict([]byte(doc), v))
			o.volumes[v.Name] = v
		case "CSIDriver":
			d := &storagev1.CSIDriver{}
			require.NoError(t, yaml.UnmarshalStrict([]byte(doc), d))
			o.drivers[d.Name] = d
		default:
			t.Fatalf("kind %q", meta.Kind)
		}
	}
}

func (o *objects) input(pod *corev1.Pod) Input {
	in := Input{
		Sources: kinds.All(), ServesFlex: o.servesFlex,
		Root: "/r", NodeName: "node1", Pod: pod, NodeLabels: map[string]string{"zone": "b", "rack": "7"},
		Claim:      func(namespace, name string) *corev1.PersistentVolumeClaim { return o.claims[namespace+"/"+name] },
		Volume:     func(name string) *corev1.PersistentVolume { return o.volumes[name] },
		Held:       func(string, string, string) *hal.Content { return nil },
		Attachment: func(string) *storagev1.VolumeAttachment { return nil },
		Object:     func(name string) *storagev1.CSIDriver { return o.drivers[name] },
		Driver:     func(name string) *plugin.DriverFacts { return o.facts[name] },
		Config:     func(string) plugin.DriverConfig { return o.config },
	}
	for name := range o.facts {
		in.Registered = append(in.Registered, name)
	}
	slices.Sort(in.Registered)
	return in
}

// print shows rungs in full, or by their keys only.
func (r Result) print(full bool) string {
	var b strings.Builder
	for _, v := range r.Volumes {
		if v.Problem != nil {
			fmt.Fprintf(&b, "%s: PROBLEM %s\n", v.Name, v.Problem.Error())
			continue
		}
		fmt.Fprintf(&b, "%s:\n", v.Name)
		for _, rung := range v.Rungs {
			fmt.Fprintf(&b, "  %s\n", rung.Key)
			if full {
				printRung(&b, rung)
			}
		}
	}
	if full {
		for _, ref := range r.Refs {
			fmt.Fprintf(&b, "ref %s %s %s\n", ref.Kind, ref.Namespace, ref.Name)
		}
	}
	return b.String()
}

func printRung(b *strings.Builder, r core.Rung) {
	fmt.Fprintf(b, "    kind %s, pod %q, volume %q, actor %q, exclusive %q, intent %v\n", r.Kind, r.Pod, r.Volume,
		r.Actor, r.Exclusive, r.Intent)
	fmt.Fprintf(b, "    limits %+v\n", r.Limits)
	for _, key := range r.Below {
		fmt.Fprintf(b, "    below %s\n", key)
	}
	for _, p := range r.Want {
		if p.Value != "" {
			fmt.Fprintf(b, "    %s = %s (%s)\n", p.Name, p.Value, p.OnChange)
		}
	}
}

// Commands: objects adds or replaces objects; driver name=… [stage] [snmw] [gone] registers a driver; config [acts]
// [withoutmount] [flex]; pod populates a pod, with full in full. In a pod, $c stands for a container that mounts volume
// v.
func TestPopulate(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, file string) {
		o := &objects{
			claims:  map[string]*corev1.PersistentVolumeClaim{},
			volumes: map[string]*corev1.PersistentVolume{},
			drivers: map[string]*storagev1.CSIDriver{},
			facts:   map[string]*plugin.DriverFacts{},
			config:  plugin.DriverConfig{SetUp: 120e9, TearDown: 120e9, Unstage: 30e9, LateWindow: 120e9},
		}
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "objects":
				o.add(t, d.Input)
			case "driver":
				var name string
				d.ScanArgs(t, "name", &name)
				o.facts[name] = &plugin.DriverFacts{
					Name: name, StageUnstage: d.HasArg("stage"),
					SingleNodeMultiWriter: d.HasArg("snmw"),
					Topology:              map[string]string{name + "/segment": "s1"},
				}
				if d.HasArg("gone") {
					delete(o.facts, name)
				}
			case "config":
				o.config.ActsAfterReply, o.config.PublishesWithoutMount = d.HasArg("acts"), d.HasArg("withoutmount")
				o.servesFlex = d.HasArg("flex")
			case "pod":
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "uid-1"}}
				text := strings.ReplaceAll(d.Input, "$c",
					"containers: [{name: c, volumeMounts: [{name: v, mountPath: /v}]}]")
				require.NoError(t, yaml.UnmarshalStrict([]byte(text), pod))
				before := pod.DeepCopy()
				r := Populate(o.input(pod))
				require.Equal(t, before, pod, "objects are not changed")
				require.Equal(t, r, Populate(o.input(pod)), "a pure function")
				for _, v := range r.Volumes {
					if v.Problem != nil {
						require.Empty(t, wording.Wrong(v.Problem.Error()), v.Problem)
					}
				}
				for _, rung := range r.Rungs() {
					require.Equal(t, plugin.Sorted(slices.Clone(rung.Want)), rung.Want, "parameters are sorted")
				}
				return r.print(d.HasArg("full"))
			default:
				t.Fatalf("command %q", d.Cmd)
			}
			return ""
		})
	})
}
