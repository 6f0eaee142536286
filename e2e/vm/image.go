package vm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// format changes when the same packages are made into another image.
const format = 3

// modules are those of the kernel that the machine has, with all that they depend on. What the kernel has built in, or
// does not have, is passed over. The first are loaded before there is a root filesystem.
var modules = []string{
	"virtio_pci", "virtio_blk", "crc32c_generic", "ext4", "overlay", "9pnet_virtio", "9p",
	"crc32c_intel", "xfs", "btrfs", "loop", "nfs", "nfsv3", "nfsv4", "nfsd", "fuse", "configfs", "virtio_net", "veth",
	"quota_v2", "sd_mod", "sg", "scsi_debug", "iscsi_tcp", "target_core_mod", "target_core_file", "iscsi_target_mod",
	"tcm_fc", "fcoe", "scsi_transport_fc", "dm_mod", "dm_multipath", "dm_flakey", "dm_delay", "dm_snapshot",
	"dm_round_robin", "dm_queue_length", "dm_service_time", "scsi_dh_alua", "nbd", "sch_netem", "nf_tables", "nft_ct",
	"nft_reject_inet",
}

// early is how many of modules are loaded first.
const early = 7

// leftOut is what of the packages the machine has no use for.
var leftOut = []string{
	"./usr/share/doc", "./usr/share/man", "./usr/share/locale", "./usr/share/info", "./usr/share/zoneinfo",
	"./usr/lib/python3*", "./usr/share/perl*", "*/perl*", "*/libicu*",
}

// Image is a machine that can be booted.
type Image struct {
	dir string // kernel, root.img, modules/
}

// built are the machines that this process has built, by cache and kernel: asking the package manager takes seconds.
var built struct {
	mu  sync.Mutex
	all map[[2]string]*Image
}

// Build returns the machine with one of [Kernels] in a directory for caches, and makes it if it is not there or its
// packages have changed. Of earlier ones it keeps none. It writes to w when it makes one. The error is [ErrUnavailable]
// if the host can't have the programs and packages for it. Of several callers, one makes it, and the others wait.
func Build(cache, kernelName string, w io.Writer) (*Image, error) {
	built.mu.Lock()
	defer built.mu.Unlock()
	key := [2]string{cache, kernelName}
	if i := built.all[key]; i != nil {
		return i, nil
	}
	i, err := build(cache, kernelName, w)
	if err != nil {
		return nil, err
	}
	if built.all == nil {
		built.all = map[[2]string]*Image{}
	}
	built.all[key] = i
	return i, nil
}

func build(cache, kernelName string, w io.Writer) (*Image, error) {
	if err := provide(); err != nil {
		return nil, unavailable(err)
	}
	work, err := os.MkdirTemp("", "volnode-vm-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	debs := filepath.Join(work, "debs")
	err = errors.Join(os.MkdirAll(filepath.Join(debs, "partial"), 0o755), os.WriteFile(debs+"/status", nil, 0o644))
	if err != nil {
		return nil, err
	}
	kernel, all, err := resolve(kernelName, debs)
	if err != nil {
		return nil, unavailable(err)
	}
	dir := filepath.Join(cache, kernelName+"-"+keyOf(all))
	if _, err := os.Stat(filepath.Join(dir, "root.img")); err == nil {
		return &Image{dir}, nil
	}
	fmt.Fprintf(w, "vm: making the machine of %s and %d other packages\n", kernel, len(all)-1)
	if err := download(kernel, debs); err != nil {
		return nil, unavailable(err)
	}
	made := filepath.Join(work, "made")
	if err := makeImage(work, debs, strings.TrimPrefix(kernel, "linux-image-"), made); err != nil {
		return nil, err
	}
	return &Image{dir}, keep(made, filepath.Join(cache, kernelName+"-*"), dir)
}

// keep puts what was made into the cache, in place of what is there by a pattern.
func keep(made, former, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	all, err := filepath.Glob(former)
	if err != nil {
		return err
	}
	for _, old := range all {
		if err := os.RemoveAll(old); err != nil {
			return err
		}
	}
	next := dir + ".new"
	if err := run(exec.Command("cp", "-a", "--sparse=always", made, next)); err != nil {
		return err
	}
	return os.Rename(next, dir)
}

// makeImage unpacks the archives in debs, and makes the files of an Image in made.
func makeImage(work, debs, release, made string) error {
	root := filepath.Join(work, "root")
	for _, dir := range []string{
		"usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "proc", "sys", "dev", "run", "tmp", "w", "mnt", "root", "etc",
		"var/lib/nfs/v4recovery", "var/lib/nfs/rpc_pipefs",
	} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+name, filepath.Join(root, name)); err != nil {
			return err
		}
	}
	all, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return err
	}
	for _, deb := range all {
		if err := unpack(deb, root); err != nil {
			return err
		}
	}
	if err := os.Symlink("bash", filepath.Join(root, "bin/sh")); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Join(made, "modules"), 0o755); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(root, "boot/vmlinuz-"+release), filepath.Join(made, "kernel")); err != nil {
		return err
	}
	if err := chooseModules(root, release, filepath.Join(made, "modules")); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"passwd": "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:/bin/false\n_rpc:x:101:65534::/run/rpcbind:/bin/false\n" +
			"statd:x:102:65534::/var/lib/nfs:/bin/false\nnobody:x:65534:65534::/:/bin/false\n",
		"group": "root:x:0:\ntty:x:5:\ndisk:x:6:\nkmem:x:15:\ndialout:x:20:\ncdrom:x:24:\nfloppy:x:25:\ntape:x:26:\n" +
			"audio:x:29:\nvideo:x:44:\nlp:x:7:\ninput:x:105:\nkvm:x:104:\nrender:x:107:\nsgx:x:106:\nnogroup:x:65534:\n",
		"hosts": "127.0.0.1 localhost vm\n::1 localhost\n", "hostname": "vm\n", "mtab": "", "exports": "",
	} {
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	size, err := sizeOf(root)
	if err != nil {
		return err
	}
	return run(exec.Command("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-N", "40000", "-d", root,
		filepath.Join(made, "root.img"), fmt.Sprintf("%dK", (size+size/4)>>10+32<<10)))
}

