package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/populator"
	"github.com/volnode/volnode/hal"
)

// This file is the rungs that pods share: which pods want one, and who is refused since another one wants it made
// differently.

// sharer is a pod, and how it wants a rung that pods share.
type sharer struct {
	pod  core.PodUID  // who
	want []core.Param // the parameters that its ladder gives the rung
}

// share makes rungs those of a pod in the index of what pods share, in place of those of its volumes so far. Who was
// refused for its sake is looked at again where it does not want one any more, or wants it made in another way. It
// returns the rungs that the pod has not wanted so far and that others could not get up.
func (o *objects) share(uid core.PodUID, entry *podEntry, rungs []core.Rung) (failed []core.Trouble) {
	for _, key := range entry.shared {
		if !slices.ContainsFunc(rungs, func(r core.Rung) bool { return r.Key == key }) {
			leave(o.sharing, key, uid, sharer.compare)
			o.changed(sharingRef(key))
		}
	}
	entry.shared = nil
	for i := range rungs {
		r := &rungs[i]
		if r.Pod != "" {
			continue
		}
		entry.shared = append(entry.shared, r.Key)
		at, known := slices.BinarySearchFunc(o.sharing[r.Key], uid, sharer.compare)
		isOther := known && !slices.Equal(o.sharing[r.Key][at].want, r.Want)
		enter(o.sharing, r.Key, uid, sharer{uid, r.Want}, sharer.compare)
		if isOther {
			o.changed(sharingRef(r.Key))
		}
		if known || o.core == nil {
			continue
		}
		if why := o.core.Lacking(r.Key); why != "" {
			failed = append(failed, core.Trouble{Key: r.Key, Params: r.Want, Why: why, IsUp: true})
		}
	}
	return failed
}

func (s sharer) compare(pod core.PodUID) int { return cmp.Compare(s.pod, pod) }

// keepApart refuses a volume that shares a rung with another pod's volume of another PersistentVolume and wants it made
// differently: two PersistentVolumes with one handle. Whoever uses it keeps it, after a restart too, else the first.
// What is refused depends on those who share the rung.
func (o *objects) keepApart(uid core.PodUID, volumes []populator.Volume) (refs []populator.Ref) {
	for i := range volumes {
		v := &volumes[i]
		for j := range v.Rungs {
			r := &v.Rungs[j]
			if r.Pod != "" {
				continue // no other pod's
			}
			if o.givesToGroups(r) && core.Value(r.Want, plugin.ParamGroup) == "" && o.joins(uid, v, r) {
				refs = append(refs, sharingRef(r.Key), volumeRef)
			}
			if why := o.otherGroup(uid, r); why != "" {
				v.Problem = &plugin.Problem{Field: "spec.securityContext.fsGroup", Message: why}
				v.Rungs = nil
				refs = append(refs, sharingRef(r.Key), volumeRef)
				break
			}
			if other, why := o.conflict(uid, r); other != "" {
				v.Problem = &plugin.Problem{
					Field: "spec.volumes[" + v.Name + "]",
					Message: fmt.Sprintf("%s names the volume %s, and so does %s, which another pod on this node uses, with "+
						"another %s; give both the same options, or stop the pod that uses the other",
						plugin.OwnerOf(r.Want), r.Volume, other, why),
				}
				v.Rungs = nil
				refs = append(refs, sharingRef(r.Key), volumeRef)
				break
			}
		}
	}
	return refs
}

// givesToGroups reports whether the driver of a rung gives the files of volumes to a group. It may unlearn that in an
// upgrade.
func (o *objects) givesToGroups(r *core.Rung) bool {
	driver, _, _ := strings.Cut(r.Volume, "^")
	facts := o.input.Driver(driver)
	return facts != nil && facts.VolumeMountGroup
}

