package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	podName = "default/web"
	// greeting is the data that must be in the volume, and stay there.
	greeting = "hello from the pod\n"
)

// story is what is there while it is told.
type story struct {
	settings
	ctx   context.Context
	place string

	volnode   *process
	driver    *process
	processes []*process // all that were started
	starts    int        // of volnode
	ops       []operation
}

// tellReal tells the story on this host and returns what volnode did.
func tellReal(ctx context.Context, s settings, place string) ([]operation, error) {
	t := &story{settings: s, ctx: ctx, place: place}
	defer t.cleanUp()
	steps := []struct {
		title string
		tell  func() error
	}{
		{"An empty root directory on a shared mount, in a mount namespace of our own", t.prepare},
		{"volnode and the CSI driver are started", t.startBoth},
		{"The manifests are copied; the pod's volumes come up", t.apply},
		{"What is there", t.show},
		{"What the pod writes is in the volume", t.write},
		{"volnode is killed with SIGKILL and started again: it adopts the volumes", t.killAndRestart},
		{"The pod's manifest is removed: everything goes", t.remove},
		{"SIGTERM stops volnode", t.stop},
	}
	fmt.Println("== On this host")
	for i, step := range steps {
		fmt.Printf("\n%d. %s\n", i+1, step.title)
		if err := step.tell(); err != nil {
			for _, p := range t.processes {
				fmt.Fprint(os.Stderr, p.tail())
			}
			return nil, fmt.Errorf("step %d, %s: %w", i+1, step.title, err)
		}
	}
	return t.ops, nil
}

func (t *story) path(elements ...string) string {
	return filepath.Join(append([]string{t.place}, elements...)...)
}

func (t *story) root() string { return t.path("root") }

func (t *story) trace() string { return t.path(fmt.Sprintf("trace.%d.jsonl", t.starts)) }

func (t *story) say(format string, args ...any) { fmt.Printf("   "+format+"\n", args...) }

// block prints the output of a program.
func (t *story) block(text string) {
	for line := range strings.Lines(text) {
		fmt.Print("   | " + line)
	}
}

// cleanUp ends what still runs. The mounts go with the namespace, the files with the temporary directory.
func (t *story) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, p := range t.processes {
		_ = p.end(ctx, syscall.SIGKILL) // one that has ended already is what we want
	}
}

func (t *story) prepare() error {
	for _, dir := range []string{"root", "manifests", "run"} {
		if err := os.Mkdir(t.path(dir), 0o700); err != nil {
			return err
		}
	}
	if err := unix.Mount(t.root(), t.root(), "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount --bind %s: %w", t.root(), err)
	}
	if err := unix.Mount("", t.root(), "", unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("mount --make-shared %s: %w", t.root(), err)
	}
	t.say("%s", t.root())
	return os.CopyFS(t.path("images"), os.DirFS(filepath.Join(t.examples, "images")))
}

func (t *story) startBoth() error {
	if err := t.startVolnode(); err != nil {
		return err
	}
	var err error
	t.driver, err = start("csidriver", filepath.Join(t.bin, "csidriver"), "--endpoint", t.path("run", "csi.sock"),
		"--state-dir", t.path("driver"),
		"--volume", "demo=dir", "--registration-dir", filepath.Join(t.root(), "plugins_registry"), "--call-log",
		t.path("calls.jsonl"))
	if err != nil {
		return err
	}
	t.processes = append(t.processes, t.driver)
	t.say("csidriver, pid %d, with the directory-backed volume \"demo\"", t.driver.cmd.Process.Pid)
	return t.volnode.until(t.ctx, `"driver registered"`)
}

func (t *story) startVolnode() error {
	t.starts++
	var err error
	t.volnode, err = start("volnode", filepath.Join(t.bin, "volnode"), "run", "--root-dir", t.root(), "--manifest-dir",
		t.path("manifests"), "--image-dir", t.path("images"),
		"--socket", t.socket(), "--mount-namespace=own", "--node-name=demo-node", "--log-format=json",
		"--trace", t.trace())
	if err != nil {
		return err
	}
	t.processes = append(t.processes, t.volnode)
	t.say("volnode, pid %d", t.volnode.cmd.Process.Pid)
	return t.volnode.until(t.ctx, `"started"`)
}

func (t *story) socket() string { return t.path("run", "volnode.sock") }

// ask runs a volnode command and prints it.
func (t *story) ask(args ...string) (string, error) {
	t.say("$ volnode %s", strings.Join(args, " "))
	return run(t.ctx, filepath.Join(t.bin, "volnode"), append(args, "--socket", t.socket())...)
}

