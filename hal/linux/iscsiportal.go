package linux

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// anyTag is the number of a portal group that is not known.
const anyTag = "-1"

// tagOf asks a target, by the first step of a login that goes no further, whether it lets this initiator in, and which
// number its portal group has (RFC 7143, sections 11.12 and 11.13). iscsid would try again and again, and say no more
// than that it gave up. An interface that is not plain TCP only iscsid can use.
func tagOf(l loginRequest, iface settings) (tag string, err error) {
	if iface.value("iface.transport_name") != "tcp" {
		return anyTag, nil
	}
	initiator := iface.value("iface.initiatorname")
	if initiator == "" {
		text, err := os.ReadFile(configDir + "/initiatorname.iscsi")
		if err != nil && !errors.Is(err, syscall.ENOENT) {
			return "", err
		}
		if initiator = parseSettings(text).value("InitiatorName"); initiator == "" {
			return "", because(syscall.ENXIO, "this node has no iSCSI name; write InitiatorName=iqn… into "+configDir+
				"/initiatorname.iscsi (iscsi-iname)")
		}
	}
	keys := []string{"InitiatorName=" + initiator, "SessionType=Normal", "TargetName=" + l.Record.Target}
	stage := operational
	if len(l.CHAP) > 0 {
		stage, keys = security, append(keys, "AuthMethod=CHAP,None")
	}
	return askPortal(l.Record.Portal, iface.value("iface.net_ifacename"), stage, keys...)
}

// Of the protocol (RFC 7143, section 11): both messages have a header of this length, in bytes.
const (
	pduHeader    = 48
	opLogin      = 0x40 | 0x03 // immediate
	opLoginReply = 0x23
	mostText     = 8192 // of keys, in bytes; what a target may send before others are agreed on

	// The stages of a login: without credentials it begins with the second, as that of iscsid does.
	security, operational byte = 0 << 2, 1 << 2
)

func askPortal(portal, device string, stage byte, keys ...string) (tag string, err error) {
	dialer := net.Dialer{Timeout: hal.LoginTime, Control: func(_, _ string, c syscall.RawConn) (err error) {
		if device == "" {
			return nil
		}
		return errors.Join(c.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), device) }), err)
	}}
	conn, err := dialer.DialContext(context.Background(), "tcp", portal)
	if err != nil {
		return "", noAnswer(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(hal.LoginTime)); err != nil {
		return "", err
	}
	if _, err := conn.Write(loginPDU(stage, keys)); err != nil {
		return "", noAnswer(err)
	}
	var header [pduHeader]byte
	if _, err := io.ReadFull(conn, header[:]); err != nil {
		return "", noAnswer(err)
	}
	if header[0]&0x3f != opLoginReply {
		return "", because(syscall.ECONNREFUSED, "what answers at the portal is no iSCSI target")
	}
	if err := loginStatus(header[36], header[37]); err != nil {
		return "", err
	}
	text := make([]byte, min(binary.BigEndian.Uint32(header[4:])&0xffffff, mostText))
	if _, err := io.ReadFull(conn, text); err != nil {
		return "", noAnswer(err)
	}
	return tagIn(text), nil
}

// tagIn finds the number of the portal group among keys.
func tagIn(text []byte) string {
	for key := range bytes.SplitSeq(text, []byte{0}) {
		if value, is := bytes.CutPrefix(key, []byte("TargetPortalGroupTag=")); is {
			if n, err := strconv.ParseUint(string(value), 0, 16); err == nil {
				return strconv.FormatUint(n, 10)
			}
		}
	}
	return anyTag
}

// loginPDU is a request to log in that does not ask for the next stage. A session that exists is not touched: this one
// is by no name that iscsid uses, and never comes to be.
func loginPDU(stage byte, keys []string) []byte {
	var data []byte
	for _, key := range keys {
		data = append(append(data, key...), 0)
	}
	header := make([]byte, pduHeader)
	binary.BigEndian.PutUint32(header[4:], uint32(len(data)))
	header[0], header[1] = opLogin, stage
	random := machine{}.Random()
	header[8] = 0x80 // the rest of the initiator's part of the session's name is random
	copy(header[9:14], random[:])
	return append(append(header, data...), make([]byte, -len(data)&3)...)
}

// loginStatus is the class and the detail of a status, section 11.13.5. A target may be elsewhere: iscsid follows it.
func loginStatus(class, detail byte) error {
	switch class {
	case 0, 1:
		return nil
	case 2, 3:
	default:
		return because(syscall.EIO, fmt.Sprintf("the target answers with the unknown status %02x%02x", class, detail))
	}
	errno, why := syscall.EIO, "the target does not take the login"
	switch uint16(class)<<8 | uint16(detail) {
	case 0x0201:
		errno, why = syscall.EACCES, "the target wants credentials, or others"
	case 0x0202:
		errno, why = syscall.EACCES, "the target is not for this initiator"
	case 0x0203, 0x0204:
		errno, why = syscall.ENOENT, "the portal has no such target"
	case 0x0301: // as that of Linux says it
		errno, why = syscall.ENOENT, "the portal has no such target, or does not serve it now"
	}
	return because(errno, fmt.Sprintf("%s (status %02x%02x)", why, class, detail))
}

// noAnswer is one of the two ways in which a portal does not answer.
func noAnswer(err error) error {
	errno := syscall.ETIMEDOUT
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) {
		errno = syscall.ECONNREFUSED
	}
	return because(errno, "no target answers at the portal: "+err.Error())
}
