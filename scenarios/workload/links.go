package workload

import "path"

// HostActions are the statements about links and mounts that people make on the host.
func HostActions() []Action {
	return []Action{
		{"link PATH to PATH", func(t *Scene, a []string) string { return t.link(a[0], a[1]) }},
		{"bind PATH to PATH", func(t *Scene, a []string) string { return t.bindHost(a[0], a[1]) }},
	}
}

// link makes a link, or turns the one that is there.
func (t *Scene) link(at, to string) string {
	t.W.MakeDir(path.Dir(at))
	_ = t.W.RemoveFile(at) // it need not be there
	t.R.TurnedAt = t.W.Now()
	if err := t.W.Symlink(to, at); err != nil {
		return err.Error()
	}
	t.W.SyncDirectory(path.Dir(at))
	return ""
}

// bindHost has the host mount a directory a second time.
func (t *Scene) bindHost(from, at string) string {
	t.W.MakeDir(at)
	if errno := t.W.BindMount(from, at, false); errno != 0 {
		return errno.Error()
	}
	return ""
}

// ExpectNothingAt says what is at a path of the host where nothing should be.
func (t *Scene) ExpectNothingAt(at string) string {
	if kind, there := t.W.Exists(at); there {
		return "a " + kind.String() + " is there"
	}
	return ""
}
