package linux

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// byProgram are the filesystems whose mounts take more than system calls: a server is asked for its versions and ports,
// and daemons are started. mount(8) leaves that to a program, and so does this.
var byProgram = map[string]bool{"nfs": true, "nfs4": true}

// programDirs are where it is looked for. Nothing of the environment is asked.
var programDirs = []string{"/sbin/", "/usr/sbin/", "/usr/local/sbin/"}

// toolDirs are where programs for all users are.
var toolDirs = []string{"/usr/bin/", "/bin/", "/usr/local/bin/"}

// mostOutput is how much of what a program says is read, and mostTold how much of it an error has, in bytes.
const (
	mostOutput = 64 << 10
	mostTold   = 600
)

// mountByProgram has /sbin/mount.TYPE mount a filesystem. It runs in a helper child, and dies with it.
func mountByProgram(n hal.NewMount) (hal.Outcome, error) {
	if _, err := mountAttrs(n.Flags); err != nil {
		return hal.NotDone, err
	}
	if strings.HasPrefix(n.Source, "-") {
		return hal.NotDone, because(syscall.EINVAL, "the source begins with a -")
	}
	options := slices.Clone(n.Flags)
	for _, o := range n.Options {
		text := o.Key
		if o.Value != "" {
			text += "=" + o.Value
		}
		if strings.ContainsAny(text, ", \t\n") {
			return hal.NotDone, because(syscall.EINVAL, fmt.Sprintf("the option %q has a comma or a space", text))
		}
		options = append(options, text)
	}
	program, err := programOf("mount."+n.FSType, "nfs-common (Debian, Ubuntu) or nfs-utils")
	if err != nil {
		return hal.NotDone, err
	}
	target, err := openPoint(n.Target) // no link is on the way
	if err != nil {
		return hal.NotDone, err
	}
	defer unix.Close(target)
	text, code, err := run(program, []string{n.Source, n.Target, "-o", strings.Join(options, ",")})
	switch {
	case err == nil && code == 0:
		return hal.Done, nil
	case err == nil:
		// The mount is the last thing that it does.
		return hal.NotDone, because(errnoOfProgram(text), ended(program, text, code))
	}
	return hal.Unknown, because(syscall.EIO, program+": "+err.Error()+" "+text)
}

// run runs a program of the node, which dies with this process, and returns the beginning of what it says, and its exit
// status. An error means that it did not end by itself. The program has the files of more from descriptor 3 on.
func run(program string, args []string, more ...*os.File) (said string, code int, err error) {
	// In memory, not a pipe: a daemon that the program starts may keep it open.
	fd, err := unix.MemfdCreate(program, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return "", 0, err
	}
	into := os.NewFile(uintptr(fd), program)
	defer into.Close()
	// What a program says beyond that fails it to write, and takes no memory.
	if err := into.Truncate(mostOutput); err != nil {
		return "", 0, err
	}
	if _, err := unix.FcntlInt(into.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_GROW); err != nil {
		return "", 0, err
	}
	cmd := &exec.Cmd{
		Path: program, Args: append([]string{program}, args...), ExtraFiles: more,
		Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}, Dir: "/", Stdout: into, Stderr: into,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	err = cmd.Run()
	output := make([]byte, mostOutput)
	read, _ := into.ReadAt(output, 0) // what is missing is not told
	said = string(bytes.TrimRight(output[:read], "\x00"))
	if exited, is := errors.AsType[*exec.ExitError](err); is && exited.ExitCode() > 0 {
		return said, exited.ExitCode(), nil
	}
	return said, 0, err
}

// ended says how a program has ended that failed.
func ended(program, said string, code int) string {
	said = strings.Join(strings.Fields(said), " ")
	return fmt.Sprintf("%s: %s (exit status %d)", program, said[:min(len(said), mostTold)], code)
}

// programOf is the path of a program of the node.
func programOf(name, install string) (string, error) { return programIn(programDirs, name, install) }

func programIn(dirs []string, name, install string) (string, error) {
	for _, dir := range dirs {
		if st, err := os.Stat(dir + name); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return dir + name, nil
		}
	}
	return "", because(syscall.ENOENT, fmt.Sprintf("there is no %s%s; install %s", dirs[0], name, install))
}

// errnoOfProgram is the error that a program means, the first of these that it says; EIO if it says none.
func errnoOfProgram(said string) syscall.Errno {
	for _, known := range []struct {
		text  string
		errno syscall.Errno
	}{
		{"access denied", syscall.EACCES},
		{"No such file or directory", syscall.ENOENT},
		{"timed out", syscall.ETIMEDOUT},
		{"Connection refused", syscall.ECONNREFUSED},
		{"No route to host", syscall.EHOSTUNREACH},
		{"Failed to resolve server", syscall.EHOSTUNREACH},
		{"Protocol not supported", syscall.EPROTONOSUPPORT},
	} {
		if strings.Contains(said, known.text) {
			return known.errno
		}
	}
	return syscall.EIO
}
