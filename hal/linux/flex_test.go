package linux

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

const flexDriver = "example.com/fs"

// flexHost is a host with the program of one driver, a shell script; "" for none.
func flexHost(t *testing.T, script string) (h *Host, dir, program string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	drivers := filepath.Join(dir, "drivers")
	program = filepath.Join(drivers, "example.com~fs", "fs")
	require.NoError(t, os.MkdirAll(filepath.Dir(program), 0o755))
	if script != "" {
		require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	h, err = New(Options{RootDir: filepath.Join(dir, "root"), FlexVolumeDir: drivers})
	require.NoError(t, err)
	t.Cleanup(h.Close)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "root/v"), 0o755))
	return h, dir, program
}

func TestADriverIsToldOfItsVolume(t *testing.T) {
	h, dir, _ := flexHost(t, `{ for a in "$@"; do echo "$a"; done; pwd; umask; env | sort; } >$(dirname "$0")/told
echo not for you; echo '{"status":"Success"}'`)
	t.Setenv("SECRET", "of the agent")
	target := filepath.Join(dir, "root/v")
	require.NoError(t, h.HAL().Flex.Mount(hal.Call{}, flexDriver, target, []hal.Option{
		{Key: "kubernetes.io/readwrite", Value: "rw"}, {Key: "a", Value: `"<'$(x)`},
	}))
	told, err := os.ReadFile(filepath.Join(dir, "drivers/example.com~fs/told"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(told)), "\n")
	require.Equal(t, []string{
		"mount", target, `{"a":"\"\u003c'$(x)","kubernetes.io/readwrite":"rw"}`, "/", "0022",
	}, lines[:5])
	require.NotContains(t, string(told), "SECRET")
	require.NoError(t, h.HAL().Flex.Unmount(hal.Call{}, flexDriver, target))
	told, err = os.ReadFile(filepath.Join(dir, "drivers/example.com~fs/told"))
	require.NoError(t, err)
	require.Equal(t, "unmount\n"+target+"\n/\n", string(told)[:len("unmount\n"+target+"\n/\n")])
}

func TestWhatADriverAnswers(t *testing.T) {
	h, dir, program := flexHost(t, "exit 1")
	target := filepath.Join(dir, "root/v")
	long := strings.Repeat("x", 2000)
	for script, want := range map[string]struct {
		errno    syscall.Errno
		is       hal.Outcome
		answered bool
		text     string
	}{
		`echo '{"status": "Success"}'`:                           {0, hal.Done, false, ""},
		"printf '{\\n\"status\":\\n\"Success\"\\n}\\n'":          {0, hal.Done, false, ""},
		`echo '{}'; echo '  {"status": "Success"}'`:              {0, hal.Done, false, ""},
		`sleep 30 & echo '{"status": "Success"}'`:                {0, hal.Done, false, ""},
		`yes | head -c 1000000 >&2; echo '{"status":"Success"}'`: {0, hal.Done, false, ""},
		`echo '{"status": "Failure", "message": "no such share"}'; exit 1`: {
			syscall.EIO, hal.Unknown, true, "no such share",
		},
		`echo why >&2; echo '{"status": "Failure"}'`:           {syscall.EIO, hal.Unknown, true, "says why nowhere why"},
		`echo '{"status": "Success"}'; exit 3`:                 {syscall.EIO, hal.Unknown, true, "exit status 3"},
		`echo '{"status": "Not supported"}'; exit 1`:           {syscall.EOPNOTSUPP, hal.NotDone, true, ""},
		`echo '{"status": "Perhaps"}'`:                         {syscall.EBADMSG, hal.Unknown, true, `"Perhaps"`},
		`echo '{"status": "Success"} x'`:                       {syscall.EBADMSG, hal.Unknown, true, "volnode understands"},
		`echo mount.cifs: bad >&2; exit 32`:                    {syscall.EBADMSG, hal.Unknown, true, "(exit status 32)"},
		`kill -9 $$`:                                           {syscall.EBADMSG, hal.Unknown, true, "signal: killed"},
		`echo '{"status":"Failure","message":"` + long + `"}'`: {syscall.EIO, hal.Unknown, true, "xxx ..."},
		`yes x | head -c 100000`:                               {syscall.EBADMSG, hal.Unknown, true, "x x x"},
	} {
		require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		err := h.HAL().Flex.Mount(hal.Call{}, flexDriver, target, nil)
		require.Equal(t, want.is, hal.OutcomeOf(err), "%s: %v", script, err)
		if want.is == hal.Done {
			continue
		}
		require.ErrorIs(t, err, want.errno, script)
		require.ErrorContains(t, err, want.text, script)
		e, _ := errors.AsType[*hal.Error](err)
		require.Equal(t, want.answered, e.Reply == hal.ReplyStatus, script)
		require.Less(t, len(err.Error()), 1200)
	}
}

