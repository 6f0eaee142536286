package install

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// makeTarget runs a target of the Makefile, as a person does: without what a make above this test has set.
func makeTarget(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("make", append([]string{"-C", "../..", "--no-print-directory"}, args...)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "MAKEFLAGS" || name == "MFLAGS" || name == "MAKELEVEL" || name == "MAKEOVERRIDES"
	})
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "make %v: %s", args, out)
}

// files returns the mode of each file below a directory.
func files(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	all := map[string]fs.FileMode{}
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		all[strings.TrimPrefix(p, dir)] = info.Mode()
		return err
	}))
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(content)
}

func TestInstall(t *testing.T) {
	dest := t.TempDir()
	vars := []string{"DESTDIR=" + dest, "PREFIX=/opt/volnode", "SYSCONFDIR=/opt/etc"}
	makeTarget(t, append(vars, "install")...)

	there := files(t, dest)
	for file, mode := range map[string]fs.FileMode{
		"/opt/volnode/bin/volnode":                                  0o755,
		"/opt/volnode/bin/volsim":                                   0o755,
		"/opt/volnode/lib/systemd/system/volnode.service":           0o644,
		"/opt/etc/volnode/config.yaml":                              0o644,
		"/opt/volnode/share/man/man8/volnode.8":                     0o644,
		"/opt/volnode/share/man/man8/volnode-wait.8":                0o644,
		"/opt/volnode/share/man/man1/volsim.1":                      0o644,
		"/opt/volnode/share/man/man1/volsim-hunt.1":                 0o644,
		"/opt/volnode/share/bash-completion/completions/volnode":    0o644,
		"/opt/volnode/share/bash-completion/completions/volsim":     0o644,
		"/opt/volnode/share/zsh/site-functions/_volnode":            0o644,
		"/opt/volnode/share/zsh/site-functions/_volsim":             0o644,
		"/opt/volnode/share/fish/vendor_completions.d/volnode.fish": 0o644,
		"/opt/volnode/share/fish/vendor_completions.d/volsim.fish":  0o644,
	} {
		require.Contains(t, there, file)
		require.Equal(t, mode, there[file], file)
	}
	for file := range there {
		require.True(t, strings.HasPrefix(file, "/opt/"), "%s is neither below PREFIX nor below SYSCONFDIR", file)
	}
	require.DirExists(t, filepath.Join(dest, "/opt/etc/volnode/manifests"))

	unit := read(t, filepath.Join(dest, "/opt/volnode/lib/systemd/system/volnode.service"))
	require.Contains(t, unit, "\nExecStart=/opt/volnode/bin/volnode run --config /opt/etc/volnode/config.yaml\n")
	require.NotContains(t, unit, "Copy this file")
	config := filepath.Join(dest, "/opt/etc/volnode/config.yaml")
	require.Contains(t, read(t, config), "\nmanifestDir: /opt/etc/volnode/manifests\n")
	manual := read(t, filepath.Join(dest, "/opt/volnode/share/man/man8/volnode-wait.8"))
	require.Contains(t, manual, "volnode wait pod/NAMESPACE/NAME|all --for=ready|gone")

	out, err := exec.Command(filepath.Join(dest, "/opt/volnode/bin/volnode"), "--version").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "volnode ")

	// A second installation keeps the configuration of the node, and so does its end.
	require.NoError(t, os.WriteFile(config, []byte("mine\n"), 0o644))
	makeTarget(t, append(vars, "install")...)
	require.Equal(t, "mine\n", read(t, config))
	makeTarget(t, append(vars, "uninstall")...)
	require.Equal(t, map[string]fs.FileMode{"/opt/etc/volnode/config.yaml": 0o644}, files(t, dest))
}
