package sim

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/volnode/volnode/hal"
)

// SetMachineID gives the node another machine-id, as the copy of a disk in another machine has.
func (w *World) SetMachineID(id string) { w.machineID = id }

type hostMachine struct{ *host }

// Random is other bytes at each call.
func (h hostMachine) Random() (b [16]byte) {
	h.w.randoms++
	binary.LittleEndian.PutUint64(b[:], h.w.randoms)
	return b
}

// ID is the machine's id.
func (h hostMachine) ID() string { return h.w.machineID }

// Date is the world's clock as the date of a calendar whose months have 28 days.
func (h hostMachine) Date() string { return date(h.w.sched.now) }

// date is what the wall clock says at an instant.
func date(at hal.Instant) string {
	since := time.Duration(at)
	day := int(since / (24 * time.Hour))
	since %= 24 * time.Hour
	return fmt.Sprintf("%d-%02d-%02dT%02d:%02d:%02dZ", 2030+day/336, 1+day/28%12, 1+day%28, int(since/time.Hour),
		int(since/time.Minute)%60, int(since/time.Second)%60)
}
