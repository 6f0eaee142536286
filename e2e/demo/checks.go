package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/volnode/volnode/e2e/csidriver"
)

// nodeStatus is what the story needs of volnode status -o json.
type nodeStatus struct {
	Pods []struct {
		Volumes []struct {
			Name string `json:"name"`
			Path string `json:"path"`
		} `json:"volumes"`
	} `json:"pods"`
	Rungs []struct {
		Key         string `json:"key"`
		Fingerprint string `json:"fingerprint"`
	} `json:"rungs"`
	Journal struct {
		Records int `json:"records"`
	} `json:"journal"`
}

// path is where the pod finds a volume.
func (s nodeStatus) path(volume string) string {
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			if v.Name == volume {
				return v.Path
			}
		}
	}
	return ""
}

// fingerprints are what stands for each rung, sorted by rung: mount ids are never used again in a boot.
func (s nodeStatus) fingerprints() []string {
	var all []string
	for _, r := range s.Rungs {
		all = append(all, r.Key+": "+r.Fingerprint)
	}
	return all
}

// changing are the calls of a driver that change a volume.
var changing = []string{"NodeStageVolume", "NodeUnstageVolume", "NodePublishVolume", "NodeUnpublishVolume"}

// driverCalls lists the calls that the driver was sent, by its own log.
func (t *story) driverCalls() ([]string, error) {
	calls, err := csidriver.ReadCalls(t.path("calls.jsonl"))
	if err != nil {
		return nil, err
	}
	var methods []string
	for _, c := range calls {
		if c.Event == csidriver.CallStarted {
			methods = append(methods, c.Method)
		}
	}
	return methods, nil
}

// checkUntouched proves that the volnode that was started last has changed nothing: by the driver's log behind the
// first calls of it, and by volnode's own trace.
func (t *story) checkUntouched(first int) error {
	calls, err := t.driverCalls()
	if err != nil {
		return err
	}
	for _, method := range calls[first:] {
		if slices.Contains(changing, method) {
			return fmt.Errorf("the driver was sent %s after the restart", method)
		}
	}
	t.say("the driver's log since the restart: %s", strings.Join(calls[first:], ", "))
	traced, effects, err := t.traced()
	if err != nil {
		return err
	}
	if len(effects) > 0 {
		return fmt.Errorf("the trace shows calls that change volumes after the restart: %q", effects)
	}
	t.say("the trace since the restart: %d calls into the host, none of them stage, publish, mount or unmount", traced)
	return nil
}

// traced reads the trace of the volnode that was started last: how many calls, and those that change a volume or a
// mount, or belong to an operation that changes anything.
func (t *story) traced() (count int, effects []string, err error) {
	file, err := os.Open(t.trace())
	if err != nil {
		return 0, nil, err
	}
	defer file.Close()
	mounting := append([]string{"mount", "bind", "umount"}, changing...)
	for scanner := bufio.NewScanner(file); scanner.Scan(); count++ {
		var c struct {
			Op     uint64 `json:"op"`
			Call   string `json:"call"`
			Object string `json:"object"`
			Effect bool   `json:"effect"`
		}
		if err := json.Unmarshal(scanner.Bytes(), &c); err != nil {
			return 0, nil, fmt.Errorf("%s: line %d: %w", t.trace(), count+1, err)
		}
		if c.Effect && (c.Op != 0 || slices.Contains(mounting, c.Call)) {
			effects = append(effects, c.Call+" "+c.Object)
		}
	}
	if count == 0 {
		return 0, nil, errors.New("the trace is empty")
	}
	return count, effects, nil
}

// checkGone looks for anything that was left behind.
func (t *story) checkGone() error {
	mounts, err := t.mounts()
	if err != nil {
		return err
	}
	if len(mounts) != 1 {
		return fmt.Errorf("mounts are left below the root directory's own:\n%s", strings.Join(mounts, "\n"))
	}
	t.say("mounts below the root directory: none")
	left, err := leftBelow(filepath.Join(t.root(), "pods"),
		filepath.Join(t.root(), "plugins", "kubernetes.io", "csi", csidriver.DefaultName))
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("files or directories are left: %q", left)
	}
	t.say("directories of pods and of staged volumes: none")
	s, err := t.status()
	if err != nil {
		return err
	}
	if s.Journal.Records != 0 || len(s.Rungs) != 0 {
		return fmt.Errorf("%d records are left in the journal, and %d rungs", s.Journal.Records, len(s.Rungs))
	}
	t.say("records in the journal: none")
	state, err := csidriver.ReadState(t.path("driver"))
	if err != nil {
		return err
	}
	if len(state.Staged)+len(state.Published) != 0 {
		return fmt.Errorf("the driver still has staged %v and published %v", state.Staged, state.Published)
	}
	t.say("volumes that the driver has staged or published: none")
	return nil
}

// leftBelow lists what is in directories; one that does not exist holds nothing.
func leftBelow(dirs ...string) ([]string, error) {
	var left []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			left = append(left, filepath.Join(dir, e.Name()))
		}
	}
	return left, nil
}

// mounts lists the lines of mountinfo at and below the root directory.
func (t *story) mounts() ([]string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) > 4 && (fields[4] == t.root() || strings.HasPrefix(fields[4], t.root()+"/")) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines, nil
}
