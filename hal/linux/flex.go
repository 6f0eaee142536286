package linux

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// flex is hal.FlexDrivers. Each call runs its driver in a helper child: it may take for ever, and outlives the agent.
type flex struct{ host *Host }

// flexRequest is one call of a driver. Dir is where the drivers are, Call the protocol's word for it.
type flexRequest struct {
	Dir, Driver, Call string
	Target            string
	Options           []hal.Option
}

// The calls of the protocol that volnode makes.
const (
	flexInit    = "init"
	flexMount   = "mount"
	flexUnmount = "unmount"
)

func (f *flex) Init(c hal.Call, driver string) (hal.FlexCapabilities, error) {
	resp, err := f.ask(c, driver, flexRequest{Driver: driver, Call: flexInit})
	return resp.Flex, err
}

func (f *flex) Mount(c hal.Call, driver, dir string, options []hal.Option) error {
	_, err := f.ask(c, driver+" "+dir, flexRequest{Driver: driver, Call: flexMount, Target: dir, Options: options})
	return err
}

func (f *flex) Unmount(c hal.Call, driver, dir string) error {
	_, err := f.ask(c, driver+" "+dir, flexRequest{Driver: driver, Call: flexUnmount, Target: dir})
	return err
}

func (f *flex) ask(c hal.Call, object string, r flexRequest) (resp response, err error) {
	r.Dir = f.host.options.FlexVolumeDir
	op := "flex " + r.Call
	err = f.host.within(c, hal.ClassHelper, op, object, func() error {
		resp, err = f.host.help(c, hal.ClassHelper, op, object, request{Flex: &r})
		if failed, is := errors.AsType[*hal.Error](err); is && resp.Answered {
			failed.Reply = hal.ReplyStatus
		}
		return err
	})
	return resp, err
}

// flexReply is what a driver prints.
type flexReply struct {
	Status       string
	Message      string
	Capabilities *struct {
		Attach          *bool
		FSGroup         *bool `json:"fsGroup"`
		SELinuxRelabel  *bool `json:"selinuxRelabel"`
		SupportsMetrics *bool `json:"supportsMetrics"`
	}
}

// callFlex is a call of a driver in a helper child, which the driver dies with.
func callFlex(r flexRequest) response {
	program, err := flexProgram(r.Dir, r.Driver)
	if err != nil {
		return answer(err, hal.NotDone)
	}
	args := []string{r.Call}
	if r.Call != flexInit {
		if err := checkFlexTarget(r.Target); err != nil {
			return answer(err, hal.NotDone)
		}
		args = append(args, r.Target)
	}
	if r.Call == flexMount {
		options := map[string]string{}
		for _, o := range r.Options {
			options[o.Key] = o.Value
		}
		text, err := json.Marshal(options)
		if err != nil {
			return answer(err, hal.NotDone)
		}
		args = append(args, string(text))
	}
	unix.Umask(0o022) // as programs have it that people start
	var said, told capped
	cmd := &exec.Cmd{
		Path: program, Args: append([]string{program}, args...),
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}, Dir: "/",
		Stdout: &said, Stderr: &told, SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
		WaitDelay: time.Second, // a daemon that it has started may keep its output open
	}
	if err := cmd.Start(); err != nil {
		errno := errnoOf(err)
		if errno == syscall.ENOENT {
			errno = syscall.ENOEXEC // the program is there, and its interpreter is not
		}
		return answer(because(errno, program+" can't be run: "+detailOf(err)), hal.NotDone)
	}
	waited := cmd.Wait()
	if errors.Is(waited, exec.ErrWaitDelay) {
		waited = nil
	}
	return understand(program, said.String(), told.String(), waited)
}

// understand is what a call comes to whose program has ended: waited says how.
func understand(program, said, told string, waited error) response {
	r, ok := replyIn(said)
	var resp response
	switch ended := ""; {
	case !ok:
		if waited != nil {
			ended = " (" + waited.Error() + ")"
		}
		resp = answer(because(syscall.EBADMSG, fmt.Sprintf("%s%s says nothing that volnode understands: %s", program,
			ended, short(said+" "+told))), hal.Unknown)
	case r.Status == "Success" && waited == nil:
		resp = response{Outcome: hal.Done, Flex: r.capabilities()}
	case r.Status == "Not supported":
		resp = answer(because(syscall.EOPNOTSUPP, short(r.Message)), hal.NotDone)
	case r.Status == "Failure" && r.Message != "":
		resp = answer(because(syscall.EIO, short(r.Message)), hal.Unknown)
	case r.Status == "Failure":
		resp = answer(because(syscall.EIO, short(program+" says why nowhere "+told)), hal.Unknown)
	case r.Status == "Success":
		resp = answer(because(syscall.EIO, fmt.Sprintf("%s says Success and ends with %v: %s", program, waited,
			short(r.Message+" "+told))), hal.Unknown)
	default:
		resp = answer(because(syscall.EBADMSG, fmt.Sprintf("%s says %q, which is no status: %s", program,
			short(r.Status), short(r.Message))), hal.Unknown)
	}
	resp.Answered = resp.Failed
	return resp
}

