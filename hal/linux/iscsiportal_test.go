package linux

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// portal answers one login with a header of an operation and a status, and keys. It returns what it was asked.
func portal(t *testing.T, op byte, status uint16, keys string) (address string, asked <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	got := make(chan string, 1)
	go func() {
		defer close(got)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var header [pduHeader]byte
		if _, err := io.ReadFull(conn, header[:]); err != nil {
			return
		}
		text := make([]byte, (binary.BigEndian.Uint32(header[4:])+3)&^3)
		if _, err := io.ReadFull(conn, text); err != nil || header[0] != opLogin || header[8] != 0x80 || header[1]&^0x4 != 0 {
			return
		}
		got <- string(text)
		header = [pduHeader]byte{0: op}
		binary.BigEndian.PutUint32(header[4:], uint32(len(keys)))
		binary.BigEndian.PutUint16(header[36:], status)
		_, _ = conn.Write(append(header[:], keys...))
	}()
	return l.Addr().String(), got
}

func TestATargetSaysWhetherItTakesALogin(t *testing.T) {
	at, asked := portal(t, opLoginReply, 0, "AuthMethod=CHAP\x00TargetPortalGroupTag=7\x00")
	tag, err := askPortal(at, "", operational, "InitiatorName=iqn.me", "TargetName=iqn.a")
	require.NoError(t, err)
	require.Equal(t, "7", tag)
	require.Equal(t, "InitiatorName=iqn.me\x00TargetName=iqn.a", strings.TrimRight(<-asked, "\x00"))
	for keys, want := range map[string]string{
		"": anyTag, "TargetPortalGroupTag=\x00": anyTag, "TargetPortalGroupTag=0x1f\x00": "31",
		"TargetPortalGroupTag=../..\x00": anyTag,
	} {
		at, _ := portal(t, opLoginReply, 0x0101, keys)
		tag, err := askPortal(at, "", security)
		require.NoError(t, err)
		require.Equal(t, want, tag, keys)
	}
}

func TestAPortalThatTakesNoLoginSaysWhy(t *testing.T) {
	for status, errno := range map[uint16]syscall.Errno{
		0x0201: syscall.EACCES, 0x0202: syscall.EACCES, 0x0203: syscall.ENOENT, 0x0301: syscall.ENOENT,
		0x0300: syscall.EIO, 0x0900: syscall.EIO,
	} {
		at, _ := portal(t, opLoginReply, status, "")
		_, err := askPortal(at, "", security)
		require.ErrorIs(t, err, errno, "%04x", status)
	}
	at, _ := portal(t, 'H', 0, "")
	_, err := askPortal(at, "", security)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, err = askPortal(l.Addr().String(), "", security)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}
