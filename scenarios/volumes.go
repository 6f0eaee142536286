package scenarios

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/workload"
)

// This file is the statements about a volume as the containers of a pod find it, and about paths of the host.

func unmount(t *workload.Scene, volume, name string) string {
	u, why := t.Use(volume, name)
	if why != "" {
		return why
	}
	if u.IsDirectory() {
		workload.Upsets(t.R, u.Path)
	}
	if errno := t.W.UnmountTop(u.Path); errno != 0 {
		return errno.Error()
	}
	return ""
}

// remount takes away what a pod has of a volume, and mounts the same thing there again.
func remount(t *workload.Scene, volume, name string) string {
	u, why := t.Use(volume, name)
	if why != "" {
		return why
	}
	for _, s := range t.R.List {
		if s.IsPublish || s.Driver != u.Driver || s.Volume != u.Volume {
			continue
		}
		if errno := t.W.UnmountTop(u.Path); errno != 0 {
			return errno.Error()
		}
		if errno := t.W.BindMount(s.Path, u.Path, false); errno != 0 {
			return errno.Error()
		}
		return ""
	}
	return "the volume is not staged"
}

// mountOver mounts something that is nobody's volume over a volume of a pod.
func mountOver(t *workload.Scene, volume, name string) string {
	u, why := t.Use(volume, name)
	if why != "" {
		return why
	}
	return mountForeign(t, u.Path)
}

// mountExportOver has somebody mount what a server exports in the place of a volume.
func mountExportOver(t *workload.Scene, export, volume, name string) string {
	u, why := t.Use(volume, name)
	if why != "" {
		return why
	}
	if errno := t.W.MountForeignExport(export, u.Path); errno != 0 {
		return errno.Error()
	}
	return ""
}

// mountOverStage makes the directory if the volume is not staged.
func mountOverStage(t *workload.Scene, volume, driver string) string {
	path := plugin.StagePlace(lang.RootDir, driver, volume).Path
	if !t.W.Off() {
		t.W.MakeDir(path)
	}
	return mountForeign(t, path)
}

// unmountStage takes a stage away behind the driver's back.
func unmountStage(t *workload.Scene, volume, driver string) string {
	if errno := t.W.UnmountTop(plugin.StagePlace(lang.RootDir, driver, volume).Path); errno != 0 {
		return errno.Error()
	}
	return ""
}

func mountForeign(t *workload.Scene, path string) string {
	if t.W.Off() {
		return "the node is down, and nobody mounts anything there"
	}
	if errno := t.W.MountForeign(path); errno != 0 {
		return errno.Error()
	}
	return ""
}

// write is what a container of the pod does.
func write(t *workload.Scene, file, volume, name string) string {
	u, why := t.Container(volume, name)
	if why == "" {
		if u.Driver != "" && !u.Bare && len(t.W.MountsAt(u.Path)) == 0 {
			t.R.Astray = append(t.R.Astray, u.Path+"/"+file)
		}
		if errno := t.W.WriteInside(u.Path+"/"+file, []byte(file)); errno != 0 {
			return errno.Error()
		}
	}
	return why
}

// give is what a container does with a volume that is its own.
func give(t *workload.Scene, volume, name, owner, mode string) string {
	u, why := t.Container(volume, name)
	if why != "" {
		return why
	}
	var uid, gid int
	var is uint32
	_, _ = fmt.Sscanf(owner+" "+mode, "%d:%d %o", &uid, &gid, &is) // the language has looked at them
	if errno := t.W.Give(u.Path, uid, gid, is); errno != 0 {
		return u.Path + ": " + errno.Error()
	}
	return ""
}

// expectOwner looks at a file of a volume, all links followed, or at the volume itself, ".".
func expectOwner(t *workload.Scene, file, volume, name, owner, mode string) string {
	u, why := t.Use(volume, name)
	if why != "" {
		return why
	}
	at, there := t.W.Found(path.Join(u.Path, file))
	if !there {
		return path.Join(u.Path, file) + " leads nowhere"
	}
	is := fmt.Sprintf("%d:%d with mode %04o", at.UID, at.GID, at.Mode)
	if is != fmt.Sprintf("%s with mode %04s", owner, mode) {
		return path.Join(u.Path, file) + " is owned by " + is
	}
	return ""
}

// bind is what a privileged container does, and leaves behind: a mount of the host below its volume.
func bind(t *workload.Scene, name, volume, pod string) string {
	u, why := t.Container(volume, pod)
	if why != "" {
		return why
	}
	t.W.WriteFile(workload.BoundDirectory+"/precious", []byte("precious"))
	t.W.MakeDir(u.Path + "/" + name)
	if errno := t.W.BindMount(workload.BoundDirectory, u.Path+"/"+name, false); errno != 0 {
		return errno.Error()
	}
	return ""
}

func unbind(t *workload.Scene, name, volume, pod string) string {
	u, why := t.Use(volume, pod)
	if why != "" {
		return why
	}
	if errno := t.W.UnmountTop(u.Path + "/" + name); errno != 0 {
		return errno.Error()
	}
	return ""
}

func expectFile(t *workload.Scene, file, volume, name string) string {
	u, why := t.Use(volume, name)
	if why != "" {
		return why
	}
	return expectType(t, u.Path+"/"+file, hal.TypeFile)
}

// expectText: a container reads a file, all links followed, and finds text.
func expectText(t *workload.Scene, file, volume, name, text string) string {
	at, is, why := readFile(t, file, volume, name)
	if why == "" && is != text {
		return fmt.Sprintf("%s is %q", at, is)
	}
	return why
}