// replyIn finds the reply in what a driver prints: all of it, or an object that begins a line, with nothing behind it.
func replyIn(said string) (r flexReply, ok bool) {
	for rest := said; rest != ""; {
		line := strings.TrimLeft(rest, " \t\r")
		if strings.HasPrefix(line, "{") {
			r = flexReply{}
			if json.Unmarshal([]byte(line), &r) == nil && r.Status != "" {
				return r, true
			}
		}
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return flexReply{}, false
}

func (r flexReply) capabilities() hal.FlexCapabilities {
	is := hal.DefaultFlexCapabilities()
	if r.Capabilities == nil {
		return is
	}
	set := func(to *bool, from *bool) {
		if from != nil {
			*to = *from
		}
	}
	set(&is.Attach, r.Capabilities.Attach)
	set(&is.FSGroup, r.Capabilities.FSGroup)
	set(&is.SELinuxRelabel, r.Capabilities.SELinuxRelabel)
	set(&is.Metrics, r.Capabilities.SupportsMetrics)
	return is
}

// short is the beginning of what a program says, in one line.
func short(said string) string {
	said = strings.ToValidUTF8(strings.Join(strings.Fields(said), " "), "?")
	if len(said) > mostTold {
		said = strings.ToValidUTF8(said[:mostTold], "") + " ..."
	}
	return said
}

// capped keeps the beginning of what is written to it.
type capped struct{ bytes.Buffer }

func (c *capped) Write(b []byte) (int, error) {
	c.Buffer.Write(b[:min(len(b), mostOutput-c.Len())]) // a buffer takes all
	return len(b), nil
}

// flexProgram is the program of a driver. Root alone can say what it is: it is a regular file of root, in directories
// of root up to that of all drivers, and nobody else can write to any of them. A link may lead to it, but not out.
func flexProgram(dir, driver string) (string, error) {
	name := hal.FlexDirectory(driver)
	switch {
	case name == "":
		return "", because(syscall.EINVAL, fmt.Sprintf("%q is no name of a FlexVolume driver", driver))
	case dir == "":
		return "", because(syscall.ENXIO,
			"volnode serves no FlexVolume drivers; name the directory that they are in with --flex-volume-dir")
	}
	at := filepath.Join(dir, name, filepath.Base(driver))
	program, err := filepath.EvalSymlinks(at)
	top, topErr := filepath.EvalSymlinks(dir) // it may be a link to another disk
	switch {
	case errors.Is(topErr, os.ErrNotExist):
		return "", because(syscall.ENXIO, "there is no directory "+dir+" of FlexVolume drivers; mount it if it is on "+
			"a disk of its own, and install the driver "+driver+" there")
	case topErr != nil:
		return "", topErr
	case errors.Is(err, os.ErrNotExist) && isName(at):
		return "", because(syscall.ENXIO, "the link "+at+" leads to nothing; install the driver "+driver+" there")
	case errors.Is(err, os.ErrNotExist):
		return "", because(syscall.ENOENT, "there is no "+at+"; install the driver "+driver+" there")
	case err != nil:
		return "", err
	}
	unsafe := func(what string) error { return because(syscall.EPERM, at+": "+what) }
	below, isBelow := strings.CutPrefix(program, strings.TrimSuffix(top, "/")+"/")
	if !isBelow {
		return "", unsafe("a link leads out of the directory of the drivers, to " + program +
			"; put the program there itself")
	}
	for path := program; ; path = filepath.Dir(path) {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return "", err
		}
		isProgram := path == program
		switch {
		case isProgram && st.Mode&unix.S_IFMT != unix.S_IFREG:
			return "", unsafe("it is no regular file")
		case isProgram && st.Mode&0o100 == 0:
			return "", unsafe("it is no program; run chmod u+x on it")
		case st.Uid != 0 || st.Mode&0o022 != 0:
			return "", unsafe(fmt.Sprintf("users other than root can write to %s: check its content, then chown root %[1]s "+
				"and chmod go-w %[1]s", path))
		case path == top:
			return filepath.Join(top, below), nil
		}
	}
}

// isName reports whether there is something of that name, be it a link to nothing.
func isName(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// checkFlexTarget: a volume is at a directory, with no link on the way. What is mounted there is not looked at: that
// may wait for a server.
func checkFlexTarget(dir string) error {
	missing := func(err error) error {
		if errors.Is(err, syscall.ENOENT) {
			return because(syscall.ENOTDIR, "there is no directory")
		}
		return err
	}
	if err := checkPath(dir); err != nil {
		return err
	}
	parent, err := openPoint(filepath.Dir(dir))
	if err != nil {
		return missing(err)
	}
	defer unix.Close(parent)
	fd, err := openat2(parent, filepath.Base(dir), unix.O_PATH|unix.O_NOFOLLOW, 0, withoutLinks|unix.RESOLVE_NO_XDEV)
	if err == unix.EXDEV {
		return nil
	}
	if err != nil {
		return missing(err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	switch err := unix.Fstat(fd, &st); {
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return syscall.ELOOP
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return syscall.ENOTDIR
	}
	return nil
}
