package linux

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// IsHelper reports whether this process was started as a helper child.
func IsHelper() bool { return os.Args[0] == helperName }

// HelperMain does what the agent asked this helper child for, answers and exits. It never returns.
func HelperMain() {
	dropDescriptors()
	// A helper carries paths of pods, and the agent's memory image: nobody but root looks into it (prctl(2),
	// PR_SET_DUMPABLE).
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	var req request
	// An agent that died before the whole request was written leaves a short one, and nothing is done.
	if err := gob.NewDecoder(os.Stdin).Decode(&req); err != nil {
		fmt.Fprintln(os.Stderr, helperName+": started by volnode, for volnode only:", err)
		os.Exit(2)
	}
	unix.Umask(0)
	if err := gob.NewEncoder(os.Stdout).Encode(perform(req)); err != nil {
		os.Exit(3)
	}
	os.Exit(0)
}

// dropDescriptors closes what the agent had open without O_CLOEXEC: a lock or a socket that a hanging helper kept would
// keep the next agent from starting. The Go runtime's own, anonymous inodes all of them, stay.
func dropDescriptors() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if what, err := linkText("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(what, "anon_inode:") {
			unix.Close(fd)
		}
	}
}

func perform(req request) response {
	switch {
	case req.Mount != nil && byProgram[req.Mount.FSType]:
		outcome, err := mountByProgram(*req.Mount)
		return answer(err, outcome)
	case req.Mount != nil:
		return answer(attachNew(*req.Mount), hal.NotDone)
	case req.Bind != nil:
		return answer(bindInHelper(*req.Bind), hal.NotDone)
	case req.Unmount != nil:
		// The agent looked already; the child may have waited for a processor since.
		return answer(detachTop(*req.Unmount), hal.NotDone)
	case req.Find != nil:
		found, err := (&finder{}).find(req.Find.Path, req.Find.Root)
		resp := answer(err, hal.NotDone)
		resp.Found = found
		return resp
	case req.Unpack != nil:
		outcome, err := unpack(*req.Unpack)
		return answer(err, outcome)
	case req.Probe != nil:
		found, err := probe(*req.Probe)
		resp := answer(err, hal.NotDone)
		resp.Block = found
		return resp
	case req.Format != nil:
		outcome, err := makeFilesystem(*req.Format)
		return answer(err, outcome)
	case req.Check != nil:
		found, outcome, err := check(*req.Check)
		resp := answer(err, outcome)
		resp.Checked = found
		return resp
	case req.Hold != nil:
		outcome, err := hold(*req.Hold)
		return answer(err, outcome)
	case req.Release != nil:
		outcome, err := release(*req.Release)
		return answer(err, outcome)
	case req.Clone != nil:
		outcome, err := clone(*req.Clone)
		return answer(err, outcome)
	case req.Flex != nil:
		return callFlex(*req.Flex)
	case req.Usage != nil:
		var st unix.Statfs_t
		resp := answer(unix.Statfs(*req.Usage, &st), hal.NotDone)
		resp.Usage = usageOf(&st)
		return resp
	case req.Count != nil:
		is, err := count(*req.Count)
		resp := answer(err, hal.NotDone)
		resp.Usage = is
		return resp
	case req.Make != nil:
		outcome, err := hostMake(req.Make.Path, req.Make.Type)
		return answer(err, outcome)
	}
	return performOnArray(req)
}

// performOnArray is perform of what is asked of the disks of arrays.
func performOnArray(req request) response {
	switch {
	case req.Login != nil:
		outcome, err := login(*req.Login)
		return answer(err, outcome)
	case req.Logout != nil:
		outcome, err := logout(*req.Logout)
		return answer(err, outcome)
	case req.Scan != nil:
		return answer(scan(*req.Scan), hal.NotDone)
	case req.Forget != nil:
		outcome, err := forget(*req.Forget)
		return answer(err, outcome)
	case req.Assemble != nil:
		outcome, err := assemble(req.Assemble)
		return answer(err, outcome)
	case req.Map != nil:
		outcome, err := req.Map.change()
		return answer(err, outcome)
	}
	return answer(because(syscall.ENOSYS, "unknown call"), hal.NotDone)
}

func detachTop(u unmountRequest) error {
	if id, err := topMount(u.Path, u.Which); err == nil && id != u.ID {
		return because(syscall.EINVAL, fmt.Sprintf("the top mount there is %d, not %d", id, u.ID))
	}
	return detach(u.Path)
}

func answer(err error, onError hal.Outcome) response {
	if err == nil {
		return response{Outcome: hal.Done}
	}
	return response{Failed: true, Errno: errnoOf(err), Detail: detailOf(err), Outcome: onError}
}

func hostMake(path string, t hal.FileType) (hal.Outcome, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err == nil {
		return hal.NotDone, syscall.EEXIST
	} else if !errors.Is(err, syscall.ENOENT) {
		return hal.NotDone, err
	}
	if t == hal.TypeFile {
		fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return hal.NotDone, err
		}
		return hal.Done, unix.Close(fd)
	}
	return makeDirs(path)
}

// makeDirs makes path and the parents it lacks; not done means that no parent was made either.
func makeDirs(path string) (hal.Outcome, error) {
	err := unix.Mkdir(path, 0o755)
	if !errors.Is(err, syscall.ENOENT) || path == "/" {
		if err != nil {
			return hal.NotDone, err
		}
		return hal.Done, nil
	}
	outcome, above := makeDirs(filepath.Dir(path))
	if above != nil && !errors.Is(above, syscall.EEXIST) {
		return outcome, above
	}
	switch err := unix.Mkdir(path, 0o755); {
	case err == nil:
		return hal.Done, nil
	case above != nil: // a link that leads nowhere is there, or somebody has made it meanwhile
		return hal.NotDone, err
	default:
		return hal.Unknown, err
	}
}
