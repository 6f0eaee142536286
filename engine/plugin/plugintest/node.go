// Package plugintest is a node small enough to see through: names, mounts, one scripted CSI driver, and errors on
// order. It is for the tests of single verbs, which want to say exactly what happens when; whole behaviour is the
// simulator's.
package plugintest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
)

// Node is the world of one test.
type Node struct {
	Names  map[string]hal.FileType // of the tree
	Inodes map[string]uint64
	Data   map[string]string
	Modes  map[string]uint32
	Stacks map[string][]hal.Mount
	Host   map[string]hal.FileType // of hostPath volumes
	Below  map[string][]string     // where those lie below the root directory

	Secrets map[string]map[string]string // by namespace/name
	// Fail maps a call, "rmdir /a" or "NodeStageVolume", to the error that it ends with, without effect.
	Fail map[string]error
	// OnStage and the like are what the driver does, besides answering OK.
	OnStage     func(*csi.NodeStageVolumeRequest)
	OnPublish   func(*csi.NodePublishVolumeRequest)
	OnUnstage   func(*csi.NodeUnstageVolumeRequest)
	OnUnpublish func(*csi.NodeUnpublishVolumeRequest)

	Calls []string // those that change something, and RPCs with their requests
	next  uint64
}

// New is a node with the directories given, their parents included.
func New(dirs ...string) *Node {
	n := &Node{
		Names: map[string]hal.FileType{"/": hal.TypeDirectory}, Inodes: map[string]uint64{}, Data: map[string]string{},
		Modes:  map[string]uint32{},
		Stacks: map[string][]hal.Mount{}, Host: map[string]hal.FileType{}, Below: map[string][]string{},
		Secrets: map[string]map[string]string{}, Fail: map[string]error{}, next: 100,
	}
	for _, dir := range dirs {
		n.Dir(dir)
	}
	return n
}

// HAL returns the node as a hal.Host.
func (n *Node) HAL() *hal.Host {
	return &hal.Host{
		Runtime: clock{}, Mounts: mounts{n}, Tree: tree{n: n}, Files: files{n}, HostPaths: hostPaths{n},
		CSINode: node{n}, Cluster: cluster{n},
	}
}

// clock is the time of a node in which none passes.
type clock struct{ hal.Runtime }

func (clock) Now() hal.Instant   { return 1 }
func (clock) BootID() hal.BootID { return "boot" }

// Dir makes a directory with all above it.
func (n *Node) Dir(dir string) {
	for at := dir; at != "/"; at = path.Dir(at) {
		if _, ok := n.Names[at]; !ok {
			n.name(at, hal.TypeDirectory)
		}
	}
}

// Put makes any other name.
func (n *Node) Put(at string, t hal.FileType) { n.Dir(path.Dir(at)); n.name(at, t) }

func (n *Node) name(at string, t hal.FileType) { n.next++; n.Names[at], n.Inodes[at] = t, n.next }

// Mount puts a mount on top of a path, which is made if it is missing.
func (n *Node) Mount(at string, m hal.Mount) hal.Mount {
	n.Dir(at)
	n.next++
	m.ID, m.Path = hal.MountID(n.next), at
	if m.Root == "" {
		m.Root = "/"
	}
	n.Stacks[at] = append(n.Stacks[at], m)
	return m
}

// Unmount takes the top mount of a path.
func (n *Node) Unmount(at string) {
	if s := n.Stacks[at]; len(s) > 1 {
		n.Stacks[at] = s[:len(s)-1]
	} else {
		delete(n.Stacks, at)
	}
}

// Tree prints all names below dir and what is mounted on them.
func (n *Node) Tree(dir string) string {
	var b strings.Builder
	for _, at := range slices.Sorted(maps.Keys(n.Names)) {
		if !strings.HasPrefix(at, dir+"/") {
			continue
		}
		fmt.Fprintf(&b, "%s %s", at, n.Names[at])
		for _, m := range n.Stacks[at] {
			fmt.Fprintf(&b, " [%s]", m.Fingerprint())
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Status is what a driver answers with.
func Status(code hal.Code) error {
	return &hal.Error{Op: "call", Object: "driver", Class: hal.ClassRPC, Reply: hal.ReplyStatus, Code: code}
}

// NotSent is the error of an RPC without a driver.
func NotSent() error {
	return &hal.Error{
		Op: "call", Object: "driver", Class: hal.ClassRPC, Outcome: hal.NotDone, Reply: hal.ReplyNever,
		Detail: "not registered",
	}
}

// NoReply is the error of an RPC that passed its deadline.
func NoReply() error { return &hal.Error{Op: "call", Object: "driver", Class: hal.ClassRPC} }

// Errno is the error of a system call without effect.
func Errno(op, object string, errno syscall.Errno) error {
	return &hal.Error{Op: op, Object: object, Class: hal.ClassSyscall, Outcome: hal.NotDone, Errno: errno}
}

func (n *Node) call(what, object string) error {
	n.Calls = append(n.Calls, what+" "+object)
	return n.Fail[what+" "+object]
}

func (n *Node) children(dir string) []string {
	var all []string
	for _, at := range slices.Sorted(maps.Keys(n.Names)) {
		if at != "/" && path.Dir(at) == dir {
			all = append(all, at)
		}
	}
	return all
}
