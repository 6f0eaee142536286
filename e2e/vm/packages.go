package vm

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// userland is the packages whose programs a test may call in the machine.
var userland = []string{
	"bash", "coreutils", "util-linux", "mount", "kmod", "udev", "procps", "iproute2", "e2fsprogs", "xfsprogs",
	"btrfs-progs", "nfs-common", "nfs-kernel-server", "rpcbind", "quota", "attr", "acl", "dmsetup", "grep", "sed",
	"findutils", "git", "open-iscsi", "multipath-tools",
}

// Kernels are packages of Debian 12 that stand for the newest kernel of a version: 6.12 has statmount(2), 6.1 has not.
var Kernels = []string{"linux-image-6.12-amd64", "linux-image-amd64"}

// tools are the programs of the host that are needed, and their packages.
var tools = [][2]string{
	{"qemu-system-x86_64", "qemu-system-x86"},
	{"mke2fs", "e2fsprogs"},
	{"dpkg-deb", "dpkg"},
	{"tar", "tar"},
	{"xz", "xz-utils"},
}

// archive is one package that is to be unpacked.
type archive struct {
	file string // its name in the directory of downloads
	sum  string // "SHA256:…"
}

// ErrUnavailable says that the programs or the packages for a machine can't be had.
var ErrUnavailable = errors.New("vm: no machine can be made on this host")

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// provide sees that the host can make and run a machine. It installs what is missing, as root.
func provide() error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("it is a machine of amd64, and this host is %s", runtime.GOARCH)
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("it is made of Debian packages, and there is no apt-get here")
	}
	if os.Getuid() != 0 {
		return errors.New("unpacking its files takes root")
	}
	var missing []string
	for _, tool := range tools {
		if _, err := exec.LookPath(tool[0]); err != nil {
			missing = append(missing, tool[1])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := output("apt-get", "update", "-q"); err != nil {
		return err
	}
	_, err := output("apt-get", slices.Concat([]string{"install", "-q", "-y", "--no-install-recommends"}, missing)...)
	return err
}

// kernelPackage is the package of the kernel that one of Kernels stands for.
func kernelPackage(name string) (string, error) {
	text, err := output("apt-cache", "depends", name)
	m := regexp.MustCompile(`(?m)^ *Depends: (linux-image-[0-9]\S*)$`).FindStringSubmatch(text)
	if err != nil || m == nil {
		return "", fmt.Errorf("the package sources of this host have no %s; is this Debian 12?", name)
	}
	return m[1], nil
}

// resolve names the package that one of Kernels stands for, and the archives of it and of the userland with all that it
// depends on. It fetches the lists of packages if they are not there, as on a new host.
func resolve(name, dir string) (kernel string, all []archive, err error) {
	if kernel, err = kernelPackage(name); err != nil {
		if _, err := output("apt-get", "update", "-q"); err != nil {
			return "", nil, err
		}
		if kernel, err = kernelPackage(name); err != nil {
			return "", nil, err
		}
	}
	for _, args := range [][]string{
		{"download", "--print-uris", kernel},
		slices.Concat(onto(dir), []string{"install", "--print-uris"}, userland),
	} {
		text, err := output("apt-get", slices.Concat([]string{"-qq", "-y", "--no-install-recommends"}, args)...)
		if err != nil {
			return "", nil, err
		}
		for line := range strings.Lines(text) { // 'URI' FILE SIZE SUM
			if part := strings.Fields(line); len(part) == 4 {
				all = append(all, archive{part[1], part[3]})
			}
		}
	}
	return kernel, all, nil
}

// onto are the options with which apt-get downloads all that an empty system would need, and installs nothing.
func onto(dir string) []string {
	return []string{
		"-o", "Dir::State::status=" + filepath.Join(dir, "status"), "-o", "Dir::Cache::archives=" + dir + "/",
		"-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root",
	}
}

// download fetches all archives into dir.
func download(kernel, dir string) error {
	quiet := []string{"-qq", "-y", "--no-install-recommends"}
	if _, err := output("apt-get", slices.Concat(quiet, onto(dir), []string{"install", "-d"}, userland)...); err != nil {
		return err
	}
	c := exec.Command("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", kernel)
	c.Dir = dir
	return run(c)
}

// keyOf names what is made of these archives by this version of the package.
func keyOf(all []archive) string {
	h := sha256.New()
	fmt.Fprintln(h, format, modules, leftOut)
	for _, a := range all {
		fmt.Fprintln(h, a.file, a.sum)
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:16]
}

// output runs a program and returns what it writes.
func output(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	var out bytes.Buffer
	c.Stdout = &out
	err := run(c)
	return out.String(), err
}

// run runs a program. Its error has what the program wrote to its standard error.
func run(c *exec.Cmd) error {
	var complaint bytes.Buffer
	c.Stderr = &complaint
	c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	if err := c.Run(); err != nil {
		return fmt.Errorf("vm: %s: %w: %s", strings.Join(c.Args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return nil
}
