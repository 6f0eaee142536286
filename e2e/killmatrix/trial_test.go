package killmatrix

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/e2e/csidriver"
	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/hal/fault"
	"github.com/volnode/volnode/hal/haltest/gitserver"
	"github.com/volnode/volnode/hal/haltest/ocilayout"
)

// phase is what the agent does when it is killed.
type phase string

const (
	mount   phase = "mount"   // from an empty root directory until the pods are ready
	unmount phase = "unmount" // from the removal of the pods until nothing is left
	restart phase = "restart" // from the start with healthy pods until they are ready
	refresh phase = "refresh" // from the change of an object until all pods read its new content
)

var phases = []phase{mount, unmount, restart, refresh}

const (
	web, webUID       = "pod/default/web", "3f0e1d5c-0000-4000-8000-000000000001"    // has a volume of the driver
	cache, cacheUID   = "pod/default/cache", "3f0e1d5c-0000-4000-8000-000000000002"  // has an emptyDir
	other, otherUID   = "pod/default/other", "3f0e1d5c-0000-4000-8000-000000000003"  // has the volume of -volume
	config, configUID = "pod/default/config", "3f0e1d5c-0000-4000-8000-000000000004" // has the files of a ConfigMap
	keys, keysUID     = "pod/default/keys", "3f0e1d5c-0000-4000-8000-000000000005"   // has those of a Secret
	disk, diskUID     = "pod/default/disk", "3f0e1d5c-0000-4000-8000-000000000006"   // has a local volume
	tools, toolsUID   = "pod/default/tools", "3f0e1d5c-0000-4000-8000-000000000007"  // has the files of an image
	store, storeUID   = "pod/default/store", "3f0e1d5c-0000-4000-8000-000000000008"  // has a disk that was blank
	flexed, flexedUID = "pod/default/flexed", "3f0e1d5c-0000-4000-8000-000000000009" // has a FlexVolume
	code, codeUID     = "pod/default/code", "3f0e1d5c-0000-4000-8000-00000000000a"   // has a clone of a repository
	aged, agedUID     = "pod/default/aged", "3f0e1d5c-0000-4000-8000-00000000000b"   // has a disk that is not clean
	volume            = "vol-1"
	group             = 2000 // of the files of cache, config and keys
)

// objects are the ConfigMap and the Secret. With each text they have another name, too.
func objects(text string) string {
	const meta = "metadata: {name: app}\n"
	return "apiVersion: v1\nkind: ConfigMap\n" + meta + "data: {same: x, text: " + text + ", of-" + text + ": y}\n---\n" +
		"apiVersion: v1\nkind: Secret\n" + meta + "stringData: {same: x, text: " + text + ", of-" + text + ": y}\n"
}

// node makes a host with a driver and all objects but the pods.
func node(t *testing.T) *host.Host {
	h := host.New(t)
	h.Settings.CallTimeout, h.Settings.UnstageTimeout, h.Settings.LateWindow = 1500*time.Millisecond,
		1500*time.Millisecond,
		500*time.Millisecond
	h.StartDriver("--volume=" + volume + "=dir")
	h.Apply("driver.yaml", host.DriverObject)
	h.Apply("data.yaml", host.ClaimAndVolume("data", volume, ""))
	h.Apply("disk.yaml", host.LocalVolume("disk", h.VolumeData("disk")))
	require.NoError(t, os.MkdirAll(h.VolumeData("disk"), 0o755))
	// By a link, as its name is another one on each host.
	require.NoError(t, os.Symlink(h.BlankDisk("device"), device(h)))
	h.Apply("device.yaml", host.DiskVolume("device", device(h), "ext4"))
	require.NoError(t, os.Symlink(h.BlankDisk("second"), second(h)))
	h.Apply("second.yaml", host.DiskVolume("second", second(h), "ext4"))
	_, err := ocilayout.Put(h.Images(), map[string]string{"org.opencontainers.image.ref.name": "tools:v1"},
		ocilayout.Files(map[string]string{"bin/first": "first\n", "bin/last": "last\n"}))
	require.NoError(t, err)
	server := gitserver.New(repositories(h))
	t.Cleanup(server.Close)
	server.Put("app", "v1", map[string]string{"src/first": "first\n", "src/last": "last\n"})
	require.NoError(t, os.WriteFile(repositories(h)+".url", []byte(server.URL("app")), 0o600))
	h.InstallFlex(flexDriver)
	require.NoError(t, os.MkdirAll(h.VolumeData(volume), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(h.VolumeData(volume), "old"), []byte("written before\n"), 0o600))
	return h
}

// repositories is where the git repositories are; beside it is the URL of the one that a pod has a clone of, whose port
// is another one on each host.
func repositories(h *host.Host) string { return filepath.Join(h.Dir, "repositories") }

