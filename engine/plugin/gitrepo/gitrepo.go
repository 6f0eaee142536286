// Package gitrepo is the volume source gitRepo: a directory of the pod's own that begins as a copy of a git repository.
// The pod may change it. It lives as long as the pod.
//
// The directory is made beside its place and moved there, so one that is there is whole, and is never cloned again. Its
// one rung needs no intent: a start lists all that it may have made.
package gitrepo

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// Kind is the kind of the rungs of this package.
const Kind core.Kind = "gitrepo"

const (
	pluginName = "kubernetes.io/git-repo"

	paramBelow      = "directory" // where in the volume the copy is: see [hal.Repository]
	paramRepository = "repository"
	paramRevision   = "revision"
)

// directory is where such volumes are below a pod.
var directory = plugin.DirectoryOf(pluginName)

// Key is the key of a gitRepo volume of a pod.
func Key(uid, volume string) hal.Key { return hal.Key(string(Kind) + "/" + uid + "/" + volume) }

// Source is gitRepo.
func Source() plugin.Source {
	return plugin.Source{
		Name: "gitRepo", Plugin: pluginName,
		InPod:  func(spec *corev1.Volume) bool { return spec.GitRepo != nil },
		Ladder: Ladder,
		Kinds: []plugin.Kind{{
			Name: Kind, Verbs: plugin.Verbs{SetUp: setUp, TearDown: tearDown, Inspect: inspect},
			Deletes: deletes, IsDirectory: true,
		}},
		Scan: func() plugin.Scan { return &plugin.Directories{Found: Found, Of: volumeOf} },
	}
}

// volumeOf is the name of the volume that a directory is, or is a remain of.
func volumeOf(entry string) string {
	return hal.Cloned(op.Trashed(entry))
}

// Ladder makes the one rung of a gitRepo volume, or says why it can't be served.
func Ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if p := v.BadNames(); p != nil {
		return nil, p
	}
	src := v.Spec.GitRepo
	switch {
	case src == nil:
		return nil, plugin.Problemf(v.Field(""), "is not a gitRepo")
	case len(v.RepositorySchemes) == 0:
		return nil, plugin.Problemf(v.Field(".gitRepo"), "volnode clones no repositories on this node; the configuration "+
			"of volnode allows it with gitRepoVolumes: [https]")
	case v.Block:
		return nil, plugin.Problemf(v.Field(".gitRepo"), "a gitRepo can't be a raw block device; use it in volumeMounts")
	}
	below, p := checked(v)
	if p != nil {
		return nil, p
	}
	group, p := v.Group()
	if p == nil {
		p = v.WantsContext()
	}
	if p != nil {
		return nil, p
	}
	r := rung(v.Root, string(v.Pod.UID), v.Spec.Name)
	r.Want = append(r.Want,
		core.Param{Name: paramBelow, Value: below, OnChange: core.OnChangeRebuild},
		core.Param{Name: paramRepository, Value: src.Repository, OnChange: core.OnChangeRebuild},
		core.Param{Name: paramRevision, Value: src.Revision, OnChange: core.OnChangeRebuild})
	if group != "" { // what is in use keeps its group until it is made again
		r.Want = append(r.Want, core.Param{Name: plugin.ParamFSGroup, Value: group})
	}
	r.Want = plugin.Sorted(r.Want)
	return append(to, r), nil
}

// checked is where in the volume the copy is, or what is wrong with a field.
func checked(v plugin.Volume) (below string, p *plugin.Problem) {
	src := v.Spec.GitRepo
	if bad := hal.BadRepositoryURL(src.Repository); bad != "" { // it may have a password
		return "", plugin.Problemf(v.Field(".gitRepo.repository"), "%s", bad)
	}
	if scheme := hal.SchemeOf(src.Repository); !slices.Contains(v.RepositorySchemes, scheme) {
		return "", plugin.Problemf(v.Field(".gitRepo.repository"), "volnode clones by %s only; add %s to gitRepoVolumes in "+
			"the configuration of volnode", strings.Join(v.RepositorySchemes, ", "), scheme)
	}
	if bad := hal.BadRevision(src.Revision); bad != "" {
		return "", plugin.Problemf(v.Field(".gitRepo.revision"), "%s", plugin.Says(src.Revision, bad))
	}
	if below = src.Directory; below == "" {
		if below = hal.RepositoryName(src.Repository); below == "" {
			return "", plugin.Problemf(v.Field(".gitRepo.directory"), "is empty, and the URL has no name for a directory; "+
				"write . to have the files in the volume itself")
		}
	}
	if bad := hal.BadBelow(below); bad != "" {
		return "", plugin.Problemf(v.Field(".gitRepo.directory"), "%s", plugin.Says(src.Directory, bad))
	}
	return below, nil
}

// rung is all that the place of a volume says of its rung.
func rung(root, uid, volume string) core.Rung {
	place := plugin.PodPlace(root, uid, directory, volume)
	return core.Rung{
		Key: Key(uid, volume), Kind: Kind, Pod: core.PodUID(uid),
		Want: append(make([]core.Param, 0, 7), // one is who the pod is
			core.Param{Name: plugin.ParamPath, Value: place.Path, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamStop, Value: place.Stop},
		),
	}
}

// Found is the rung of a volume's directory that no record tells of, made such that it can be torn down.
func Found(root, uid, volume string) core.Rung { return rung(root, uid, volume) }

// deletes returns the data that a teardown deletes.
func deletes(made []core.Param, isNamed bool) (plugin.Doomed, bool) {
	at := plugin.PathOf(made)
	return plugin.Doomed{Volume: path.Base(at), Path: at, IfEmpty: !plugin.IsOurs(made, paramRepository, isNamed)}, true
}
