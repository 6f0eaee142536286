package manifest

import (
	"crypto/sha1" //nolint:gosec // RFC 9562 makes version 5 of it; nothing is secured by it
	"fmt"
)

// uuidSpace is the namespace of the uids that are made here: a random UUID, fixed for ever.
var uuidSpace = [16]byte{0x9e, 0x1a, 0x4b, 0x72, 0x3c, 0x5d, 0x4f, 0x08, 0xa6, 0x77, 0x20, 0xd1, 0xb8, 0x43, 0xee, 0x95}

// IsMadeUID reports whether a uid is of the version of those that are made here: it is of one name alone.
func IsMadeUID(uid string) bool { return len(uid) == 36 && uid[14] == '5' }

// uuid5 is the UUID of version 5 of name in uuidSpace.
func uuid5(name string) string {
	sum := sha1.Sum(append(uuidSpace[:], name...)) //nolint:gosec // see above
	u := sum[:16]
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
