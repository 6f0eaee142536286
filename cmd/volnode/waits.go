package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal/manifest"
)

// wait blocks until what is asked for holds, or ctx is over: then the answer says what is missing. It looks at least
// once, also if ctx is over already.
func (d *daemon) wait(ctx context.Context, q waitQuery) (waitAnswer, error) {
	var err error
	switch {
	case q.pod == "":
		err = d.waitNothing(ctx)
	case q.on == forReady:
		err = d.waitReady(ctx, q.pod)
	default:
		err = d.waitGone(ctx, q.pod)
	}
	if err == nil {
		return waitAnswer{IsMet: true}, nil
	}
	if d.stopping.Err() != nil {
		return waitAnswer{}, errors.New("volnode is stopping")
	}
	status, err := d.statusAtLast(ctx)
	if err != nil {
		return waitAnswer{}, err
	}
	concerns := status.Sources
	if q.pod != "" {
		its, cancel := d.soon(context.WithoutCancel(ctx))
		defer cancel()
		concerns = d.concerning(its, q.pod, status)
	}
	return d.unmet(q, status, concerns), nil
}

// statusAtLast is the status for a wait, also for one whose time is over.
func (d *daemon) statusAtLast(ctx context.Context) (engine.Status, error) {
	ctx, cancel := d.soon(context.WithoutCancel(ctx))
	defer cancel()
	return d.status(ctx)
}

