package hang

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
)

// How many local volumes there are, and how many of them lie on a server that is silent.
const (
	served = 600
	silent = 50
	inFile = 50 // pods in one manifest
)

// manifests are pods with a local volume each, from first to below end, in directories of dir: a text for each file.
func manifests(t *testing.T, data, dir string, first, end int) (all []string) {
	for i := first; i < end; i += inFile {
		var text []string
		for n := i; n < min(i+inFile, end); n++ {
			name := fmt.Sprintf("v%d", n)
			require.NoError(t, os.Mkdir(filepath.Join(data, name), 0o755))
			text = append(text, host.LocalVolume(name, filepath.Join(dir, name)),
				host.Pod(name, "uid-"+name, "data", host.Claim(name)))
		}
		all = append(all, strings.Join(text, "---\n"))
	}
	return all
}

// ready counts the pods that are.
func ready(s engine.Status) (n int) {
	for i := range s.Pods {
		if s.Pods[i].State == engine.Ready {
			n++
		}
	}
	return n
}

// TestSilentServerHoldsUpItsOwnVolumes: of many volumes some lie on a server that is silent. All others come, stay
// over a death of the agent, and go; so do those, once it answers.
func TestSilentServerHoldsUpItsOwnVolumes(t *testing.T) {
	h := host.New(t)
	s := h.Serve("silent")
	disk := h.MountImage("disk")
	hung := manifests(t, s.Data, s.Path, 0, silent)
	s.FallsSilent()
	for i, text := range hung {
		h.Apply(fmt.Sprintf("hung-%d.yaml", i), text)
	}
	a := h.Start()
	a.AwaitStatus("the pods of the silent server are known", func(s engine.Status) bool { return len(s.Pods) == silent })
	for i, text := range manifests(t, disk, disk, silent, served) {
		h.Apply(fmt.Sprintf("good-%d.yaml", i), text)
	}
	a.AwaitStatus("all others are ready", func(s engine.Status) bool { return ready(s) == served-silent })

	a.Kill()
	began := time.Now()
	a = h.Start()
	require.Less(t, time.Since(began), startBound)
	a.AwaitStatus("all others are ready again", func(s engine.Status) bool { return ready(s) == served-silent })
	require.True(t, h.MountedAt(filepath.Join(h.Root, "pods/uid-v599/volumes/kubernetes.io~local-volume/v599")))
	h.Remove("good-0.yaml")
	a.AwaitStatus("the pods of one manifest are gone", func(s engine.Status) bool {
		return len(s.Pods) == served-inFile && ready(s) == served-silent-inFile
	})

	s.Answers()
	a.AwaitStatus("all are ready", func(s engine.Status) bool { return ready(s) == served-inFile })
	s.FallsSilent()
	for i := range hung {
		h.Remove(fmt.Sprintf("hung-%d.yaml", i))
	}
	h.Remove("good-1.yaml")
	h.Wait("pod/default/v149", "gone")
	s.Answers()
	for i := 2; i < (served-silent)/inFile; i++ {
		h.Remove(fmt.Sprintf("good-%d.yaml", i))
	}
	h.Wait("all", "gone")
}

// TestDiskThatHangsHoldsUpNoStart: nobody can read a disk that is in use, and the agent starts again. It serves others
// at once, and takes what is mounted for what it is.
func TestDiskThatHangsHoldsUpNoStart(t *testing.T) {
	h := host.New(t)
	s := h.Serve("silent")
	device := h.DiskOn(s)
	h.Apply("disk.yaml", host.DiskVolume("disk", device, "ext4"))
	h.Apply("a.yaml", host.Pod("a", "uid-a", "disk", host.Claim("disk")))
	a := h.Start()
	h.Wait("pod/default/a", "ready")
	a.Kill()
	h.DropsCache(device)
	s.FallsSilent()
	began := time.Now()
	h.Start()
	h.Apply("b.yaml", host.Pod("b", "uid-b", "scratch", "emptyDir: {}"))
	h.Wait("pod/default/b", "ready")
	require.Less(t, time.Since(began), startBound)
	h.Wait("pod/default/a", "ready")
	s.Answers()
	h.Remove("a.yaml")
	h.Remove("b.yaml")
	h.Wait("all", "gone")
}