// joins has a volume of a pod without a group of its own be of the group that other pods have given its files to, or
// that they still have. It reports whether it is.
func (o *objects) joins(uid core.PodUID, v *populator.Volume, r *core.Rung) bool {
	group := ""
	for _, s := range o.sharing[r.Key] {
		if is := core.Value(s.want, plugin.ParamGroup); s.pod != uid && is != "" {
			group = is
		}
	}
	if group == "" && o.core != nil {
		if made, state := o.core.Made(r.Key); state != core.Absent {
			group = core.Value(made, plugin.ParamGroup)
		}
	}
	if group == "" {
		return false
	}
	for i := range v.Rungs {
		v.Rungs[i].Want = slices.Clone(v.Rungs[i].Want)
		for j := range v.Rungs[i].Want {
			if p := &v.Rungs[i].Want[j]; p.Name == plugin.ParamGroup {
				p.Value = group
			}
		}
	}
	return true
}

// otherGroup says why the files of a volume can't be given to the group that a rung asks for, "" if they can: a driver
// gives those of a volume to one group, and who came first keeps it.
func (o *objects) otherGroup(uid core.PodUID, r *core.Rung) string {
	group := core.Value(r.Want, plugin.ParamGroup)
	if group == "" {
		return ""
	}
	isOther := func(params []core.Param) (string, bool) {
		at := slices.IndexFunc(params, func(p core.Param) bool { return p.Name == plugin.ParamGroup })
		if at < 0 || params[at].Value == group {
			return "", false
		}
		if params[at].Value == "" {
			return "without a group", true
		}
		return "for group " + params[at].Value, true
	}
	why := func(other string) string {
		return fmt.Sprintf("volume %s can't be given to group %s: another pod on this node has it %s, and its driver gives "+
			"the files of a volume to one group; give both pods the same fsGroup, or stop the other one", r.Volume, group,
			other)
	}
	for _, s := range o.sharing[r.Key] {
		if other, is := isOther(s.want); is && s.pod != uid {
			return why(other)
		}
	}
	if o.core == nil {
		return ""
	}
	made, state := o.core.Made(r.Key)
	if other, is := isOther(made); is && state != core.Absent && o.usedByAnother(uid, r.Key) {
		return why(other)
	}
	return ""
}

// sharingRef refers to those who want a rung that pods share.
func sharingRef(key hal.Key) populator.Ref { return populator.Ref{Kind: refRung, Name: string(key)} }

// volumeRef refers to what stands of pods that want it no more: who is refused for its sake is looked at again when
// something of that is gone.
var volumeRef = sharingRef("")

// isOpen reports whether what a pod found there may be another thing once all sources are known.
func isOpen(ref populator.Ref) bool {
	switch ref.Kind {
	case refRung, populator.RefAttachment, populator.RefSecret, populator.RefConfigMap, populator.RefBundle:
		return true
	default:
		return false
	}
}

const refRung populator.RefKind = "rung"

// conflict returns the volume of another pod that wants the rung made differently, and in which parameter
// they differ.
func (o *objects) conflict(uid core.PodUID, r *core.Rung) (string, string) {
	for _, s := range o.sharing[r.Key] {
		if s.pod == uid {
			continue // what it wanted so far
		}
		if other, name := apart(s.want, r.Want); name != "" {
			return other, name
		}
	}
	if o.core == nil {
		return "", "" // no driver is registered before the node has been read, so no rung of this pod is shared yet
	}
	// After a restart the other pod may not have been named yet: then its volumes on the node count for it.
	made, state := o.core.Made(r.Key)
	other, name := apart(made, r.Want)
	if name == "" || state == core.Absent || !o.usedByAnother(uid, r.Key) {
		return "", ""
	}
	return other, name
}

// apart returns the volume that a rung is made for, and in which parameter another volume wants it made differently.
func apart(made, want []core.Param) (string, string) {
	volume := plugin.OwnerOf(made)
	if volume == "" || volume == plugin.OwnerOf(want) {
		return "", ""
	}
	return volume, differing(made, want)
}

// usedByAnother reports whether a rung of another pod depends on the rung, and a source names that pod or may yet name
// it.
func (o *objects) usedByAnother(uid core.PodUID, key hal.Key) bool {
	return slices.ContainsFunc(o.core.PodsAbove(key), func(pod core.PodUID) bool {
		return pod != uid && (o.pods[pod] != nil || !o.all)
	})
}

// differing names the first parameter that would have the rung made again.
func differing(a, b []core.Param) string {
	for _, p := range b {
		if p.OnChange == core.OnChangeRebuild && core.Value(a, p.Name) != p.Value {
			return p.Name
		}
	}
	return ""
}
