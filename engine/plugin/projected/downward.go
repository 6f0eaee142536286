package projected

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volnode/volnode/engine/plugin"
)

// This file is files that say something of the pod itself. What they say is not in parameters either: annotations are
// large, and may be nobody's business.

// downwardVersion checks the files of a downwardAPI at a field, and returns a version of what they say.
func downwardVersion(v plugin.Volume, at string, items []corev1.DownwardAPIVolumeFile) (string, *plugin.Problem) {
	sum := sha256.New()
	for i := range items {
		field := fmt.Sprintf("%s.items[%d]", at, i)
		if p := badMode(field+".mode", items[i].Mode); p != nil {
			return "", p
		}
		if bad := badPath(items[i].Path); bad != "" {
			return "", plugin.Problemf(field+".path", "%.100q %s", items[i].Path, bad)
		}
		text, why := says(v.Pod, &items[i])
		if why != "" {
			return "", plugin.Problemf(field, "%s", why)
		}
		fmt.Fprintf(sum, "%q", text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// addDownward adds the files of a downwardAPI, or says what is wrong.
func addDownward(
	files map[string]file, pod *corev1.Pod, items []corev1.DownwardAPIVolumeFile, byDefault *int32,
) (why string) {
	for i := range items {
		text, why := says(pod, &items[i])
		if why != "" {
			return why
		}
		files[items[i].Path] = file{data: text, mode: modeOf(items[i].Mode, byDefault)}
	}
	return ""
}

// says is what a file says of a pod, or why it can't say it.
func says(pod *corev1.Pod, item *corev1.DownwardAPIVolumeFile) (text, why string) {
	switch {
	case item.FieldRef != nil && item.ResourceFieldRef == nil:
		return fieldOf(pod, item.FieldRef.FieldPath)
	case item.ResourceFieldRef != nil && item.FieldRef == nil:
		return resourceOf(pod, item.ResourceFieldRef)
	}
	return "", "names neither fieldRef nor resourceFieldRef, or both; name one"
}

// fieldOf is what the kubelet writes of a field that volumes may name (pkg/fieldpath).
func fieldOf(pod *corev1.Pod, field string) (text, why string) {
	if name, key, ok := strings.Cut(strings.TrimSuffix(field, "']"), "['"); ok && strings.HasSuffix(field, "']") {
		switch name {
		case "metadata.labels":
			return pod.Labels[key], ""
		case "metadata.annotations":
			return pod.Annotations[key], ""
		}
	}
	switch field {
	case "metadata.name":
		return pod.Name, ""
	case "metadata.namespace":
		return pod.Namespace, ""
	case "metadata.uid":
		return string(pod.UID), ""
	case "metadata.labels":
		return pairs(pod.Labels), ""
	case "metadata.annotations":
		return pairs(pod.Annotations), ""
	}
	return "", fmt.Sprintf("fieldPath %.100q is not one that a volume may name; use metadata.name, namespace, uid, "+
		"labels, annotations, or one of them by labels['KEY'] or annotations['KEY']", field)
}

func pairs(of map[string]string) string {
	lines := make([]string, 0, len(of))
	for _, key := range slices.Sorted(maps.Keys(of)) {
		lines = append(lines, fmt.Sprintf("%s=%q", key, of[key]))
	}
	return strings.Join(lines, "\n")
}

// resourceOf is what a container may use, in multiples of the divisor, rounded up. What the container does not say is
// the node's, and volnode does not know that.
func resourceOf(pod *corev1.Pod, ref *corev1.ResourceFieldSelector) (text, why string) {
	what, name, ok := strings.Cut(ref.Resource, ".")
	if !ok || what != "limits" && what != "requests" {
		return "", fmt.Sprintf("resource %.100q is neither limits.NAME nor requests.NAME", ref.Resource)
	}
	of := slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers)
	at := slices.IndexFunc(of, func(c corev1.Container) bool { return c.Name == ref.ContainerName })
	if at < 0 {
		return "", fmt.Sprintf("the pod has no container %.100q; name one in containerName", ref.ContainerName)
	}
	amount, is := of[at].Resources.Limits[corev1.ResourceName(name)]
	if what == "requests" { // what a container does not request is its limit, as the API server has it
		if request, isThere := of[at].Resources.Requests[corev1.ResourceName(name)]; isThere {
			amount = request
		}
	}
	if !is && what == "limits" {
		return "", fmt.Sprintf("container %q has no %s, and volnode does not know what the node has; set it there",
			ref.ContainerName, ref.Resource)
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	value, by := float64(amount.Value()), float64(divisor.Value())
	if name == string(corev1.ResourceCPU) {
		value, by = float64(amount.MilliValue()), float64(divisor.MilliValue())
	}
	if by <= 0 {
		return "", fmt.Sprintf("divisor %s is not above 0", divisor.String())
	}
	return strconv.FormatInt(int64(math.Ceil(value/by)), 10), ""
}