// expectCertificates: a container reads so many certificates.
func expectCertificates(t *workload.Scene, count, file, volume, name string) string {
	at, is, why := readFile(t, file, volume, name)
	if n := strings.Count(is, "-----BEGIN CERTIFICATE-----"); why == "" && strconv.Itoa(n) != count {
		return fmt.Sprintf("%s has %d certificates", at, n)
	}
	return why
}

// readFile is where a file in a volume is, and what a container reads there; why it can't.
func readFile(t *workload.Scene, file, volume, name string) (at, text, why string) {
	u, why := t.Use(volume, name)
	if why != "" {
		return "", "", why
	}
	at = u.Path + "/" + file
	switch info, there := t.W.Found(at); {
	case !there:
		return at, "", at + " leads nowhere"
	case info.Type != hal.TypeFile:
		return at, "", at + " is a " + info.Type.String()
	}
	return at, string(t.W.ReadFile(at)), ""
}

// expectNoFile: there is no such name in a volume, not even of a link that leads nowhere.
func expectNoFile(t *workload.Scene, file, volume, name string) string {
	u, why := t.Use(volume, name)
	if why != "" {
		return why
	}
	return t.ExpectNothingAt(u.Path + "/" + file)
}

func expectType(t *workload.Scene, path string, want hal.FileType) string {
	got, there := t.W.Exists(path)
	switch {
	case !there:
		return "there is no " + path
	case got != want:
		return path + " is a " + got.String()
	}
	return ""
}

// standings are how a volume can stand.
var standings = []string{"mounted", "unmounted", "read-only", "writable", "raw", "measured", "unmeasured"}

// expectVolume: how a volume is at the path at which its pod finds it.
func expectVolume(t *workload.Scene, volume, name, how string) string {
	u, why := t.Use(volume, name)
	if why != "" {
		return why
	}
	if how == "measured" || how == "unmeasured" {
		return expectMeasured(t, u.Path, how == "measured")
	}
	stack := t.W.MountsAt(u.Path)
	if len(stack) == 0 {
		if how == "unmounted" {
			return ""
		}
		return "nothing is mounted at " + u.Path
	}
	kind, _ := t.W.Exists(u.Path)
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

// reasons are those of events of pods.
var reasons = []string{
	engine.ReasonFailedMount, engine.ReasonFailedMapVolume, engine.ReasonFailedUnMount, engine.ReasonFailedUnmapDevice,
	engine.ReasonSuccessfulMountVolume, engine.ReasonVolumeLost, engine.ReasonVolumeConditionAbnormal,
}

// expectEvent: an event of a pod tells of a volume, and has the text.
func expectEvent(t *workload.Scene, reason, volume, name, text string) string {
	var others []string
	for _, e := range eventsOf(t, volume, name) {
		if e.Reason == reason && strings.Contains(e.Message, text) {
			return ""
		}
		others = append(others, e.Reason+": "+e.Message)
	}
	return fmt.Sprintf("its events are %q", others)
}

// expectNoEvent: no event of a pod tells of a volume.
func expectNoEvent(t *workload.Scene, volume, name string) string {
	for _, e := range eventsOf(t, volume, name) {
		return "it has an event " + e.Reason + ": " + e.Message
	}
	return ""
}

// eventsOf are the events of a pod that tell of a volume.
func eventsOf(t *workload.Scene, volume, name string) (all []engine.PodEventStatus) {
	object, _ := t.Pod(name)
	for _, p := range t.EngineStatus().Pods {
		for _, e := range p.Events {
			if string(p.UID) == string(object.UID) && e.Volume == volume {
				all = append(all, e)
			}
		}
	}
	return all
}

// expectMeasured: the status says how full the volume at a path is, or says nothing of it.
func expectMeasured(t *workload.Scene, path string, want bool) string {
	s, _ := judges.Status(t.R)
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			switch is := v.Usage != nil && v.Usage.Bytes != nil; {
			case v.Path != path:
			case is == want:
				return ""
			case is:
				return fmt.Sprintf("%d bytes are in use", v.Usage.Bytes.Used)
			case v.Usage != nil:
				return "nobody knows how full it is: " + v.Usage.Why
			}
		}
	}
	if want {
		return "the status does not say how full it is"
	}
	return ""
}

// expectAway: the other node has the volume.
func expectAway(t *workload.Scene, handle, driver string) string {
	v := t.R.Away[driver+"^"+handle]
	switch {
	case v == nil:
		return "it is here, and nobody has asked for it"
	case !v.IsThere:
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
func failDisk(t *workload.Scene, driver, handle, how string) string {
	if !t.W.FailDisk(driver, handle, diskFailures[how]) {
		return "no filesystem of the volume is mounted, or it has failed already"
	}
	return ""
}

// noServer is why the server of a volume can do nothing.
const noServer = "no server has the volume; give its driver the trait network"

// silence keeps the server of a volume from answering.
func silence(t *workload.Scene, driver, handle string, d time.Duration) string {
	if !t.W.SilenceServer(driver, handle, d) {
		return noServer
	}
	return ""
}

// exportAgain makes what is mounted of a volume stale.
func exportAgain(t *workload.Scene, driver, handle string) string {
	if !t.W.ExportAgain(driver, handle) {
		return noServer
	}
	return ""
}

// silenceShare keeps the server of a share that the host has mounted from answering.
func silenceShare(t *workload.Scene, path string, d time.Duration) string {
	if !t.W.SilenceShare(path, d) {
		return "no share is mounted there; write before: mount share " + path
	}
	return ""
}