func repository(h *host.Host) string {
	h.T.Helper()
	url, err := os.ReadFile(repositories(h) + ".url")
	require.NoError(h.T, err)
	return string(url)
}

// idle leaves nothing of former lives on a node without pods, but for the directories that plugins or disks share: what
// a rung calls must not depend on whether it is the first below it.
func idle(h *host.Host) {
	h.Fresh()
	h.ClearDisk(device(h))
	h.AgedDisk(second(h), "found", "found\n")
	require.NoError(h.T, os.MkdirAll(filepath.Join(h.Root, "plugins/kubernetes.io/local-volume/mounts"), op.ParentMode))
}

// Pods apart, so that no two rungs share a directory but those that [idle] makes.
func applyPods(h *host.Host) {
	pods := host.Pod("web", webUID, "data", host.Claim("data")) + "---\n" +
		host.InGroup(group, host.Pod("cache", cacheUID, "scratch", "emptyDir: {}"))
	pods += "---\n" + host.InGroup(group, host.Pod("config", configUID, "files", "configMap: {name: app}")) +
		"---\n" + host.InGroup(group, host.Pod("keys", keysUID, "files", "secret: {secretName: app}")) +
		"---\n" + host.Pod("disk", diskUID, "disk", host.Claim("disk")) +
		"---\n" + host.Pod("tools", toolsUID, "bin", "image: {reference: 'tools:v1'}") +
		"---\n" + host.Pod("store", storeUID, "device", host.Claim("device")) +
		"---\n" + host.Pod("aged", agedUID, "second", host.Claim("second")) +
		"---\n" + host.Pod("flexed", flexedUID, "data", "flexVolume: {driver: "+flexDriver+"}") +
		"---\n" + host.InGroup(group, host.Pod("code", codeUID, "git",
		"gitRepo: {repository: '"+repository(h)+"', revision: v1, directory: .}"))
	if *more != "" {
		pods += "---\n" + host.Pod("other", otherUID, "more", *more)
	}
	h.Apply("pods.yaml", pods)
}

// pods are those that must be ready.
func pods() []string {
	all := []string{web, cache, config, keys, disk, tools, store, aged, flexed, code}
	if *more != "" {
		all = append(all, other)
	}
	return all
}

func ready(h *host.Host) {
	for _, pod := range pods() {
		h.Wait(pod, "ready")
	}
	requireGroup(h, scratch(h))
	requireGroup(h, filepath.Join(cloned(h), "src/first"))
}

func target(h *host.Host) string {
	return filepath.Join(h.Root, "pods", webUID, "volumes", "kubernetes.io~csi", "data", "mount")
}

func local(h *host.Host) string {
	return filepath.Join(h.Root, "pods", diskUID, "volumes", "kubernetes.io~local-volume", "disk")
}

func device(h *host.Host) string { return filepath.Join(h.Dir, "device") }

// second is the disk that is not clean.
func second(h *host.Host) string { return filepath.Join(h.Dir, "second") }

func stored(h *host.Host) string {
	return filepath.Join(h.Root, "pods", storeUID, "volumes", "kubernetes.io~local-volume", "device")
}

const flexDriver = "example.com/fs"

func flexMounted(h *host.Host) string {
	return filepath.Join(h.Root, "pods", flexedUID, "volumes", "example.com~fs", "data")
}

func unpacked(h *host.Host) string {
	return filepath.Join(h.Root, "pods", toolsUID, "volumes", "kubernetes.io~image", "bin")
}

func cloned(h *host.Host) string {
	return filepath.Join(h.Root, "pods", codeUID, "volumes", "kubernetes.io~git-repo", "git")
}

func scratch(h *host.Host) string {
	return filepath.Join(h.Root, "pods", cacheUID, "volumes", "kubernetes.io~empty-dir", "scratch")
}

// files are the directories of those that are made of objects.
func files(h *host.Host) []string {
	return []string{
		filepath.Join(h.Root, "pods", configUID, "volumes", "kubernetes.io~configmap", "files"),
		filepath.Join(h.Root, "pods", keysUID, "volumes", "kubernetes.io~secret", "files"),
	}
}

// isRead reports whether all pods read this text. The agent may be about to change it.
func isRead(h *host.Host, text string) bool {
	return !slices.ContainsFunc(files(h), func(dir string) bool {
		is, err := os.ReadFile(filepath.Join(dir, "text"))
		return err != nil || string(is) != text
	})
}

