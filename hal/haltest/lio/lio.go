// Package lio gives a machine of its own iSCSI targets: those of its kernel (LIO), in a network namespace on the other
// side of two cables, and an initiator, open-iscsi. It changes /etc/iscsi, and ends every session that it finds: it is
// for the machines of e2e/vm alone. It panics if something does not work.
package lio

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Initiator is the iSCSI name of the node.
const Initiator = "iqn.2026-01.example:node"

const (
	config    = "/sys/kernel/config/target"
	namespace = "targets"
	diskSize  = 16 << 20 // bytes
)

// portals are where targets may be reached. The first and the third use the first cable, the second has its own. At the
// others nobody ever listens.
var portals = []string{"10.77.1.2:3260", "10.77.2.2:3260", "[fd77::2]:3260", "10.77.1.2:3261"}

// Portal is the address of a portal, from 1.
func Portal(n int) string { return portals[n-1] }

// settings are those of iscsid.conf(5) with which a session that fails is noticed soon.
const settings = `node.startup = automatic
node.session.timeo.replacement_timeout = 10
node.conn[0].timeo.noop_out_interval = 2
node.conn[0].timeo.noop_out_timeout = 3
`

// Here reports whether this is a machine that may be changed so.
func Here() bool { return os.Getenv("VOLNODE_VM") == "1" && os.Getuid() == 0 }

// Node is the machine.
type Node struct {
	dir    string // for the content of disks
	iscsid *exec.Cmd
}

// Start makes the cables and starts the initiator. dir is for the content of disks, and for the log of iscsid.
func Start(dir string) *Node {
	if !Here() {
		panic("lio: this is no machine of e2e/vm")
	}
	call("modprobe", "-a", "sd_mod", "veth", "iscsi_tcp", "target_core_mod", "target_core_file", "iscsi_target_mod")
	cleanUp()
	call("ip", "netns", "add", namespace)
	for _, n := range []string{"1", "2"} {
		call("ip", "link", "add", "i"+n, "type", "veth", "peer", "name", "t"+n, "netns", namespace)
		call("ip", "addr", "add", "10.77."+n+".1/24", "dev", "i"+n)
		call("ip", "-n", namespace, "addr", "add", "10.77."+n+".2/24", "dev", "t"+n)
		call("ip", "link", "set", "i"+n, "up")
	}
	call("ip", "addr", "add", "fd77::1/64", "dev", "i1", "nodad")
	check(os.WriteFile("/etc/iscsi/initiatorname.iscsi", []byte("InitiatorName="+Initiator+"\n"), 0o600))
	check(os.WriteFile("/etc/iscsi/iscsid.conf", []byte(settings), 0o600))
	n := &Node{dir: dir}
	n.StartInitiator()
	n.Reset()
	return n
}

// cleanUp ends what an earlier process has left: its initiator, and the cables. Nobody has its mount of the namespace.
func cleanUp() {
	_ = exec.Command("iscsiadm", "-k", "0").Run() // it may have ended
	_ = exec.Command("ip", "netns", "delete", namespace).Run()
	_ = os.Remove("/run/netns/" + namespace)
	for _, n := range []string{"1", "2"} {
		_ = exec.Command("ip", "link", "delete", "i"+n).Run()
	}
}