func TestWhatADriverCanDo(t *testing.T) {
	h, _, program := flexHost(t, "exit 1")
	for text, want := range map[string]hal.FlexCapabilities{
		`{"status":"Success"}`:                                 {Attach: true, FSGroup: true, SELinuxRelabel: true},
		`{"status":"Success","capabilities":{}}`:               {Attach: true, FSGroup: true, SELinuxRelabel: true},
		`{"status":"Success","capabilities":{"attach":false}}`: {FSGroup: true, SELinuxRelabel: true},
		`{"status":"Success","capabilities":{"supportsMetrics":true, "attach":false, "fsGroup":false,
			"selinuxRelabel":false, "requiresFSResize": false}}`: {Metrics: true},
	} {
		require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\ncat <<'E'\n"+text+"\nE\n"), 0o755))
		is, err := h.HAL().Flex.Init(hal.Call{}, flexDriver)
		require.NoError(t, err)
		require.Equal(t, want, is, text)
	}
}

// Who can change a program of a driver, or what is on the way to it, runs programs as root.
func TestOnlyRootSaysWhatADriverIs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files to others")
	}
	says := `echo '{"status":"Success"}'`
	for name, c := range map[string]struct {
		do    func(dir, program string) error
		errno syscall.Errno
	}{
		"missing":    {func(_, p string) error { return os.Remove(p) }, syscall.ENOENT},
		"no drivers": {func(d, _ string) error { return os.RemoveAll(d + "/drivers") }, syscall.ENXIO},
		"no interpreter": {func(_, p string) error {
			return os.WriteFile(p, []byte("#!/no/such/shell\n"), 0o755)
		}, syscall.ENOEXEC},
		"writable":       {func(_, p string) error { return os.Chmod(p, 0o775) }, syscall.EPERM},
		"not executable": {func(_, p string) error { return os.Chmod(p, 0o644) }, syscall.EPERM},
		"of another":     {func(_, p string) error { return os.Chown(p, 1000, 0) }, syscall.EPERM},
		"directory": {func(_, p string) error {
			return errors.Join(os.Remove(p), os.Mkdir(p, 0o755))
		}, syscall.EPERM},
		"in a writable":     {func(_, p string) error { return os.Chmod(filepath.Dir(p), 0o777) }, syscall.EPERM},
		"in one of another": {func(_, p string) error { return os.Chown(filepath.Dir(p), 1000, 0) }, syscall.EPERM},
		"below a writable":  {func(d, _ string) error { return os.Chmod(d+"/drivers", 0o777) }, syscall.EPERM},
		"link out": {func(d, p string) error {
			return errors.Join(os.Rename(p, d+"/out"), os.Symlink(d+"/out", p))
		}, syscall.EPERM},
		"link within": {func(_, p string) error {
			return errors.Join(os.Rename(p, p+"-1"), os.Symlink("fs-1", p))
		}, 0},
		"link nowhere": {func(_, p string) error {
			return errors.Join(os.Remove(p), os.Symlink("nowhere", p))
		}, syscall.ENXIO},
		"linked directory of drivers": {func(d, _ string) error {
			return errors.Join(os.Rename(d+"/drivers", d+"/disk"), os.Symlink("disk", d+"/drivers"))
		}, 0},
	} {
		h, dir, program := flexHost(t, says)
		require.NoError(t, c.do(dir, program), name)
		_, err := h.HAL().Flex.Init(hal.Call{}, flexDriver)
		require.Equal(t, c.errno, errnoOf(err), "%s: %v", name, err)
		if c.errno != 0 {
			require.Equal(t, hal.NotDone, hal.OutcomeOf(err), name)
		}
	}
	h, err := New(Options{RootDir: filepath.Join(t.TempDir(), "root")})
	require.NoError(t, err)
	defer h.Close()
	_, err = h.HAL().Flex.Init(hal.Call{}, flexDriver)
	require.ErrorIs(t, err, syscall.ENXIO)
	require.ErrorContains(t, err, "--flex-volume-dir")
}

