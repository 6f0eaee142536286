// Package guest is the first process of a machine of package vm: it mounts the root filesystem, runs one command, and
// ends the machine with the command's status.
package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Up is what the kernel's log has once the command begins.
const Up = "volnode-vm: the command begins"

// Job is the command.
type Job struct{ Args, Env []string }

// output is the serial line that carries what the command writes.
const output = "/dev/ttyS1"

// mount is one filesystem of the machine.
type mount struct{ source, target, fsType, data string }

// Main is the whole life of the machine. It does not return.
func Main() {
	status, err := 0, errors.Join(start(), enter())
	if err == nil {
		status, err = run()
	}
	if err != nil {
		say("volnode-vm: " + err.Error())
		status = 1
	}
	end(status)
}

// say writes to the kernel's log, which the host reads.
func say(text string) {
	if f, err := os.OpenFile("/dev/console", os.O_WRONLY, 0); err == nil {
		_, _ = fmt.Fprintln(f, text) // there is nobody else to tell
		_ = f.Close()
	}
}

// mountAll mounts in order, and makes the directories.
func mountAll(all []mount) error {
	for _, m := range all {
		if err := os.MkdirAll(m.target, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.source, m.target, m.fsType, 0, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	return nil
}

// start loads the modules that the root filesystem needs, and mounts it at /root, under a layer that forgets.
func start() error {
	if err := mountAll([]mount{
		{"proc", "/proc", "proc", ""}, {"sys", "/sys", "sysfs", ""}, {"dev", "/dev", "devtmpfs", ""},
	}); err != nil {
		return err
	}
	files, err := filepath.Glob("/modules/*")
	if err != nil {
		return err
	}
	for _, file := range files { // by number
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("load %s: %w", file, err)
		}
		_ = f.Close()
	}
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for range 100 { // the driver may still look for its disk
		if err = unix.Mount("/dev/vda", "/lower", "ext4", unix.MS_RDONLY, ""); err == nil {
			break
		}
		<-again.C
	}
	if err != nil {
		return fmt.Errorf("mount /dev/vda: %w", err)
	}
	if err := mountAll([]mount{{"upper", "/upper", "tmpfs", ""}}); err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir("/upper/upper", 0o755), os.Mkdir("/upper/work", 0o755)); err != nil {
		return err
	}
	return mountAll([]mount{{"overlay", "/root", "overlay", "lowerdir=/lower,upperdir=/upper/upper,workdir=/upper/work"}})
}

// enter makes /root the root, and mounts what a system has.
func enter() error {
	job, err := os.ReadFile("/job.json")
	if err != nil {
		return err
	}
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if err := unix.Mount(dir, "/root"+dir, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("move %s: %w", dir, err)
		}
	}
	if err := errors.Join(os.Chdir("/root"), unix.Mount(".", "/", "", unix.MS_MOVE, ""), unix.Chroot("."),
		os.Chdir("/")); err != nil {
		return fmt.Errorf("enter the root filesystem: %w", err)
	}
	if err := mountAll([]mount{
		{"run", "/run", "tmpfs", "mode=0755"},
		{"pts", "/dev/pts", "devpts", ""},
		{"shm", "/dev/shm", "tmpfs", ""},
		{"tmp", "/tmp", "tmpfs", ""},
		{"cgroup", "/sys/fs/cgroup", "cgroup2", ""},
		{"debug", "/sys/kernel/debug", "debugfs", ""},
		{"w", "/w", "9p", "trans=virtio,version=9p2000.L,msize=512000,cache=none"},
	}); err != nil {
		return err
	}
	if err := os.WriteFile("/run/job.json", job, 0o600); err != nil {
		return err
	}
	return os.MkdirAll("/run/lock", 0o755)
}

// run runs the command once the devices are named and the loopback interface is up.
func run() (status int, err error) {
	data, err := os.ReadFile("/run/job.json")
	if err != nil {
		return 0, err
	}
	var job Job
	if err := json.Unmarshal(data, &job); err != nil {
		return 0, err
	}
	out, err := line()
	if err != nil {
		return 0, err
	}
	env := append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "TERM=dumb", "VOLNODE_VM=1"}, job.Env...)
	for _, args := range [][]string{
		{"modprobe", "-a", "configfs", "loop", "fuse"},
		{"mount", "-t", "configfs", "config", "/sys/kernel/config"},
		{"ip", "link", "set", "lo", "up"},
		{"/usr/lib/systemd/systemd-udevd", "--daemon"},
		{"udevadm", "trigger"},
		{"udevadm", "settle"},
	} {
		c := exec.Command("/usr/bin/env", append([]string{"--"}, args...)...)
		c.Env = env
		if text, err := c.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%v: %w: %s", args, err, text)
		}
	}
	say(Up)
	c := exec.Command("/usr/bin/env", append([]string{"--"}, job.Args...)...)
	c.Dir, c.Env, c.Stdout, c.Stderr = "/w", env, out, out
	if err := c.Start(); err != nil {
		return 0, err
	}
	for { // as the first process, this one also waits for those that nobody else waits for
		var ended unix.WaitStatus
		switch pid, err := unix.Wait4(-1, &ended, 0, nil); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case pid == c.Process.Pid:
			return ended.ExitStatus(), nil // -1 after a signal
		}
	}
}

// line opens the serial line for output, which it passes on as it is.
func line() (*os.File, error) {
	f, err := os.OpenFile(output, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	t, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err == nil {
		t.Oflag &^= unix.OPOST
		err = unix.IoctlSetTermios(int(f.Fd()), unix.TCSETSW, t)
	}
	return f, err
}

// end ends the machine. qemu's debug port takes 7 bits of the status; a command that a signal ended has -1.
func end(status int) {
	unix.Sync()
	if status < 0 || status > 127 {
		status = 127
	}
	for _, line := range []string{"/dev/console", output} { // until all that was written has gone through, as tcdrain(3)
		if f, err := os.OpenFile(line, os.O_WRONLY, 0); err == nil {
			_ = unix.IoctlSetInt(int(f.Fd()), unix.TCSBRK, 1)
			_ = f.Close()
		}
	}
	if f, err := os.OpenFile("/dev/port", os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteAt([]byte{byte(status)}, 0xf4)
	}
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {} // the first process of a machine never ends
}
