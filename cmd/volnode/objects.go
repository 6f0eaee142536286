package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/internal/wording"
)

// This file is the names of objects in command lines and requests: which of them can exist, and what somebody may have
// meant.

// objectKinds is what describe knows, and how one says it.
var objectKinds = map[string]string{
	"pod": "pod NAMESPACE/NAME, or pod UID", "volume": "volume 'DRIVER^HANDLE'",
	"rung": "rung 'KEY', as in volnode status -o wide", "driver": "driver NAME",
}

// badPodName says why no pod can have a name of this form, "" if one can. Manifests are held to the same rules.
func badPodName(name string) string {
	namespace, short, _ := strings.Cut(name, "/")
	if bad := validation.IsDNS1123Label(namespace); len(bad) > 0 {
		return fmt.Sprintf("no pod can be in namespace %q: a namespace is 1 to %d of a-z, 0-9 and -, with a letter "+
			"or digit at both ends (an RFC 1123 label)",
			namespace, validation.DNS1123LabelMaxLength)
	}
	if bad := validation.IsDNS1123Subdomain(short); len(bad) > 0 {
		return fmt.Sprintf("no pod can be named %q: a name is 1 to %d of a-z, 0-9, - and ., with a letter or digit "+
			"at both ends of each part (an RFC 1123 "+
			"subdomain)", short, validation.DNS1123SubdomainMaxLength)
	}
	return ""
}

// badObject says why there can be no object of this kind and name, "" if there can.
func badObject(kind, name string) string {
	switch kind {
	case "pod":
		if strings.Contains(name, "/") {
			return badPodName(name)
		}
		if bad := plugin.BadPodUID(name); bad != "" {
			return fmt.Sprintf("no pod can have the UID %q: it %s; give NAMESPACE/NAME or the UID of a pod", name, bad)
		}
	case "volume":
		driver, handle, is := strings.Cut(name, "^")
		if !is || handle == "" {
			return fmt.Sprintf("no volume can be named %q: give 'DRIVER^HANDLE' of a CSI volume; for all volumes of "+
				"a pod, use describe pod", name)
		}
		return badDriver(driver)
	case "rung":
		if !strings.Contains(name, "/") {
			return fmt.Sprintf("no rung can have the key %q: it begins with its kind, as in "+
				"csi.stage/DRIVER^HANDLE; volnode status -o wide shows them", name)
		}
	case "driver":
		return badDriver(name)
	default:
		return fmt.Sprintf("kind %q: want pod, volume, rung or driver", kind)
	}
	return ""
}

func badDriver(name string) string {
	if bad := plugin.BadDriverName(name); bad != "" {
		return fmt.Sprintf("no driver can be named %q: the name %s (CSI: 1 to %d of A-Z, a-z, 0-9, - and .)", name, bad,
			plugin.MaxDriverName)
	}
	return ""
}

// unknownObject says that there is no such object, how one is named, and which there are.
func unknownObject(kind, name string, s engine.Status) string {
	return fmt.Sprintf("%s %s is not known; give %s; %s", kind, name, objectKinds[kind], meantObjects(kind, name, s))
}

// meantObjects says which objects somebody may mean who says name.
func meantObjects(kind, name string, s engine.Status) string {
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			if kind == "volume" && (v.Name == name || v.PV == name) {
				return fmt.Sprintf("pod %s has a volume %s: see 'volnode describe pod %[1]s'", podText(p), name)
			}
		}
	}
	names := objectNames(kind, s)
	near := slices.DeleteFunc(slices.Clone(names), func(known string) bool { return !isNear(name, known) })
	switch {
	case len(names) == 0:
		return "volnode knows no " + kind
	case len(near) > 0:
		return "near it: " + shortList(near)
	}
	return "known: " + shortList(names)
}

// objectNames returns the names of all objects of a kind, sorted.
func objectNames(kind string, s engine.Status) (names []string) {
	for _, p := range s.Pods {
		if kind == "pod" {
			names = append(names, podText(p))
		}
	}
	for _, r := range s.Rungs {
		switch {
		case kind == "rung":
			names = append(names, string(r.Key))
		case kind == "volume" && r.Volume != "":
			names = append(names, r.Volume)
		}
	}
	for _, d := range s.Drivers {
		if kind == "driver" && d.Name != "" {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isNear reports whether somebody who says name may mean known: one has a part of the other, or they differ in few
// letters.
func isNear(name, known string) bool {
	name, known = strings.ToLower(name), strings.ToLower(known)
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '^' })
	last := name
	if len(parts) > 0 {
		last = parts[len(parts)-1]
	}
	return strings.Contains(known, last) || strings.Contains(name, known) ||
		wording.Distance(name, known) <= cmp.Or(len(name)/4, 1)
}

// shortList shows a few names, and how many more there are.
func shortList(names []string) string {
	const few = 5
	if more := len(names) - few; more > 0 {
		return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
