// Package projected is the volume sources secret, configMap, downwardAPI and projected: files made of what Secrets and
// ConfigMaps hold, of certificates of ClusterTrustBundles, of what the pod itself is, and of tokens of its service
// account. A change reaches the files of a pod that runs, all at once: see [writer].
//
// A rung's parameters say which files are made of which objects, and of which versions. What the objects hold is read
// when it is written, and never kept: see K:G99, K:G103.
//
// The effects can all be listed by a start, so the one rung of a volume needs no intent.
package projected

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

const (
	paramFiles     = "files"     // the sources, as the field of a projected volume has them
	paramMedium    = "medium"    // "" or "Memory"
	paramName      = "name"      // of the pod, for calls
	paramNamespace = "namespace" // of the objects
	paramVersions  = "versions"  // of the objects, in the order of the sources

	memory      = "Memory"
	defaultMode = 0o644
	noVersion   = "none" // of an optional object that is not there
)

// source is what distinguishes one of the sources.
type source struct {
	name, plugin string
	kind         core.Kind
	medium       string // of its volumes (K:G99)
	// of returns what a volume is made of, nil if it is of another source.
	of func(v *corev1.VolumeSource) *corev1.ProjectedVolumeSource
	// field is the path of the field of source number i.
	field func(i int) string
}

func all() []source {
	return []source{
		{
			"secret", "kubernetes.io/secret", "secret", memory,
			func(v *corev1.VolumeSource) *corev1.ProjectedVolumeSource {
				if v.Secret == nil {
					return nil
				}
				return &corev1.ProjectedVolumeSource{
					DefaultMode: v.Secret.DefaultMode,
					Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{
						LocalObjectReference: corev1.LocalObjectReference{Name: v.Secret.SecretName},
						Items:                v.Secret.Items, Optional: v.Secret.Optional,
					}}},
				}
			},
			func(int) string { return ".secret" },
		},
		{
			"configMap", "kubernetes.io/configmap", "configmap", "",
			func(v *corev1.VolumeSource) *corev1.ProjectedVolumeSource {
				if v.ConfigMap == nil {
					return nil
				}
				return &corev1.ProjectedVolumeSource{
					DefaultMode: v.ConfigMap.DefaultMode,
					Sources: []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
						LocalObjectReference: v.ConfigMap.LocalObjectReference,
						Items:                v.ConfigMap.Items, Optional: v.ConfigMap.Optional,
					}}},
				}
			},
			func(int) string { return ".configMap" },
		},
		{
			"downwardAPI", "kubernetes.io/downward-api", "downwardapi", memory,
			func(v *corev1.VolumeSource) *corev1.ProjectedVolumeSource {
				if v.DownwardAPI == nil {
					return nil
				}
				return &corev1.ProjectedVolumeSource{
					DefaultMode: v.DownwardAPI.DefaultMode,
					Sources: []corev1.VolumeProjection{{
						DownwardAPI: &corev1.DownwardAPIProjection{Items: v.DownwardAPI.Items},
					}},
				}
			},
			func(int) string { return ".downwardAPI" },
		},
		{
			"projected", "kubernetes.io/projected", "projected", memory,
			func(v *corev1.VolumeSource) *corev1.ProjectedVolumeSource { return v.Projected },
			func(i int) string { return fmt.Sprintf(".projected.sources[%d]", i) },
		},
	}
}

// Sources are the sources of this package.
func Sources() []plugin.Source {
	var sources []plugin.Source
	for _, s := range all() {
		sources = append(sources, plugin.Source{
			Name: s.name, Plugin: s.plugin,
			InPod:  func(spec *corev1.Volume) bool { return s.of(&spec.VolumeSource) != nil },
			Ladder: s.ladder,
			Kinds: []plugin.Kind{{
				Name: s.kind, Verbs: plugin.Verbs{SetUp: setUp, TearDown: tearDown, Inspect: inspect}, IsDirectory: true,
			}},
			Scan: func() plugin.Scan { return &plugin.Directories{Found: s.found} },
		})
	}
	return sources
}

func (s *source) place(root, uid, volume string) plugin.Place {
	return plugin.PodPlace(root, uid, plugin.DirectoryOf(s.plugin), volume)
}

// found is the rung of a directory that no record tells of, made such that it can be torn down.
func (s *source) found(root, uid, volume string) core.Rung {
	place := s.place(root, uid, volume)
	return core.Rung{
		Key: hal.Key(string(s.kind) + "/" + uid + "/" + volume), Kind: s.kind, Pod: core.PodUID(uid),
		Want: []core.Param{
			{Name: plugin.ParamPath, Value: place.Path, OnChange: core.OnChangeRebuild},
			{Name: plugin.ParamStop, Value: place.Stop},
		},
	}
}