// apply copies each manifest under a hidden name first: a file that is half written must not count.
func (t *story) apply() error {
	files, err := filepath.Glob(filepath.Join(t.examples, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("there are no manifests in %s", t.examples)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := filepath.Base(file)
		if err := os.WriteFile(t.path("manifests", "."+name), content, 0o600); err != nil {
			return err
		}
		if err := os.Rename(t.path("manifests", "."+name), t.path("manifests", name)); err != nil {
			return err
		}
		t.say("%s", file)
	}
	out, err := t.ask("wait", "pod/"+podName, "--for=ready", "--timeout=30s")
	t.block(out)
	return err
}

func (t *story) show() error {
	out, err := t.ask("status", "-o", "wide")
	if err != nil {
		return err
	}
	t.block(out)
	mounts, err := run(t.ctx, "findmnt", "--submounts", "--list", "--output", "TARGET,FSTYPE,SOURCE", t.root())
	if err != nil {
		t.say("(no findmnt here: /proc/self/mountinfo)")
		lines, err := t.mounts()
		t.block(strings.Join(lines, "\n") + "\n")
		return err
	}
	t.say("$ findmnt --submounts --list")
	t.block(mounts)
	return nil
}

// write writes where the pod finds its volume, and looks where the driver keeps it.
func (t *story) write() error {
	s, err := t.status()
	if err != nil {
		return err
	}
	at := s.path("data")
	if at == "" {
		return errors.New("the status shows no path for the volume data")
	}
	if err := os.WriteFile(filepath.Join(at, "greeting"), []byte(greeting), 0o600); err != nil {
		return err
	}
	return errors.Join(t.checkGreeting(), t.checkPage(s.path("page")))
}

// checkPage reads a file of the image, which nobody can change.
func (t *story) checkPage(at string) error {
	page := filepath.Join(at, "index.html")
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if err := os.WriteFile(page, nil, 0o600); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("a write to %s ends with %w, and not with %w", page, err, syscall.EROFS)
	}
	t.say("%s is of the image: %d bytes, and no write changes it", strings.TrimPrefix(page, t.place+"/"), len(content))
	return nil
}

func (t *story) checkGreeting() error {
	kept := t.path("driver", "volumes", "demo", "data", "greeting")
	content, err := os.ReadFile(kept)
	if err != nil {
		return err
	}
	if string(content) != greeting {
		return fmt.Errorf("%s holds %q", kept, content)
	}
	t.say("%s holds %q", strings.TrimPrefix(kept, t.place+"/"), content)
	return nil
}

func (t *story) killAndRestart() error {
	before, err := t.status()
	if err != nil {
		return err
	}
	t.collect()
	calls, err := t.driverCalls()
	if err != nil {
		return err
	}
	if err := t.volnode.end(t.ctx, syscall.SIGKILL); err != nil {
		return err
	}
	t.say("killed; its %d rungs stand", len(before.Rungs))
	if err := t.startVolnode(); err != nil {
		return err
	}
	for _, line := range []string{`"driver registered"`, `"all sources synced"`} {
		if err := t.volnode.until(t.ctx, line); err != nil {
			return err
		}
	}
	if _, err := t.ask("wait", "pod/"+podName, "--for=ready", "--timeout=30s"); err != nil {
		return err
	}
	after, err := t.status()
	if err != nil {
		return err
	}
	if !slices.Equal(before.fingerprints(), after.fingerprints()) {
		return fmt.Errorf("what is mounted has changed:\nbefore %q\nafter  %q", before.fingerprints(),
			after.fingerprints())
	}
	t.say("ready again, and each mount is the same mount as before")
	return t.checkUntouched(len(calls))
}

// collect keeps what the present volnode has done so far.
func (t *story) collect() {
	lines, _ := t.volnode.logged()
	t.ops = append(t.ops, operationsOf(lines)...)
}

func (t *story) remove() error {
	if err := os.Remove(t.path("manifests", "web.yaml")); err != nil {
		return err
	}
	out, err := t.ask("wait", "all", "--for=gone", "--timeout=30s")
	if err != nil {
		return err
	}
	t.block(out)
	if err := t.checkGone(); err != nil {
		return err
	}
	t.say("what is the pod's is gone, what is the volume's is not:")
	return t.checkGreeting()
}

func (t *story) stop() error {
	t.collect()
	start := time.Now()
	if err := t.volnode.end(t.ctx, syscall.SIGTERM); err != nil {
		return err
	}
	if t.volnode.err != nil {
		return fmt.Errorf("volnode ended with %w", t.volnode.err)
	}
	took := time.Since(start)
	if took > 5*time.Second {
		return fmt.Errorf("volnode took %s to stop", took)
	}
	t.say("exit status 0 after %s; its operations, in both runs:", took.Round(time.Millisecond))
	for _, o := range t.ops {
		t.say("%v", o)
	}
	return nil
}

// status asks volnode for the state of everything.
func (t *story) status() (nodeStatus, error) {
	var s nodeStatus
	out, err := run(t.ctx, filepath.Join(t.bin, "volnode"), "status", "-o", "json", "--socket", t.socket())
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal([]byte(out), &s)
}