// A driver that takes too long goes, with what it has started.
func TestADriverIsKilledAtItsDeadline(t *testing.T) {
	h, dir, _ := flexHost(t, `(sleep 600) & echo $! >"$(dirname "$0")/child"; wait`)
	_, err := h.HAL().Flex.Init(hal.Call{Deadline: h.runtime.Now().Add(5 * time.Second)}, flexDriver)
	require.ErrorIs(t, err, syscall.ETIMEDOUT)
	require.Equal(t, hal.Unknown, hal.OutcomeOf(err))
	text, err := os.ReadFile(filepath.Join(dir, "drivers/example.com~fs/child"))
	require.NoError(t, err)
	child := 0
	_, err = fmt.Sscan(string(text), &child)
	require.NoError(t, err)
	waitUntil(t, func() bool {
		alive, _, err := threadStates(fmt.Sprintf("/proc/%d/", child))
		return err == nil && !alive
	})
}

// flexRole is an agent that has a driver mount.
func flexRole(args []string) {
	h, err := New(Options{RootDir: args[0], FlexVolumeDir: args[1]})
	if err != nil {
		panic(err)
	}
	fmt.Println("calling")
	fmt.Println(h.HAL().Flex.Mount(hal.Call{Key: "flex/u/example.com~fs/v"}, flexDriver, args[2], nil))
}

// A driver outlives the agent, and the next one hears of it until it ends.
func TestADriverOutlivesTheAgent(t *testing.T) {
	h, dir, _ := flexHost(t, `d=$(dirname "$0"); touch $d/begun; read x <$d/go; touch $d/done
echo '{"status":"Success"}'`)
	of := filepath.Join(dir, "drivers/example.com~fs/")
	require.NoError(t, syscall.Mkfifo(of+"/go", 0o600))
	agent := exec.Command(os.Args[0], filepath.Join(dir, "root"), filepath.Join(dir, "drivers"),
		filepath.Join(dir, "root/v"))
	agent.Env = append(os.Environ(), "VOLNODE_TEST_ROLE=flex")
	require.NoError(t, agent.Start())
	exists := func(name string) func() bool {
		return func() bool { _, err := os.Stat(of + "/" + name); return err == nil }
	}
	waitUntil(t, exists("begun"))
	require.NoError(t, agent.Process.Kill())
	_ = agent.Wait() // it was killed
	living, err := h.children.Living(hal.Call{})
	require.NoError(t, err)
	require.Len(t, living, 1)
	require.Equal(t, hal.Key("flex/u/example.com~fs/v"), living[0].Key)
	require.Contains(t, living[0].What, "flex mount example.com/fs ")
	require.NoError(t, os.WriteFile(of+"/go", []byte("x\n"), 0))
	waitUntil(t, exists("done"))
	waitUntil(t, func() bool {
		living, err := h.children.Living(hal.Call{})
		return err == nil && len(living) == 0
	})
}

// waitUntil looks again and again.
func waitUntil(t *testing.T, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); {
		require.Less(t, time.Since(began), patience, "it does not come")
		_, _ = unix.Poll(nil, 1)
	}
}
