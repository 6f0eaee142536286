package readme

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal/haltest"
)

var rounds = flag.Int("rounds", 3, "how often the commands are run")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(haltest.InPrivateMounts(m.Run))
}

// patience bounds one round. It is for a machine that is busy with other things.
const patience = 5 * time.Minute

// around makes a host of the namespaces that it runs in: its own process 1, and directories that are empty or copies.
// Then it runs the commands on its standard input, and fails with the first that fails. Nothing may be left of any
// volume.
const around = `
mount -t proc proc /proc
copy=$(mktemp -d)
mount -t tmpfs etc "$copy"
cp -a /etc/. "$copy"
mount --move "$copy" /etc
rmdir "$copy"
mount -t tmpfs lib /var/lib
mount -t tmpfs run /run
source /dev/stdin
wait
if grep ' /var/lib/volnode/' /proc/self/mountinfo; then exit 1; fi
echo "went well"
`

// noPods fails if volnode has left something of a pod before the clean-up.
const noPods = `
if find /var/lib/volnode/pods -mindepth 1 | grep .; then exit 1; fi
`

// nothingLeft fails if the clean-up has left something.
const nothingLeft = `
left=$(find /var/lib /run /etc -path '*volnode*' -o -path '*csidriver*')
if [ -n "$left" ]; then echo "left: $left"; exit 1; fi
`

// The sections "Run it on a host" and "Clean up" are a script that works, also on a machine that is busy.
func TestRunItOnAHost(t *testing.T) {
	haltest.NeedPrivateMounts(t)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	page := filepath.Join(root, "README.md")
	commands := block(t, page, "## Run it on a host") + noPods + block(t, page, "## Clean up") + nothingLeft
	for round := range *rounds {
		start := time.Now()
		out, err := run(root, commands)
		require.NoError(t, err, "round %d: %s", round+1, out)
		require.Contains(t, out, "went well", "round %d", round+1)
		require.Contains(t, out, "msg=stopped", "round %d", round+1)
		t.Logf("round %d: %s", round+1, time.Since(start).Round(10*time.Millisecond))
	}
}

// block returns the first block of code behind a heading.
func block(t *testing.T, file, heading string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
	require.True(t, found, "%s has no section %q", file, heading)
	_, code, found := strings.Cut(section, "\n```\n")
	require.True(t, found, "%s, %s: there is no block of code", file, heading)
	code, _, found = strings.Cut(code, "\n```\n")
	require.True(t, found, "%s, %s: the block of code does not end", file, heading)
	return code + "\n"
}

// run runs commands in mount and pid namespaces of their own, which end with them, whatever they leave.
func run(dir, commands string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", around)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader(commands), &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	return out.String(), err
}