// requireFiles checks that pods read one of these versions of their objects, all of it. Nobody changes it.
func requireFiles(h *host.Host, texts ...string) {
	for _, dir := range files(h) {
		is, err := os.ReadFile(filepath.Join(dir, "text"))
		require.NoError(h.T, err)
		require.Contains(h.T, texts, string(is))
		requireContent(h.T, filepath.Join(dir, "of-"+string(is)), "y")
		requireContent(h.T, filepath.Join(dir, "same"), "x")
		requireGroup(h, filepath.Join(dir, "same"))
	}
}

// requireGroup checks that a file is of the group of its pod.
func requireGroup(h *host.Host, path string) {
	var st unix.Stat_t
	require.NoError(h.T, unix.Stat(path, &st))
	require.Equal(h.T, group, int(st.Gid), path)
}

// former and changed are what objects hold.
const former, changed = "former", "changed"

func staging(h *host.Host) string {
	dirs, err := filepath.Glob(filepath.Join(h.Root, "plugins", "kubernetes.io", "csi", csidriver.DefaultName, "*",
		"globalmount"))
	require.NoError(h.T, err)
	if len(dirs) == 0 {
		return ""
	}
	require.Len(h.T, dirs, 1)
	return dirs[0]
}

// healthy brings the pods up, writes to their volumes, and kills the agent.
func healthy(h *host.Host) {
	a := h.Start()
	ready(h)
	write(h)
	a.Kill()
}

func write(h *host.Host) {
	require.NoError(h.T, os.WriteFile(filepath.Join(target(h), "new"), []byte("written by the pod\n"), 0o600))
	require.NoError(h.T, os.WriteFile(filepath.Join(scratch(h), "kept"), []byte("kept\n"), 0o600))
	require.NoError(h.T, os.WriteFile(filepath.Join(local(h), "kept"), []byte("kept\n"), 0o600))
	require.NoError(h.T, os.WriteFile(filepath.Join(stored(h), "kept"), []byte("kept\n"), 0o600))
	require.NoError(h.T, os.WriteFile(filepath.Join(cloned(h), "kept"), []byte("kept\n"), 0o600))
}

// launch brings the node to where the phase begins, starts the agent, and returns how many calls it had made when the
// phase began. The agent may be dead when it returns.
func launch(h *host.Host, p phase, rules ...fault.Rule) (a *host.Agent, from int) {
	h.DriverFaults()
	idle(h)
	h.Apply("objects.yaml", objects(former))
	applyPods(h)
	if p != mount {
		healthy(h)
	}
	a = h.Launch(rules...)
	if p != unmount && p != refresh {
		return a, 0
	}
	require.True(h.T, a.Serves(), "killed before the pods were removed, or an object was changed")
	ready(h)
	if len(rules) == 0 {
		from = len(readTrace(h.T.(*testing.T), a.Trace))
	}
	if p == unmount {
		h.Remove("pods.yaml")
	} else {
		h.Apply("objects.yaml", objects(changed))
	}
	return a, from
}

// arrive waits until the phase is over, or the agent dead: then it is false.
func arrive(h *host.Host, a *host.Agent, p phase) bool {
	if !a.Serves() {
		return false
	}
	if p == refresh {
		return awaitFiles(h, a)
	}
	waits := [][]string{{"wait", "all", "--for=gone"}}
	if p != unmount {
		waits = nil
		for _, pod := range pods() {
			waits = append(waits, []string{"wait", pod, "--for=ready"})
		}
	}
	for _, w := range waits {
		if out, errs, status := a.Run(append(w, "--timeout=60s")...); status != 0 {
			require.Contains(h.T, []int{-1, 69, 75}, status, "%v: %s%s", w, out, errs)
			a.Exit()
			return false
		}
	}
	return true
}

// awaitFiles waits until all pods read what has changed, or the agent is dead: then it is false.
func awaitFiles(h *host.Host, a *host.Agent) bool {
	tick, end := time.NewTicker(5*time.Millisecond), time.NewTimer(host.Patience)
	defer tick.Stop()
	defer end.Stop()
	for {
		if isRead(h, changed) {
			out, _, code := a.Run("status", "-o", "json")
			if code != 0 {
				a.Exit()
				return false
			}
			var s engine.Status
			require.NoError(h.T, json.Unmarshal([]byte(out), &s))
			if !slices.ContainsFunc(s.Rungs, func(r engine.RungStatus) bool { return r.Step != "" }) {
				return true // what was shown before has been removed, too
			}
		}
		select {
		case <-tick.C:
		case <-a.Done():
			return false
		case <-end.C:
			require.FailNow(h.T, "no pod reads what has changed")
		}
	}
}

// moment is when the agent is killed, seen from the call.
type moment string

const (
	before  moment = "before"
	after   moment = "after"
	between moment = "between effect and reply"
)

