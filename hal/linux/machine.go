package linux

import (
	"crypto/rand"
	"io"
	"os"
	"strings"
	"time"
)

// machine is hal.Machine. The string is the file that holds the machine's id.
type machine struct{ file string }

// maxMachineID is more than the 33 bytes that machine-id(5) allows.
const maxMachineID = 64

// ID reads the machine's id. A file that is missing, or that says "uninitialized" as an image does before its first
// boot, is no id.
func (m machine) ID() string {
	f, err := os.Open(m.file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxMachineID))
	if id := strings.TrimSpace(string(text)); err == nil && id != "uninitialized" {
		return id
	}
	return ""
}

// Random is of getrandom(2).
func (machine) Random() (b [16]byte) {
	_, _ = rand.Read(b[:]) // it never fails
	return b
}

// Date is the present time in UTC.
func (machine) Date() string { return time.Now().UTC().Format(time.RFC3339) }
