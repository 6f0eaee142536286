package marker_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/examples/marker"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// A program that embeds the engine has a source of its own beside those of volnode. The first source that serves a
// volume has it, and flexVolume serves every driver: so the program puts its own before.
func ExampleSource() {
	w := sim.New(sim.Config{})
	defer w.Close()
	var m *engine.VolumeManager
	w.SetAgent(func(h hal.Host) {
		m = engine.New(h, engine.Config{
			NodeName: "n1", RootDir: "/var/lib/volnode", NoRuntime: true,
			VolumeSources: append(kinds.Table{marker.Source()}, kinds.All()...),
		})
		m.Start()
	})
	w.Cluster.Apply(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-web"},
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{{Name: "mark", VolumeSource: corev1.VolumeSource{
				FlexVolume: &corev1.FlexVolumeSource{Driver: marker.Driver, Options: map[string]string{"text": "hello"}},
			}}},
			Containers: []corev1.Container{{Name: "c", VolumeMounts: []corev1.VolumeMount{{Name: "mark"}}}},
		},
	})
	w.StartAgent()
	if err := w.RunFor(time.Minute); err != nil {
		fmt.Println(err)
	}
	w.Do(func() {
		s, err := m.Status(w.Context(time.Second))
		if err != nil {
			fmt.Println(err)
			return
		}
		v := s.Pods[0].Volumes[0]
		fmt.Println(v.Name, v.State, v.Path)
	})
	// Output: mark Ready /var/lib/volnode/pods/uid-web/volumes/example.com~marker/mark
}