// kill runs the phase and kills the agent at the moment. It is false if the phase was over before it came to the call.
func kill(h *host.Host, p point, m moment) bool {
	if m == between {
		return killBetween(h, p)
	}
	when := fault.Before
	if m == after {
		when = fault.After
	}
	a, _ := launch(h, p.phase, p.at(h, when))
	if arrive(h, a, p.phase) {
		a.Kill()
		return false
	}
	require.True(h.T, a.Killed(), "volnode ended, but not by SIGKILL")
	return true
}

// killBetween has the driver hold its reply, waits for the effect, and kills the agent.
func killBetween(h *host.Host, p point) bool {
	hold := csidriver.Rule{Method: p.method, Times: 1, DelayAfter: csidriver.Duration(host.Patience)}
	var a *host.Agent
	if p.phase == unmount {
		a, _ = launch(h, p.phase)
		h.DriverFaults(hold)
	} else {
		idle(h)
		h.DriverFaults(hold)
		h.Apply("objects.yaml", objects(former))
		applyPods(h)
		a = h.Launch()
	}
	h.Await(p.method, func() bool { return effected(h, p.method) }, filepath.Dir(h.CallLog()), h.StateDir())
	a.Kill()
	h.DriverFaults()
	return true
}

// effected tells whether the driver has done what a call asks for.
func effected(h *host.Host, method string) bool {
	s := h.DriverState()
	_, staged := s.Staged[volume]
	published := len(s.Published[volume]) > 0
	switch method {
	case "NodeStageVolume":
		return staged && h.MountedAt(staging(h))
	case "NodePublishVolume":
		return published && h.MountedAt(target(h))
	case "NodeUnpublishVolume":
		return !published && !h.MountedAt(target(h))
	case "NodeUnstageVolume":
		return !staged && !h.MountedAt(staging(h))
	}
	require.FailNow(h.T, "no effect known of "+method)
	return false
}

// recover starts the agent again and checks all that must hold.
func recovers(h *host.Host, p phase) {
	mounts, calls := h.Mounts(), len(h.DriverCalls(0))
	if p == refresh {
		requireFiles(h, former, changed)
	}
	a := h.Start()
	if p != unmount {
		ready(h)
		if p == refresh {
			require.True(h.T, awaitFiles(h, a))
			requireFiles(h, changed)
		} else {
			requireFiles(h, former)
		}
		if p == restart || p == refresh {
			require.Equal(h.T, mounts, h.Mounts(), "what was healthy has been mounted again")
			for _, method := range h.DriverCalls(calls) {
				require.False(h.T, strings.HasSuffix(method, "Volume"), "%s was called for a healthy volume", method)
			}
			requireContent(h.T, filepath.Join(scratch(h), "kept"), "kept\n")
			requireContent(h.T, filepath.Join(stored(h), "kept"), "kept\n")
			requireContent(h.T, filepath.Join(cloned(h), "kept"), "kept\n")
		} else {
			write(h)
		}
		requireContent(h.T, filepath.Join(target(h), "old"), "written before\n")
		require.True(h.T, h.MountedAt(flexMounted(h)))
		requireContent(h.T, filepath.Join(unpacked(h), "bin/first"), "first\n")
		requireContent(h.T, filepath.Join(unpacked(h), "bin/last"), "last\n")
		requireContent(h.T, filepath.Join(cloned(h), "src/first"), "first\n")
		requireContent(h.T, filepath.Join(cloned(h), "src/last"), "last\n")
		require.DirExists(h.T, filepath.Join(cloned(h), ".git"))
		requireContent(h.T, filepath.Join(target(h), "new"), "written by the pod\n")
		h.Remove("pods.yaml")
	}
	h.Wait("all", "gone")
	require.Empty(h.T, h.Leftovers())
	require.Empty(h.T, h.FlexHolds(filepath.Join(h.FlexVolumes(), "example.com~fs")))
	status := h.Status()
	require.Zero(h.T, status.Journal.Records)
	require.Empty(h.T, status.Rungs)
	requireContent(h.T, filepath.Join(h.VolumeData(volume), "old"), "written before\n")
	requireContent(h.T, filepath.Join(h.VolumeData(volume), "new"), "written by the pod\n")
	requireContent(h.T, filepath.Join(h.VolumeData("disk"), "kept"), "kept\n")
	requireContent(h.T, filepath.Join(h.MountDisk(device(h)), "kept"), "kept\n")
	h.UnmountDisk(device(h))
	h.RequireCleanDisk(second(h))
	requireContent(h.T, filepath.Join(h.MountDisk(second(h)), "found"), "found\n")
	h.UnmountDisk(second(h))
	a.Kill()
}

func requireContent(t testing.TB, file, want string) {
	t.Helper()
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, string(got), file)
}
