package linux

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// maxDetail bounds the text of an error in bytes: it may come from a driver or from the kernel's log of a mount.
const maxDetail = 1024

// failure is the error of a call of class syscall or file that had no effect.
func failure(class hal.Class, op, object string, err error) *hal.Error {
	return &hal.Error{
		Op: op, Object: object, Class: class, Outcome: hal.NotDone, Errno: errnoOf(err), Detail: detailOf(err),
	}
}

// partial is the error of a call of class file that may have had part of its effect.
func partial(op, object string, err error) *hal.Error {
	e := failure(hal.ClassFile, op, object, err)
	e.Outcome = hal.Unknown
	return e
}

func errnoOf(err error) syscall.Errno {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return 0
}

// detailOf returns the text of an error that says more than its errno does. What the os package puts around an errno,
// the call and its file, the caller says himself.
func detailOf(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.SyscallError](err); ok {
		err = e.Err
	}
	if _, ok := err.(syscall.Errno); ok { //nolint:errorlint // only a bare errno has no more to say
		return ""
	}
	return oneLine(err.Error())
}

// oneLine makes text fit for one line of a log, and bounds it.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail-3], "") + "..."
	}
	return strings.TrimSpace(text)
}

// maxMessageText bounds what a driver says in an error, in bytes. It stays as it is otherwise: who searches it for
// secrets has to see all of it.
const maxMessageText = 16 << 10

func bounded(text string) string {
	if len(text) > maxMessageText {
		return text[:maxMessageText-3] + "..."
	}
	return text
}

// explained is an errno with the reason for it.
type explained struct {
	errno syscall.Errno
	why   string
}

func (e *explained) Error() string { return e.why }
func (e *explained) Unwrap() error { return e.errno }

func because(errno syscall.Errno, why string) error { return &explained{errno, why} }

// expired answers a call whose deadline has passed before it was sent.
func (h *Host) expired(c hal.Call, class hal.Class, op, object string) error {
	if c.Deadline == 0 || h.runtime.Now() < c.Deadline {
		return nil
	}
	return failure(class, op, object, because(syscall.ETIMEDOUT, "its deadline passed before it was sent"))
}

// within runs a call of class file or syscall unless its deadline has passed.
func (h *Host) within(c hal.Call, class hal.Class, op, object string, call func() error) error {
	if err := h.expired(c, class, op, object); err != nil {
		return err
	}
	return call()
}
