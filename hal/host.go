package hal

import "context"

// Host is everything the engine can touch. All fields but Tokens are set; a wrapper replaces fields one by one.
type Host struct {
	Runtime       Runtime
	Machine       Machine
	Mounts        Mounts
	Tree          Tree
	Files         Files
	HostPaths     HostPaths
	Images        Images
	Flex          FlexDrivers
	Repositories  Repositories
	Quotas        Quotas
	Blocks        Blocks
	ISCSI         ISCSI
	SCSI          SCSI
	Multipath     Multipath
	FC            FC
	Children      Children
	Registration  Registration
	Drivers       Drivers
	CSIIdentity   CSIIdentity
	CSINode       CSINode
	CSIController CSIController
	Cluster       Cluster
	Tokens        Tokens // nil where nobody makes any
	Watches       Watches
}

// Lacks names the first interface that an engine needs and h does not have, "" if there is none.
func (h *Host) Lacks() string {
	for _, part := range [...]struct {
		name string
		is   any
	}{
		{"Runtime", h.Runtime},
		{"Machine", h.Machine},
		{"Mounts", h.Mounts},
		{"Tree", h.Tree},
		{"Files", h.Files},
		{"HostPaths", h.HostPaths},
		{"Images", h.Images},
		{"Flex", h.Flex},
		{"Repositories", h.Repositories},
		{"Quotas", h.Quotas},
		{"Blocks", h.Blocks},
		{"ISCSI", h.ISCSI},
		{"SCSI", h.SCSI},
		{"Multipath", h.Multipath},
		{"FC", h.FC},
		{"Children", h.Children},
		{"Registration", h.Registration},
		{"Drivers", h.Drivers},
		{"CSIIdentity", h.CSIIdentity},
		{"CSINode", h.CSINode},
		{"Cluster", h.Cluster},
		{"Watches", h.Watches},
	} {
		if part.is == nil {
			return part.name
		}
	}
	return ""
}

// Machine says which machine this is. No call of it acts or blocks.
type Machine interface {
	// ID is the machine's own id (machine-id(5)); "" if it has none.
	ID() string
	// Date is the wall clock as RFC 3339 text, for people to read. Nothing is decided by it.
	Date() string
	// Random is 16 bytes that nobody can guess.
	Random() [16]byte
}

// Runtime is time, tasks and the owner. The owner is the one thread of control that may touch the engine's state;
// functions given to Post, At and to the watches run on it, one at a time.
type Runtime interface {
	// Now returns the current instant. Any goroutine.
	Now() Instant
	// BootID names the present boot. Any goroutine.
	BootID() BootID
	// Post queues f to run on the owner, in the order of the Posts of one caller. Any goroutine; never blocks.
	Post(f func())
	// At queues f to run on the owner at t or soon after. An instant that has passed means at once. It cannot be
	// cancelled. Any goroutine.
	At(t Instant, f func())
	// Go runs task beside the owner. A task is where the other interfaces of a Host may be called. Owner or a task.
	Go(task func())
	// Await runs register on the owner and blocks until the function that register was given is called, or ctx is over
	// (then it returns context.Cause(ctx); a nil ctx is never over), or the owner has ended (then it returns ErrEnded).
	// It does not register if ctx is over before. Any goroutine but the owner. done may be called more than once, and
	// after Await has returned.
	Await(ctx context.Context, register func(done func())) error
}
