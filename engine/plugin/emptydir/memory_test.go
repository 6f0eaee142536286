package emptydir

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
)

// Who says nothing of memory may use all of it; then the pod has no limit (K:G97).
func TestMemoryIsThatOfThePod(t *testing.T) {
	limit := func(memory string) corev1.ResourceRequirements {
		if memory == "" {
			return corev1.ResourceRequirements{}
		}
		return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}}
	}
	always := corev1.ContainerRestartPolicyAlways
	for name, c := range map[string]struct {
		containers     []string
		init, sidecars []string
		pod, sizeLimit string
		want           string // bytes
	}{
		"no limit":                   {containers: []string{""}},
		"one of two has none":        {containers: []string{"1Ki", ""}},
		"an init container has none": {containers: []string{"1Ki"}, init: []string{""}},
		"a sum":                      {containers: []string{"1Ki", "2Ki"}, want: "3072"},
		"the size limit is smaller":  {containers: []string{"1Ki", "2Ki"}, sizeLimit: "1000", want: "1000"},
		"the size limit is larger":   {containers: []string{"1Ki", "2Ki"}, sizeLimit: "1Gi", want: "3072"},
		"the size limit alone":       {containers: []string{""}, sizeLimit: "1Gi", want: "1073741824"},
		"an init container has more": {containers: []string{"1Ki"}, init: []string{"8Ki"}, want: "8192"},
		"a sidecar runs beside":      {containers: []string{"1Ki"}, sidecars: []string{"8Ki"}, want: "9216"},
		"the pod has a limit":        {containers: []string{"", "1Mi"}, pod: "2Ki", want: "2048"},
		"a size limit of zero":       {containers: []string{"1Ki"}, sizeLimit: "0", want: "1024"},
	} {
		pod := &corev1.Pod{}
		pod.UID = "u"
		for _, memory := range c.containers {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "c", Resources: limit(memory)})
		}
		for _, memory := range c.init {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: "i", Resources: limit(memory)})
		}
		for _, memory := range c.sidecars {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers,
				corev1.Container{Name: "s", Resources: limit(memory), RestartPolicy: &always})
		}
		if c.pod != "" {
			of := limit(c.pod)
			pod.Spec.Resources = &of
		}
		src := &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}
		if c.sizeLimit != "" {
			size := resource.MustParse(c.sizeLimit)
			src.SizeLimit = &size
		}
		rungs, p := Ladder(nil, plugin.Volume{Root: "/r", Pod: pod, Spec: &corev1.Volume{
			Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: src},
		}})
		require.Nil(t, p, name)
		require.Equal(t, c.want, core.Value(rungs[0].Want, paramSize), name)
	}
}
