package linux

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// program puts a shell script in the place of /sbin/mount.nfs, and returns where it writes its arguments to.
func program(t *testing.T, script string) (said string) {
	t.Helper()
	dir := t.TempDir() + "/"
	said = dir + "said"
	text := "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\n' \"$a\"; done >" + said + "\n" + script + "\n"
	require.NoError(t, os.WriteFile(dir+"mount.nfs", []byte(text), 0o755))
	before := programDirs
	programDirs = []string{dir}
	t.Cleanup(func() { programDirs = before })
	return said
}

func TestAProgramMounts(t *testing.T) {
	target := t.TempDir()
	said := program(t, "sleep 2 & exit 0") // what it leaves running keeps nobody
	outcome, err := mountByProgram(hal.NewMount{
		FSType: "nfs", Source: "nas:/a b", Target: target, Flags: []string{"nodev", "ro"},
		Options: []hal.Option{{Key: "hard"}, {Key: "vers", Value: "4.2"}},
	})
	require.NoError(t, err)
	require.Equal(t, hal.Done, outcome)
	text, err := os.ReadFile(said)
	require.NoError(t, err)
	require.Equal(t, "nas:/a b\n"+target+"\n-o\nnodev,ro,hard,vers=4.2\n", string(text))
}

func TestAProgramThatFails(t *testing.T) {
	target := t.TempDir()
	for script, want := range map[string]struct {
		errno syscall.Errno
		text  string
		is    hal.Outcome
	}{
		"echo 'mount.nfs: access denied by server\n\nwhile mounting nas:/a' >&2; exit 32": {
			syscall.EACCES, "mount.nfs: access denied by server while mounting nas:/a (exit status 32)", hal.NotDone,
		},
		"echo 'mount.nfs: Connection timed out'; exit 32": {syscall.ETIMEDOUT, "timed out (exit status 32)", hal.NotDone},
		"exit 1":                         {syscall.EIO, "mount.nfs:  (exit status 1)", hal.NotDone},
		"kill -9 $$":                     {syscall.EIO, "signal: killed", hal.Unknown},
		"yes x | head -c 100000; exit 2": {syscall.EIO, "x x x", hal.NotDone},
	} {
		program(t, script)
		outcome, err := mountByProgram(hal.NewMount{FSType: "nfs", Source: "nas:/a", Target: target})
		require.Equal(t, want.is, outcome, script)
		require.ErrorIs(t, err, want.errno, script)
		require.Contains(t, err.Error(), want.text)
		require.Less(t, len(err.Error()), 2*mostOutput)
	}
}

func TestWhatNoProgramIsTold(t *testing.T) {
	target := t.TempDir()
	said := program(t, "")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(target, link))
	for text, m := range map[string]hal.NewMount{
		"begins with a -":    {Source: "-o"},
		"unknown mount flag": {Source: "nas:/a", Flags: []string{"suid,dev"}},
		`the option "vers=4,suid" has a comma`: {
			Source: "nas:/a", Options: []hal.Option{{Key: "vers", Value: "4,suid"}},
		},
		"too many levels": {Source: "nas:/a", Target: link},
		"no such file":    {Source: "nas:/a", Target: target + "/none"},
	} {
		m.FSType = "nfs"
		if m.Target == "" {
			m.Target = target
		}
		outcome, err := mountByProgram(m)
		require.Equal(t, hal.NotDone, outcome)
		require.ErrorContains(t, err, text)
		require.NoFileExists(t, said)
	}
	programDirs = []string{t.TempDir() + "/"}
	_, err := mountByProgram(hal.NewMount{FSType: "nfs", Source: "nas:/a", Target: target})
	require.ErrorContains(t, err, "mount.nfs; install nfs-common")
	require.True(t, strings.HasPrefix(err.Error(), "there is no "+programDirs[0]), err)
}
