package vm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/cavaliergopher/cpio"

	"github.com/volnode/volnode/e2e/vm/guest"
)

// Job is what a machine is to run.
type Job struct {
	Share   string // a directory of the host, at /w
	Args    []string
	Env     []string
	Memory  int           // MiB
	Timeout time.Duration // of the whole run
	Output  io.Writer     // what the command writes, both to its standard output and to its standard error
	Log     string        // the file that gets what the kernel says
}

const (
	// A boot takes about 10 s, and minutes on a host with much else to do. One that hangs is made again.
	bootMost = 4 * time.Minute
	tries    = 3
	// exitPort is where the guest writes its status: qemu ends with twice that and 1.
	exitPort = "0xf4"
)

// ErrNoBoot: no boot came so far that the command began.
var ErrNoBoot = errors.New("the machine does not boot")

// Run boots the machine and returns the exit status of the command. An error says that there is none.
func (i *Image) Run(ctx context.Context, j Job) (status int, err error) {
	work, err := os.MkdirTemp("", "volnode-vm-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	initrd := filepath.Join(work, "initrd")
	if err := i.writeInitrd(initrd, j); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, j.Timeout, fmt.Errorf("the machine has not ended within %s", j.Timeout))
	defer cancel()
	for range tries {
		status, isUp, err := i.boot(ctx, j, initrd)
		if isUp || ctx.Err() != nil || err != nil && !errors.Is(err, ErrNoBoot) {
			return status, errors.Join(err, context.Cause(ctx))
		}
	}
	return 0, fmt.Errorf("vm: %w in %d tries; %s has what its kernel said last", ErrNoBoot, tries, j.Log)
}

// boot boots once. isUp: the command has begun.
func (i *Image) boot(ctx context.Context, j Job, initrd string) (status int, isUp bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := os.WriteFile(j.Log, nil, 0o644); err != nil {
		return 0, false, err
	}
	c := exec.CommandContext(ctx, "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-M", "q35",
		"-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max", "-smp", "1", "-m", strconv.Itoa(j.Memory), "-no-reboot",
		"-kernel", filepath.Join(i.dir, "kernel"), "-initrd", initrd,
		"-append", "console=ttyS0 panic=-1 quiet mitigations=off nokaslr net.ifnames=0 no_timer_check",
		"-serial", "file:"+j.Log, "-chardev", "stdio,id=out,signal=off", "-device", "isa-serial,chardev=out",
		"-device", "isa-debug-exit,iobase="+exitPort+",iosize=1", "-device", "virtio-rng-pci",
		"-drive", "if=none,id=r,file="+filepath.Join(i.dir, "root.img")+
			",format=raw,readonly=on,file.locking=off,cache=unsafe",
		"-device", "virtio-blk-pci,drive=r",
		"-fsdev", "local,id=w,path="+j.Share+",security_model=none", "-device", "virtio-9p-pci,fsdev=w,mount_tag=w")
	var complaint bytes.Buffer
	c.Stdout, c.Stderr = j.Output, &complaint
	c.WaitDelay = time.Second
	// It dies with the thread that starts it: a test that takes too long leaves no machine.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return 0, false, fmt.Errorf("vm: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	limit, look := time.NewTimer(bootMost), time.NewTicker(100*time.Millisecond)
	defer limit.Stop()
	defer look.Stop()
	for !isUp {
		select {
		case err = <-ended:
			return statusOf(err, j, complaint.String())
		case <-limit.C:
			cancel()
			<-ended //nolint:errcheck // it was killed
			return 0, false, ErrNoBoot
		case <-look.C:
			text, err := os.ReadFile(j.Log)
			if err != nil {
				return 0, false, err
			}
			isUp = bytes.Contains(text, []byte(guest.Up))
		}
	}
	status, _, err = statusOf(<-ended, j, complaint.String())
	return status, true, err
}

// statusOf is the command's status, by how qemu has ended.
func statusOf(err error, j Job, complaint string) (status int, isUp bool, _ error) {
	exit, isExit := errors.AsType[*exec.ExitError](err)
	text, _ := os.ReadFile(j.Log) // it was there a moment ago
	isUp = bytes.Contains(text, []byte(guest.Up))
	switch {
	case isExit && exit.ExitCode() > 0 && exit.ExitCode()&1 == 1 && isUp:
		return exit.ExitCode() >> 1, true, nil
	case err == nil && isUp:
		return 0, true, fmt.Errorf("vm: the machine went down before its command had ended; %s has what its kernel said",
			j.Log)
	case complaint != "":
		return 0, isUp, fmt.Errorf("vm: qemu: %s", complaint)
	}
	return 0, isUp, ErrNoBoot
}

// writeInitrd writes the archive of what the kernel has before its root filesystem: the modules that it needs for that,
// and this program, which reads the job there.
func (i *Image) writeInitrd(file string, j Job) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := cpio.NewWriter(f)
	for _, dir := range []string{"proc", "sys", "dev", "root", "lower", "upper", "modules"} {
		if err := w.WriteHeader(&cpio.Header{Name: dir, Mode: cpio.TypeDir | 0o755}); err != nil {
			return err
		}
	}
	put := func(name string, mode cpio.FileMode, data []byte) error {
		err := w.WriteHeader(&cpio.Header{Name: name, Mode: cpio.TypeReg | mode, Size: int64(len(data))})
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	job, err := json.Marshal(guest.Job{Args: j.Args, Env: j.Env})
	if err != nil {
		return err
	}
	if err := errors.Join(put("init", 0o755, program), put("job.json", 0o644, job)); err != nil {
		return err
	}
	modules := os.DirFS(filepath.Join(i.dir, "modules"))
	err = fs.WalkDir(modules, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(modules, name)
		if err != nil {
			return err
		}
		return put("modules/"+name, 0o644, data)
	})
	return errors.Join(err, w.Close())
}