// waitReady waits for a pod of that name, and for that pod. A pod that takes its place meanwhile is waited for in turn.
func (d *daemon) waitReady(ctx context.Context, name string) error {
	for {
		uid, err := d.names.until(ctx, name)
		if err != nil {
			return err
		}
		its, cancel := d.names.while(ctx, name, uid)
		err = d.manager.WaitForAttachAndMount(its, uid)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// waitGone waits until nothing is left of any pod that has, had or may have had the name.
func (d *daemon) waitGone(ctx context.Context, name string) error {
	if err := d.names.untilSynced(ctx); err != nil {
		return err
	}
	for {
		changed := d.names.change()
		status, err := d.statusAtLast(ctx)
		if err != nil {
			return err
		}
		uids := d.candidates(name, status)
		if len(uids) == 0 {
			return nil
		}
		if err := d.manager.WaitForAllPodsUnmount(ctx, uids); err != nil {
			return err
		}
		if again, _ := d.names.lookup(name); again.uid == "" {
			return nil
		}
		// A pod without volumes has none left, and it is not gone before its manifest is.
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waitNothing waits until no pod wants a volume and nothing is left of any.
func (d *daemon) waitNothing(ctx context.Context) error {
	if err := d.names.untilSynced(ctx); err != nil {
		return err
	}
	for {
		changed := d.names.change()
		if err := d.manager.WaitForNothing(ctx); err != nil {
			return err
		}
		// A pod whose volumes are Blocked has no rungs that the engine would wait for; it is not gone all the same.
		s, err := d.statusAtLast(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(s.Pods, func(p engine.PodStatus) bool { return p.Wanted && len(p.Volumes) > 0 }) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// candidates are the pods that a name may refer to, and that are wanted or have left something.
func (d *daemon) candidates(name string, s engine.Status) []core.PodUID {
	n, _ := d.names.lookup(name)
	var uids []core.PodUID
	for _, p := range s.Pods {
		isIt := p.UID == n.uid || slices.Contains(n.left, p.UID) || p.Namespace+"/"+p.Name == name
		if isIt || p.Name == "" && mayBe(p.UID, name, s.Node, n.uid != "" || len(n.left) > 0) {
			uids = append(uids, p.UID)
		}
	}
	return uids
}

// mayBe reports whether a pod may have had a name, if volnode knows only its directories. It may if its uid is made of
// the name. It may also if a person gave the uid, and volnode knows no other pod of that name: records can be lost.
func mayBe(uid core.PodUID, name, node string, isKnown bool) bool {
	namespace, pod, _ := strings.Cut(name, "/")
	isMade := string(uid) == string(manifest.PodUID(node, namespace, pod))
	return isMade || !isKnown && !manifest.IsMadeUID(string(uid))
}

// unmet composes the answer of a wait whose time is over. Of the troubles it tells those that concern what is waited
// for.
func (d *daemon) unmet(q waitQuery, s engine.Status, concerns []engine.SourceTrouble) waitAnswer {
	a := waitAnswer{Left: &s}
	if q.pod == "" {
		a.Message = fmt.Sprintf("%s and %s are left", plural(len(s.Pods), "pod"), plural(len(s.Rungs), "rung"))
		return a
	}
	uids := d.candidates(q.pod, s)
	left := s
	left.Pods = slices.DeleteFunc(slices.Clone(s.Pods),
		func(p engine.PodStatus) bool { return !slices.Contains(uids, p.UID) })
	left.Rungs, left.Sources = rungsOf(s, left.Pods), concerns
	a.Left = &left
	switch n, _ := d.names.lookup(q.pod); {
	case n.uid == "" && !s.Synced:
		a.Message = fmt.Sprintf("pod %s is not known, and volnode has not read all manifests", q.pod)
		for _, t := range concerns {
			a.Message += fmt.Sprintf("; %s: %s", t.Where, t.Why)
		}
	case q.on == forReady && n.uid == "":
		a.Message = fmt.Sprintf("pod %s is not known: no valid manifest names it", q.pod)
	case q.on == forReady:
		a.Message = notReady(left.Pods)
	case n.uid != "":
		a.Message = fmt.Sprintf("pod %s is still wanted: %s", q.pod, d.whyWanted(q.pod, s))
	default:
		a.Message = fmt.Sprintf("no manifest names pod %s; volnode still tears down %s", q.pod,
			plural(volumesOf(left.Pods), "volume"))
	}
	if others := len(s.Sources) - len(concerns); others > 0 {
		a.Message += "; 'volnode sources' shows " + plural(others, "trouble") + " that " +
			plurally(others, "does", "do") + " not name it"
	}
	return a
}

// notReady counts the volumes of pods that are not ready.
func notReady(pods []engine.PodStatus) string {
	all, not := 0, 0
	for _, p := range pods {
		for _, v := range p.Volumes {
			all++
			if v.State != engine.Ready {
				not++
			}
		}
	}
	if not == 0 {
		return "volnode sets up its volumes"
	}
	return fmt.Sprintf("%d of its %s %s not ready", not, plural(all, "volume"), plurally(not, "is", "are"))
}

func volumesOf(pods []engine.PodStatus) (n int) {
	for _, p := range pods {
		n += len(p.Volumes)
	}
	return n
}

// whyWanted says why a pod is not given up.
func (d *daemon) whyWanted(name string, s engine.Status) string {
	for _, t := range s.Sources {
		switch t.Where {
		case "Pod " + name: // as the manifests name what they hold back
			return t.Why
		case d.config.ManifestDir:
			return fmt.Sprintf("volnode cannot read %s, and deletes nothing until it can", t.Where)
		}
	}
	return "a manifest names it"
}

// rungsOf returns the rungs of pods, with those that they depend on.
func rungsOf(s engine.Status, pods []engine.PodStatus) []engine.RungStatus {
	return slices.DeleteFunc(slices.Clone(s.Rungs), func(r engine.RungStatus) bool {
		return !slices.ContainsFunc(pods, func(p engine.PodStatus) bool {
			return r.Pod == p.UID || slices.ContainsFunc(p.Volumes,
				func(v engine.VolumeStatus) bool { return slices.Contains(v.Keys, r.Key) })
		})
	})
}

// status is the engine's, with the names of pods that were removed.
func (d *daemon) status(ctx context.Context) (engine.Status, error) {
	since := d.names.now()
	s, err := d.manager.Status(ctx)
	if err != nil {
		return s, err
	}
	known := map[core.PodUID]bool{}
	for i, p := range s.Pods {
		known[p.UID] = true
		if p.Name == "" {
			s.Pods[i].Namespace, s.Pods[i].Name, _ = strings.Cut(d.names.nameOf(p.UID), "/")
		}
	}
	if s.Synced {
		d.names.prune(since, func(uid core.PodUID) bool { return known[uid] })
	}
	return s, nil
}

// plan is the engine's, with the names of pods.
func (d *daemon) plan(ctx context.Context) ([]planStep, error) {
	ops, err := d.manager.Plan(ctx)
	if err != nil {
		return nil, err
	}
	steps := make([]planStep, 0, len(ops))
	for _, op := range ops {
		name := d.names.nameOf(op.Pod)
		if ns, pod := plugin.PodOf(op.Params); name == "" && pod != "" {
			name = ns + "/" + pod
		}
		steps = append(steps, planStep{
			Verb: op.Verb.String(), Rung: op.Key, Kind: op.Kind, Pod: op.Pod, Name: name, Volume: op.Volume,
		})
	}
	return steps, nil
}

// describe finds one pod by namespace/name or uid, one volume by driver^handle, one rung by its key, or one driver by
// its name.
func (d *daemon) describe(ctx context.Context, kind, name string) (describeAnswer, error) {
	s, err := d.status(ctx)
	if err != nil {
		return describeAnswer{}, err
	}
	if bad := badObject(kind, name); bad != "" {
		return describeAnswer{}, &httpError{400, bad + "; " + meantObjects(kind, name, s)}
	}
	var a describeAnswer
	switch kind {
	case "pod":
		for _, p := range s.Pods {
			if string(p.UID) == name || p.Namespace+"/"+p.Name == name {
				a.Pods = append(a.Pods, p)
			}
		}
		a.Rungs = rungsOf(s, a.Pods)
		a.Sources = d.concerning(ctx, name, s)
		entries, err := d.manager.Deletions(ctx)
		if err != nil {
			return a, err
		}
		a.Deletions = slices.DeleteFunc(slices.Clone(entries),
			func(e deletions.Entry) bool { return e.UID != name && e.Namespace+"/"+e.Name != name })
	case "volume", "rung":
		for _, r := range s.Rungs {
			if kind == "volume" && r.Volume == name || string(r.Key) == name {
				a.Rungs = append(a.Rungs, r)
			}
		}
	case "driver":
		for _, d := range s.Drivers {
			if d.Name == name {
				a.Drivers = append(a.Drivers, d)
			}
		}
	}
	if len(a.Pods)+len(a.Rungs)+len(a.Drivers)+len(a.Deletions) == 0 {
		text := unknownObject(kind, name, s)
		for _, t := range a.Sources {
			text += fmt.Sprintf("; %s: %s", t.Where, t.Why)
		}
		return a, &httpError{404, text}
	}
	return a, nil
}
