// Package plugintest is a simulated node for the tests of single verbs: a driver that is scripted, errors on order, and
// a record of the calls. All else that the node does is hal/sim's.
package plugintest

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/hal/wrap"
)

// Node is the node of one test, with the agent's root directory at /r.
type Node struct {
	// World is the node and all that surrounds it.
	World *sim.World

	// Fail maps a call, "umount /a" or "NodeStageVolume", to the error that it ends with, without effect.
	Fail map[string]error
	// OnStage and the like are what the driver does, besides answering OK.
	OnStage     func(*csi.NodeStageVolumeRequest)
	OnPublish   func(*csi.NodePublishVolumeRequest)
	OnUnstage   func(*csi.NodeUnstageVolumeRequest)
	OnUnpublish func(*csi.NodeUnpublishVolumeRequest)

	Calls []string // those that change something, and RPCs with their requests
}

// New is a node with the directories given, their parents included.
func New(dirs ...string) *Node {
	n := &Node{World: sim.New(sim.Config{RootDir: "/r", Private: true}), Fail: map[string]error{}}
	for _, dir := range dirs {
		n.World.MakeDir(dir)
	}
	return n
}

// HAL returns the node as a hal.Host, for a test that is no task of the world.
func (n *Node) HAL() *hal.Host {
	h := wrap.Host(n.World.Host(), n.around)
	h.CSINode = node{h.CSINode, n}
	return &h
}

// around makes a call in the world, unless it is to fail.
func (n *Node) around(s wrap.Site, _ hal.Call, do func() error) (err error) {
	call := s.Name + " " + s.Object
	if s.Effect {
		n.Calls = append(n.Calls, call)
	}
	if err := n.Fail[call]; err != nil {
		return err
	}
	n.World.Do(func() { err = do() })
	return err
}

// Put makes a name of any type, and the directories that lead to it. What was there is moved away.
func (n *Node) Put(at string, t hal.FileType) {
	if _, isThere := n.World.Exists(at); isThere {
		must(n.World.Move(at, fmt.Sprintf("/away-%d", len(n.World.Entries("/")))))
	}
	n.World.MakeDir(at[:strings.LastIndexByte(at, '/')])
	if t == hal.TypeSymlink {
		if err := n.World.Symlink("/nowhere", at); err != nil {
			panic(err)
		}
		return
	}
	must(n.World.MakeNode(at, t))
}

// Mount puts a mount of a filesystem on top of a path, which is made if it is missing. One source is one filesystem.
func (n *Node) Mount(at, source string) hal.Mount {
	from := "/filesystems/" + source
	if _, isMade := n.World.Exists(from); !isMade {
		n.World.MountShare(from)
	}
	n.World.MakeDir(at)
	must(n.World.BindMount(from, at, false))
	all := n.World.MountsAt(at)
	return all[len(all)-1]
}

// Mode is the permissions of what is at a path.
func (n *Node) Mode(at string) (mode uint32) {
	n.World.Do(func() {
		info, err := n.World.Host().Tree.Stat(hal.Call{}, at)
		if err != nil {
			panic(err)
		}
		mode = info.Mode
	})
	return mode
}

// Tree prints all names below dir, and what is mounted on them.
func (n *Node) Tree(dir string) string {
	var b strings.Builder
	names := n.World.Entries(dir)
	slices.Sort(names)
	for _, name := range names {
		at := dir + "/" + name
		t, _ := n.World.Exists(at)
		fmt.Fprintf(&b, "%s %s", at, t)
		for _, m := range n.World.MountsAt(at) {
			fmt.Fprintf(&b, " [%s]", m.Fingerprint())
		}
		b.WriteString("\n")
		if t == hal.TypeDirectory {
			b.WriteString(n.Tree(at))
		}
	}
	return b.String()
}

func must(errno syscall.Errno) {
	if errno != 0 {
		panic(errno)
	}
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