// StartInitiator starts iscsid(8).
func (n *Node) StartInitiator() {
	log, err := os.OpenFile(filepath.Join(n.dir, "iscsid.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	check(err)
	n.iscsid = exec.Command("iscsid", "-f")
	n.iscsid.Stdout, n.iscsid.Stderr = log, log
	n.iscsid.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it ends with all of its process group
	check(n.iscsid.Start())
	check(log.Close())
	await("iscsid", func() bool {
		c, err := net.Dial("unix", "@ISCSIADM_ABSTRACT_NAMESPACE")
		if err == nil {
			check(c.Close())
		}
		return err == nil
	})
}

// StopInitiator ends iscsid. Sessions stay.
func (n *Node) StopInitiator() {
	check(n.iscsid.Process.Kill())
	_ = n.iscsid.Wait() // it was killed
}

// Log is what iscsid has said.
func (n *Node) Log() string { return text(filepath.Join(n.dir, "iscsid.log")) }

// Close leaves no target and no initiator.
func (n *Node) Close() {
	n.Reset()
	n.StopInitiator()
}

// Database is where open-iscsi has its records.
func (n *Node) Database() string {
	if _, err := os.Stat("/var/lib/iscsi"); err == nil {
		return "/var/lib/iscsi"
	}
	return "/etc/iscsi"
}

// Reset has all as Start left it.
func (n *Node) Reset() {
	for _, cable := range []string{"1", "2"} {
		call("ip", "-n", namespace, "link", "set", "t"+cable, "up")
	}
	call("ip", "-n", namespace, "addr", "replace", "fd77::2/64", "dev", "t1", "nodad")
	if len(glob("/sys/class/iscsi_session/session*")) > 0 {
		call("iscsiadm", "-m", "session", "--logout")
	}
	for _, target := range glob(config + "/iscsi/iqn.*") {
		n.RemoveTarget(filepath.Base(target))
	}
	for _, disk := range glob(config + "/core/fileio_0/*") {
		if is, err := os.Stat(disk); err == nil && is.IsDir() {
			check(os.Remove(disk))
		}
	}
	for _, dir := range []string{"nodes", "ifaces", "static", "send_targets"} {
		check(os.RemoveAll(n.Database() + "/" + dir))
	}
}

func group(target string) string { return filepath.Join(config, "iscsi", target, "tpgt_7") }

// MakeTarget makes a target without disks, that nobody may use yet, at portals.
func (n *Node) MakeTarget(target string, at ...int) {
	dir := group(target)
	check(os.MkdirAll(dir, 0o755))
	for _, p := range at {
		inNamespace(func() { check(os.Mkdir(dir+"/np/"+Portal(p), 0o755)) })
	}
	put(dir+"/attrib/authentication", "0")
	put(dir+"/enable", "1")
}

// RemoveTarget removes it, whoever uses it.
func (n *Node) RemoveTarget(target string) {
	dir := group(target)
	for _, acl := range glob(dir + "/acls/*") {
		for _, lun := range glob(acl + "/lun_*") {
			unlink(lun)
			check(os.Remove(lun))
		}
		check(os.Remove(acl))
	}
	for _, lun := range glob(dir + "/lun/lun_*") {
		unlink(lun)
		check(os.Remove(lun))
	}
	for _, portal := range glob(dir + "/np/*") {
		check(os.Remove(portal))
	}
	check(os.Remove(dir))
	check(os.Remove(filepath.Dir(dir)))
}

// Admit lets an initiator use a target: with credentials by the names of their settings (iscsid.conf(5)), or without.
func (n *Node) Admit(target, initiator string, chap map[string]string) {
	dir := group(target)
	acl := dir + "/acls/" + initiator
	check(os.MkdirAll(acl, 0o755))
	for _, lun := range glob(dir + "/lun/lun_*") {
		link(lun, acl+"/"+filepath.Base(lun))
	}
	for file, name := range map[string]string{
		"userid": "username", "password": "password", "userid_mutual": "username_in", "password_mutual": "password_in",
	} {
		if value := chap["node.session.auth."+name]; value != "" {
			put(dir+"/attrib/authentication", "1")
			put(acl+"/auth/"+file, value)
		}
	}
}

// PutLUN gives a target a disk, in place of what it has under that number; "" takes it away.
func (n *Node) PutLUN(target string, number uint64, disk string) {
	dir := group(target)
	name := fmt.Sprintf("lun_%d", number)
	lun := dir + "/lun/" + name
	for _, at := range append(glob(dir+"/acls/*/"+name), glob(lun)...) {
		unlink(at)
		check(os.Remove(at))
	}
	if disk == "" {
		return
	}
	link(n.disk(disk), lun)
	for _, acl := range glob(dir + "/acls/*") {
		link(lun, acl+"/"+name)
	}
}

// disk is the directory of a disk, which is made if it is not there: it is blank.
func (n *Node) disk(name string) string {
	dir := config + "/core/fileio_0/" + name
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	file := filepath.Join(n.dir, "disk-"+name)
	check(os.RemoveAll(file))
	check(os.WriteFile(file, nil, 0o600))
	check(os.Truncate(file, diskSize))
	check(os.MkdirAll(dir, 0o755))
	put(dir+"/control", fmt.Sprintf("fd_dev_name=%s,fd_dev_size=%d,fd_buffered_io=1", file, diskSize))
	put(dir+"/enable", "1")
	put(dir+"/wwn/vpd_unit_serial", serial(name))
	return dir
}

func serial(disk string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(disk)))[:25] }

// WWID is what the kernel calls a disk: of its serial number, LIO makes a name of the kind NAA 6.
func (n *Node) WWID(disk string) string { return "naa.6001405" + serial(disk) }