// ladder makes the one rung of a volume, or says why it can't be served.
func (s *source) ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if p := v.BadNames(); p != nil {
		return nil, p
	}
	if v.Block {
		return nil, plugin.Problemf(v.Field("."+s.name), "can't be a raw block device; use it in volumeMounts")
	}
	group, p := v.Group()
	if p == nil {
		p = v.WantsContext()
	}
	if p != nil {
		return nil, p
	}
	of := s.of(&v.Spec.VolumeSource)
	if p := badMode(v.Field("."+s.name+".defaultMode"), of.DefaultMode); p != nil {
		return nil, p
	}
	versions := make([]string, 0, len(of.Sources))
	for i := range of.Sources {
		version, problem := s.version(v, i, &of.Sources[i])
		if problem != nil {
			return nil, problem
		}
		versions = append(versions, version)
	}
	files, err := json.Marshal(of)
	if err != nil {
		return nil, plugin.Problemf(v.Field("."+s.name), "%v", err)
	}
	place := s.place(v.Root, string(v.Pod.UID), v.Spec.Name)
	to = append(to, core.Rung{
		Key: hal.Key(string(s.kind) + "/" + string(v.Pod.UID) + "/" + v.Spec.Name), Kind: s.kind,
		Pod: core.PodUID(v.Pod.UID),
		Want: append(make([]core.Param, 0, 9), // one is who the pod is
			core.Param{Name: paramFiles, Value: string(files), OnChange: core.OnChangeRefresh},
			core.Param{Name: plugin.ParamFSGroup, Value: group, OnChange: core.OnChangeRefresh},
			core.Param{Name: paramMedium, Value: s.medium, OnChange: core.OnChangeRebuild},
			core.Param{Name: paramName, Value: v.Pod.Name},
			core.Param{Name: paramNamespace, Value: v.Pod.Namespace, OnChange: core.OnChangeRefresh},
			core.Param{Name: plugin.ParamPath, Value: place.Path, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamStop, Value: place.Stop},
			core.Param{Name: paramVersions, Value: strings.Join(versions, " "), OnChange: core.OnChangeRefresh},
		),
	})
	hasTokens, hasBundles := slices.ContainsFunc(of.Sources, isToken), slices.ContainsFunc(of.Sources, isBundle)
	rung := &to[len(to)-1]
	if hasTokens {
		withTokens(rung, v)
	}
	if hasBundles {
		withBundles(rung, v, of)
	}
	if hasTokens || hasBundles {
		rung.Want = plugin.Sorted(append(rung.Want,
			core.Param{Name: paramUser, Value: plugin.User(v.Pod), OnChange: core.OnChangeRefresh}))
	}
	return to, nil
}

// version checks source number i of a volume, and returns the version of what it is made of.
func (s *source) version(v plugin.Volume, i int, p *corev1.VolumeProjection) (string, *plugin.Problem) {
	at := v.Field(s.field(i))
	named := 0
	for _, is := range [...]bool{
		p.Secret != nil, p.ConfigMap != nil, p.DownwardAPI != nil, p.ServiceAccountToken != nil,
		p.ClusterTrustBundle != nil, p.PodCertificate != nil,
	} {
		if is {
			named++
		}
	}
	if named != 1 {
		return "", plugin.Problemf(at, "names %d sources; name one", named)
	}
	switch {
	case p.DownwardAPI != nil:
		return downwardVersion(v, at, p.DownwardAPI.Items)
	case p.ServiceAccountToken != nil:
		return tokenVersion(v, at, p.ServiceAccountToken)
	case p.ClusterTrustBundle != nil:
		return bundleVersion(v, at, p.ClusterTrustBundle)
	}
	r, ok := referenceOf(p)
	if !ok {
		return "", plugin.Problemf(at, "volnode asks nobody for certificates; it makes files of Secrets, ConfigMaps, "+
			"ClusterTrustBundles, tokens and the pod itself")
	}
	if bad := plugin.BadObjectName(r.name); bad != "" {
		return "", plugin.Problemf(at, "the name of the %s %s", r.kind, plugin.Says(r.name, bad))
	}
	for j := range r.items {
		item := &r.items[j]
		field := fmt.Sprintf("%s.items[%d]", at, j)
		if p := badMode(field+".mode", item.Mode); p != nil {
			return "", p
		}
		if bad := badPath(item.Path); bad != "" {
			return "", plugin.Problemf(field+".path", "%.100q %s", item.Path, bad)
		}
	}
	switch is := v.Contents.Content(r.kind, v.Pod.Namespace, r.name); {
	case is != nil:
		return is.UID + "/" + is.Version, nil
	case !v.IsComplete:
		return "", plugin.Problemf(at, "volnode does not know yet whether there is a %s %s in namespace %s: it has not "+
			"read all objects; volnode tries again once it has", r.kind, r.name, v.Pod.Namespace)
	case r.isOptional:
		return noVersion, nil
	}
	return "", plugin.Problemf(at, "there is no %s %s in namespace %s; add it, name another one, or set optional: true",
		r.kind, r.name, v.Pod.Namespace)
}

// reference is what of an object becomes files.
type reference struct {
	kind, name string
	items      []corev1.KeyToPath // none: each key is a file
	isOptional bool
}

// referenceOf is not ok of what is not made of an object.
func referenceOf(p *corev1.VolumeProjection) (reference, bool) {
	is := func(optional *bool) bool { return optional != nil && *optional }
	switch {
	case p.Secret != nil:
		return reference{hal.SecretKind, p.Secret.Name, p.Secret.Items, is(p.Secret.Optional)}, true
	case p.ConfigMap != nil:
		return reference{hal.ConfigMapKind, p.ConfigMap.Name, p.ConfigMap.Items, is(p.ConfigMap.Optional)}, true
	}
	return reference{}, false
}

func badMode(field string, mode *int32) *plugin.Problem {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		return plugin.Problemf(field, "%d is no mode of a file; use 0 to 0777 (0 to 511)", *mode)
	}
	return nil
}

// badPath says what is wrong with the path of a file in a volume, "" if nothing (K:G101).
func badPath(at string) string {
	switch {
	case at == "":
		return "is empty"
	case len(at) > 4096:
		return "is longer than 4096 bytes"
	case strings.HasPrefix(at, "/"):
		return "is not relative"
	case path.Clean(at) != at:
		return `has an empty part, "." or ".."`
	case strings.HasPrefix(at, ".."):
		return `begins with ".."; such names are the volume's own`
	case strings.ContainsRune(at, 0):
		return "has a NUL character"
	}
	for part := range strings.SplitSeq(at, "/") {
		if part == ".." {
			return `has ".." in it`
		}
		if len(part) > 255 {
			return "has a part that is longer than 255 bytes"
		}
	}
	return ""
}
