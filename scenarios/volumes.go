package scenarios

import (
	"slices"
	"time"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is the statements about a volume as the containers of a pod find it, and about paths of the host.

// use returns a volume of a pod.
func (t *scene) use(volume, name string) (use, string) {
	_, p := t.pod(name)
	if p == nil {
		return use{}, "the pod was never applied"
	}
	i := slices.IndexFunc(p.uses, func(u use) bool { return u.name == volume })
	if i < 0 {
		return use{}, "the pod has no such volume"
	}
	return p.uses[i], ""
}

// container returns a volume of a pod for what its containers do there.
func (t *scene) container(volume, name string) (use, string) {
	u, why := t.use(volume, name)
	if _, p := t.pod(name); why == "" && !p.isRunning {
		why = "no container of the pod runs"
	}
	return u, why
}

func (t *scene) unmount(volume, name string) string {
	u, why := t.use(volume, name)
	if why != "" {
		return why
	}
	if u.isEmptyDir() {
		t.r.upsets(u.path)
	}
	if errno := t.w.UnmountTop(u.path); errno != 0 {
		return errno.Error()
	}
	return ""
}

// remount takes away what a pod has of a volume, and mounts the same thing there again.
func (t *scene) remount(volume, name string) string {
	u, why := t.use(volume, name)
	if why != "" {
		return why
	}
	for _, s := range t.r.list {
		if s.isPublish || s.driver != u.driver || s.volume != u.volume {
			continue
		}
		if errno := t.w.UnmountTop(u.path); errno != 0 {
			return errno.Error()
		}
		if errno := t.w.BindMount(s.path, u.path, false); errno != 0 {
			return errno.Error()
		}
		return ""
	}
	return "the volume is not staged"
}

// mountOver mounts something that is nobody's volume over a volume of a pod.
func (t *scene) mountOver(volume, name string) string {
	u, why := t.use(volume, name)
	if why != "" {
		return why
	}
	return t.mountForeign(u.path)
}

// mountOverStage makes the directory if the volume is not staged.
func (t *scene) mountOverStage(volume, driver string) string {
	path := plugin.StagePlace(lang.RootDir, driver, volume).Path
	if !t.w.Off() {
		t.w.MakeDir(path)
	}
	return t.mountForeign(path)
}

// unmountStage takes a stage away behind the driver's back.
func (t *scene) unmountStage(volume, driver string) string {
	if errno := t.w.UnmountTop(plugin.StagePlace(lang.RootDir, driver, volume).Path); errno != 0 {
		return errno.Error()
	}
	return ""
}

func (t *scene) mountForeign(path string) string {
	if t.w.Off() {
		return "the node is down, and nobody mounts anything there"
	}
	if errno := t.w.MountForeign(path); errno != 0 {
		return errno.Error()
	}
	return ""
}

// write is what a container of the pod does.
func (t *scene) write(file, volume, name string) string {
	u, why := t.container(volume, name)
	if why == "" {
		if u.driver != "" && !u.bare && len(t.w.MountsAt(u.path)) == 0 {
			t.r.astray = append(t.r.astray, u.path+"/"+file)
		}
		t.w.WriteFile(u.path+"/"+file, []byte(file))
	}
	return why
}

// boundDirectory is what a container binds into its volume.
const boundDirectory = "/srv/bound"

// bind is what a privileged container does, and leaves behind: a mount of the host below its volume.
func (t *scene) bind(name, volume, pod string) string {
	u, why := t.container(volume, pod)
	if why != "" {
		return why
	}
	t.w.WriteFile(boundDirectory+"/precious", []byte("precious"))
	t.w.MakeDir(u.path + "/" + name)
	if errno := t.w.BindMount(boundDirectory, u.path+"/"+name, false); errno != 0 {
		return errno.Error()
	}
	return ""
}

func (t *scene) unbind(name, volume, pod string) string {
	u, why := t.use(volume, pod)
	if why != "" {
		return why
	}
	if errno := t.w.UnmountTop(u.path + "/" + name); errno != 0 {
		return errno.Error()
	}
	return ""
}

func (t *scene) expectFile(file, volume, name string) string {
	u, why := t.use(volume, name)
	if why != "" {
		return why
	}
	return t.expectType(u.path+"/"+file, hal.TypeFile)
}

func (t *scene) expectType(path string, want hal.FileType) string {
	got, there := t.w.Exists(path)
	switch {
	case !there:
		return "there is no " + path
	case got != want:
		return path + " is a " + got.String()
	}
	return ""
}

// standings are how a volume can stand.
var standings = []string{"mounted", "unmounted", "read-only", "writable", "raw"}

// expectVolume: how a volume is at the path at which its pod finds it.
func (t *scene) expectVolume(volume, name, how string) string {
	u, why := t.use(volume, name)
	if why != "" {
		return why
	}
	stack := t.w.MountsAt(u.path)
	if len(stack) == 0 {
		if how == "unmounted" {
			return ""
		}
		return "nothing is mounted at " + u.path
	}
	kind, _ := t.w.Exists(u.path)
	is := map[string]bool{
		"read-only": stack[len(stack)-1].ReadOnly, "writable": !stack[len(stack)-1].ReadOnly,
		"raw":     kind == hal.TypeBlockDevice,
		"mounted": true,
	}
	if !is[how] {
		return "it is mounted otherwise: " + stack[len(stack)-1].Fingerprint()
	}
	return ""
}

// expectAway: the other node has the volume.
func (t *scene) expectAway(handle, driver string) string {
	v := t.r.away[driver+"^"+handle]
	switch {
	case v == nil:
		return "it is here, and nobody has asked for it"
	case !v.isThere:
		return "it is still here"
	}
	return ""
}

// diskFailures are the words for how the filesystem of a volume fails.
var diskFailures = map[string]sim.DiskFailure{
	"read-only": sim.TurnsReadOnly, "gone": sim.LosesDevice,
	"errors": sim.AnswersErrors,
}

// failDisk has the filesystem of a volume that is mounted fail.
func (t *scene) failDisk(driver, handle, how string) string {
	if !t.w.FailDisk(driver, handle, diskFailures[how]) {
		return "no filesystem of the volume is mounted, or it has failed already"
	}
	return ""
}

// noServer is why the server of a volume can do nothing.
const noServer = "no server has the volume; give its driver the trait network"

// silence keeps the server of a volume from answering.
func (t *scene) silence(driver, handle string, d time.Duration) string {
	if !t.w.SilenceServer(driver, handle, d) {
		return noServer
	}
	return ""
}

// exportAgain makes what is mounted of a volume stale.
func (t *scene) exportAgain(driver, handle string) string {
	if !t.w.ExportAgain(driver, handle) {
		return noServer
	}
	return ""
}

// silenceShare keeps the server of a share that the host has mounted from answering.
func (t *scene) silenceShare(path string, d time.Duration) string {
	if !t.w.SilenceShare(path, d) {
		return "no share is mounted there; write before: mount share " + path
	}
	return ""
}