// SetPortal cuts the cable of a portal, and waits until the sessions there fail ("down"), or until they are given up
// for now ("dead"); or it joins it, and waits until they are there again ("up").
func (n *Node) SetPortal(portal int, how string) {
	cable := map[int]string{1: "t1", 2: "t2", 3: "t1"}[portal]
	to := "down"
	if how == "up" {
		to = "up"
	}
	call("ip", "-n", namespace, "link", "set", cable, to)
	if to == "up" {
		call("ip", "-n", namespace, "addr", "replace", "fd77::2/64", "dev", "t1", "nodad")
	}
	want := map[string][]string{"up": {"LOGGED_IN"}, "down": {"FAILED", "FREE"}, "dead": {"FREE"}}[how]
	address, _, _ := net.SplitHostPort(Portal(portal)) // it is one
	for _, file := range glob("/sys/class/iscsi_connection/*/persistent_address") {
		if text(file) != address {
			continue
		}
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "connection"), ":")
		await("session "+number+" "+how, func() bool {
			return slices.Contains(want, text("/sys/class/iscsi_session/session"+number+"/state"))
		})
	}
}

// Records lists what open-iscsi has on its disk: the records of targets, of which some have credentials, and the
// interfaces.
func (n *Node) Records() (all []string) {
	check(filepath.WalkDir(n.Database(), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(file) == "iscsid.conf" || filepath.Base(file) == "initiatorname.iscsi" {
			return err
		}
		name, _ := filepath.Rel(n.Database(), file) // it is below
		part := strings.Split(name, "/")
		switch {
		case len(part) == 4 && part[0] == "nodes":
			address := strings.Split(part[2], ",") // and the port, and the number of the portal group
			name = fmt.Sprintf("%s %s %s", part[1], net.JoinHostPort(address[0], address[1]), part[3])
		case len(part) == 2 && part[0] == "ifaces":
			name = "interface " + part[1]
		}
		is, err := os.Stat(file)
		check(err)
		if is.Mode() != 0o600 {
			name += " " + is.Mode().String()
		}
		if strings.Contains(text(file), "node.session.auth.password") {
			name += " with credentials"
		}
		all = append(all, name)
		return nil
	}))
	slices.Sort(all)
	return all
}

// Settle waits until the kernel has looked at all disks that it has found, and named them.
func (n *Node) Settle() {
	n.awaitDisks()
	call("udevadm", "settle")
}

func (n *Node) awaitDisks() {
	await("disks", func() bool {
		for _, device := range glob("/sys/class/scsi_device/*/device") {
			if text(device+"/type") == "0" && len(glob(device+"/block/*/dev")) == 0 {
				return false
			}
		}
		return true
	})
}

// inNamespace runs f on a thread among the targets, which ends with it.
func inNamespace(f func()) {
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		runtime.LockOSThread() // it is never unlocked
		at, err := os.Open("/run/netns/" + namespace)
		check(err)
		defer func() { check(at.Close()) }()
		check(unix.Setns(int(at.Fd()), unix.CLONE_NEWNET))
		f()
	}()
	if panicked := <-done; panicked != nil {
		panic(panicked)
	}
}

// patience bounds every wait.
const patience = time.Minute

func await(what string, is func() bool) {
	again, bound := time.NewTicker(50*time.Millisecond), time.NewTimer(patience)
	defer again.Stop()
	defer bound.Stop()
	for !is() {
		select {
		case <-bound.C:
			panic("lio: no " + what)
		case <-again.C:
		}
	}
}

// link makes a directory of configfs, and in it a link to another.
func link(to, at string) {
	check(os.MkdirAll(at, 0o755))
	if err := os.Symlink(to, at+"/link"); !errors.Is(err, fs.ErrExist) {
		check(err)
	}
}

// unlink removes the link of a directory.
func unlink(at string) {
	if err := os.Remove(at + "/link"); !errors.Is(err, fs.ErrNotExist) {
		check(err)
	}
}

func glob(pattern string) []string {
	all, err := filepath.Glob(pattern)
	check(err)
	return all
}

// text is what a file says, "" if it is gone.
func text(file string) string {
	b, _ := os.ReadFile(file)
	return strings.TrimSpace(string(b))
}

// put writes to a file of configfs: as it is, since a line's end would belong to a secret.
func put(file, what string) { check(os.WriteFile(file, []byte(what), 0o644)) }

func call(name string, args ...string) {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		panic(name + " " + strings.Join(args, " ") + ": " + err.Error() + ": " + string(out))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