// unpack unpacks the files of a package, and runs none of its scripts.
func unpack(deb, root string) error {
	args := []string{"-x", "-C", root, "--skip-old-files", "--keep-directory-symlink"}
	for _, pattern := range leftOut {
		args = append(args, "--exclude="+pattern)
	}
	from, to := exec.Command("dpkg-deb", "--fsys-tarfile", deb), exec.Command("tar", args...)
	pipe, err := from.StdoutPipe()
	if err != nil {
		return err
	}
	to.Stdin = pipe
	if err := from.Start(); err != nil {
		return err
	}
	return errors.Join(run(to), from.Wait())
}

// chooseModules leaves of the kernel's modules those that are wanted, and puts those that are loaded first into first,
// in the order in which they are loaded.
func chooseModules(root, release, first string) error {
	dir := filepath.Join(root, "lib/modules", release)
	if err := depmod(root, release); err != nil {
		return err
	}
	needs, err := dependencies(filepath.Join(dir, "modules.dep"))
	if err != nil {
		return err
	}
	var wanted []string // each after those that it depends on
	for i, name := range modules {
		for _, file := range slices.Backward(needs[name]) {
			if !slices.Contains(wanted, file) {
				wanted = append(wanted, file)
			}
		}
		if i != early-1 {
			continue
		}
		for n, file := range wanted {
			at := filepath.Join(first, fmt.Sprintf("%03d-%s", n, filepath.Base(file)))
			if err := run(exec.Command("cp", filepath.Join(dir, file), at)); err != nil {
				return err
			}
			if strings.HasSuffix(at, ".xz") {
				if err := run(exec.Command("xz", "-d", at)); err != nil {
					return err
				}
			}
		}
	}
	err = filepath.WalkDir(filepath.Join(dir, "kernel"), func(at string, d fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(dir, at); err == nil && !d.IsDir() && !slices.Contains(wanted, name) {
			return os.Remove(at)
		}
		return err
	})
	return errors.Join(err, depmod(root, release))
}

// depmod writes which module depends on which, with the program of the machine itself.
func depmod(root, release string) error {
	c := exec.Command("/sbin/depmod", release)
	c.SysProcAttr, c.Dir = &syscall.SysProcAttr{Chroot: root}, "/"
	return run(c)
}

// dependencies reads a modules.dep(5): by the name of a module, its file and those that it depends on.
func dependencies(file string) (map[string][]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := map[string][]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		module, needed, _ := strings.Cut(s.Text(), ":")
		name, _, _ := strings.Cut(filepath.Base(module), ".")
		all[strings.ReplaceAll(name, "-", "_")] = append([]string{module}, strings.Fields(needed)...)
	}
	return all, nil
}

// sizeOf is how many bytes the files below a directory take.
func sizeOf(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(at string, _ fs.DirEntry, err error) error {
		var is unix.Stat_t
		if err == nil {
			err = unix.Lstat(at, &is)
		}
		sum += is.Blocks * 512
		return err
	})
	return sum, err
}
