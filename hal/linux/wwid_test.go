package linux

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// identity is a page with names.
func identity(names ...[]byte) []byte {
	page := []byte{0, identityPage, 0, 0}
	for _, n := range names {
		page = append(page, n...)
	}
	page[2], page[3] = byte((len(page)-4)>>8), byte(len(page)-4)
	return page
}

// called is one name: its code set, kind and text.
func called(set, kind byte, id string) []byte {
	return append([]byte{set, kind, 0, byte(len(id))}, id...)
}

func TestAWWIDIsTheNameThatTheKernelTakes(t *testing.T) {
	const binary, ascii, utf8 = 1, 2, 3
	naa6 := called(binary, 3, "\x60\x01\x40\x50\xde\xad\xbe\xef\x00\x00\x00\x00\x00\x00\x00\x01")
	naa5 := called(binary, 3, "\x50\x01\x40\x50\xde\xad\xbe\xef")
	naa3 := called(binary, 3, "\x30\x01\x40\x50\xde\xad\xbe\xef")
	eui8 := called(binary, 2, "\x00\x01\x02\x03\x04\x05\x06\x07")
	eui16 := called(binary, 2, "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f")
	t10 := called(ascii, 1, "LIO-ORG disk:deadbeef")
	name := called(utf8, 8, "iqn.2026-01.example:disk\x00\x00\x00\x00")
	port := called(binary, 0x13, "\x60\x01\x40\x50\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x02")
	group := called(binary, 0x15, "\x00\x00\x00\x01")
	for _, c := range []struct {
		want string
		page []byte
	}{
		{"naa.6001405" + "0deadbeef0000000000000001", identity(t10, naa6, port, group)},
		{"naa.6001405" + "0deadbeef0000000000000001", identity(naa6, naa5, eui16)},
		{"iqn.2026-01.example:disk", identity(naa6, name, t10)},
		{"eui.000102030405060708090a0b0c0d0e0f", identity(naa5, eui16, eui8)},
		{"naa.50014050deadbeef", identity(eui8, naa5)},
		{"eui.0001020304050607", identity(t10, eui8, naa3)},
		{"t10.LIO-ORG disk:deadbeef", identity(called(ascii, 1, "short"), t10, called(ascii, 1, "also"))},
		{`t10.A\x` + `\n\0\001\e` + "\xc3\xa4", identity(called(utf8, 1, "A\\x\n\x00\x01\x1b\xc3\xa4"))},
		{"", identity(port, group)},
		{"", identity(called(binary, 3, ""))},
		{"", identity()},
		{"", []byte{0, 0x80, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8}},
		{"", nil},
		{"", identity(naa6)[:20]}, // it was cut off
	} {
		require.Equal(t, c.want, wwidOf(c.page))
	}
}

func FuzzWWID(f *testing.F) {
	f.Add(identity(called(1, 3, "\x60\x01\x40\x50\xde\xad\xbe\xef\x00\x00\x00\x00\x00\x00\x00\x01"), called(2, 1, "LIO")))
	f.Fuzz(func(_ *testing.T, page []byte) { wwidOf(page) })
}
